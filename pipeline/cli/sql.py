"""`trajtab sql`: a lake asked in SQL."""

from __future__ import annotations

import sys
from contextlib import closing
from typing import TYPE_CHECKING

import click

from pipeline import workbench
from pipeline.cli.command import command as declare
from pipeline.cli.options import Outputs, lake_argument, output_options, policy_option
from pipeline.cli.output import emit, say
from pipeline.cli.prompt import Prompt
from pipeline.cli.values import key_value
from pipeline.current import current, policy_of
from pipeline.lake import Lake
from pipeline.tables.result import Result
from pipeline.tables.session import unscored

if TYPE_CHECKING:
    from collections.abc import Sequence
    from os import PathLike

MOST = 1000
"""Rows printed for reading; the other formats hold all."""

_EXAMPLE = """\
trajtab sql lake "SELECT tool_name, count(*) AS n FROM calls GROUP BY ALL ORDER BY n DESC"
trajtab sql lake 'FROM scores WHERE f1 < $most::DOUBLE' --param most=0.5 --format csv
trajtab sql lake --init > lake.sql && duckdb -init lake.sql"""


@declare("sql", example=_EXAMPLE)
@lake_argument
@click.argument("query", required=False)
@click.option("--init", is_flag=True, help="Print a script of views and macros for duckdb -init.")
@click.option(
    "--param",
    "parameters",
    type=key_value,
    metavar="KEY=VALUE",
    multiple=True,
    help="What $key stands for in the query: text, to be cast where it is no text.",
)
@policy_option
@output_options
def command(
    lake: PathLike[str],
    query: str | None,
    parameters: tuple[tuple[str, str], ...],
    policy: str | None,
    outputs: Outputs,
    *,
    init: bool,
) -> None:
    """Ask a lake in SQL.

    QUERY is one SELECT, "-" reads it from stdin; without one, on a terminal, a prompt opens, with
    history, Tab, and statements of many lines that end with ";"; .help lists what else it knows.
    Views: runs, steps, calls, tasks, refs, scores, annotations, judgments and rejects; every
    metric is a macro. The lake is read-only, and nothing but the lake can be read.
    """
    opened = Lake.open(lake)
    if init:
        _refuse_beside_init(query, outputs)
        click.echo(workbench.init_script(opened, policy), nl=False)
        return
    text = sys.stdin.read() if query == "-" else query
    if text is None and not sys.stdin.isatty():
        raise click.UsageError('no QUERY given; "-" reads it from stdin')
    if text is not None:
        _tell(workbench.query(opened, text, policy=policy, parameters=dict(parameters)), outputs)
        return
    rules = policy_of(opened, policy)
    state = current(opened, rules)
    with closing(workbench.session(opened, rules, state=state)) as con:
        _greet(rules.title, unscored(state, policy))
        Prompt(con, dict(parameters), outputs, _tell).run()


def _refuse_beside_init(query: str | None, outputs: Outputs) -> None:
    if query is not None or outputs != Outputs():
        raise click.UsageError("--init prints a script: it takes no QUERY, --format or --output")


def _tell(result: Result, outputs: Outputs) -> None:
    """Print a result; for reading, its first rows are enough."""
    rows = result.rows
    if rows.height <= MOST:
        emit(result, outputs)
        return
    note = f"the first {MOST:,} of {rows.height:,} rows; --format csv holds all"
    emit(result, outputs, cut=Result(result.kind, rows.head(MOST), [*result.notes, note]))


def _greet(title: str, missing: Sequence[str]) -> None:
    say(f"views: {', '.join(workbench.VIEWS)}; .help says more, Ctrl-D leaves")
    for note in (f"policy: {title}", *missing):
        say(f"note: {note}")
