"""The pages that are a reference: every command's help, every view's columns."""

from __future__ import annotations

import tempfile
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pipeline import workbench
from pipeline.cli import main
from pipeline.cli.group import COMMANDS
from pipeline.cli.session import NAME
from pipeline.lake import Lake
from pipeline.metrics.registry import metrics
from pipeline.policy import DEFAULT
from pipeline.schema import (
    Annotations,
    CallScores,
    Judgments,
    References,
    Rejects,
    Runs,
    ScoreKeys,
    Steps,
    Tasks,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    import duckdb

COMMANDS_HEAD = """# Commands

Made from `--help` by `make pages`. Every command takes `-h`; results go to stdout, talk to stderr. Exit codes: 0 fine, 1 gate failed, 2 usage or input error, 3 cannot be judged. `LAKE` is a folder, or a URL in an [object store](object-stores.md).
"""

TABLES_HEAD = """# Views and their columns

Made from the code by `make pages`; at the prompt of `trajtab sql`, `.schema` shows the same. [SQL](sql.md) says how to ask. Null means unknown.
"""
SHOWN = {
    "runs": ("A run.", [Runs]),
    "steps": ("A step of a run, in order: what was said, called and returned.", [Steps]),
    "calls": ("A tool call: its step, and what scoring says of it.", [Steps, CallScores]),
    "tasks": ("A task; of one that landed more than once, the latest.", [Tasks]),
    "refs": ("An expected call. `reference_set` joins it to tasks and runs.", [References]),
    "scores": ("A run: what people group by, then one column per metric.", [ScoreKeys]),
    "annotations": ("An annotator's latest word on a run.", [Annotations]),
    "judgments": ("A model judge's answer on a run or a step of it.", [Judgments]),
    "rejects": ("A record that could not land.", [Rejects]),
}
"""What a row of each view is, and the tables whose columns it shows."""
WIDE: dict[str, Any] = {**main.context_settings, "terminal_width": 100, "max_content_width": 100}


def commands_page() -> str:
    """Return docs/commands.md: what --help says, of every command and of commands in it."""
    parts = [
        COMMANDS_HEAD,
        "\n".join(f"- [{n}](#{n}): {told}" for n, told in COMMANDS.items()) + "\n",
    ]
    context = click.Context(main, info_name=NAME, **WIDE)
    for name in COMMANDS:
        parts += _helped(context, name, main.get_command(context, name))
    return "\n".join(parts)


def _helped(parent: click.Context, name: str, command: click.Command) -> Iterator[str]:
    context = click.Context(command, parent=parent, info_name=name, **WIDE)
    title = context.command_path.removeprefix(f"{NAME} ")
    yield f"## {title}\n\n```text\n{command.get_help(context).rstrip()}\n```\n"
    for below in getattr(command, "commands", {}).items():
        yield from _helped(context, *below)


def tables_page() -> str:
    """Return docs/tables.md: the views of `trajtab sql` with their columns."""
    with tempfile.TemporaryDirectory() as folder:
        lake = Lake.create(Path(folder, "lake"))
        with closing(workbench.session(lake, DEFAULT)) as con:
            parts = [TABLES_HEAD, *(_table(view, con.view(view)) for view in workbench.VIEWS)]
    return "\n".join(parts)


def _table(view: str, relation: duckdb.DuckDBPyRelation) -> str:
    row, tables = SHOWN[view]
    meanings = {"run_key": Runs.run_key.meaning}
    if view == "scores":
        meanings |= {name: f"[metric](metrics.md#{name})" for name in metrics()}
    for table in tables:
        meanings |= {name: column.meaning for name, column in table.columns.items()}
    lines = [
        f"| `{name}` | {str(kind).split('(')[0]} | {meanings[name]} |"
        for name, kind in zip(relation.columns, relation.types, strict=True)
    ]
    head = [f"## {view}", "", row, "", "| column | type | meaning |", "|---|---|---|"]
    return "\n".join([*head, *lines, ""])
