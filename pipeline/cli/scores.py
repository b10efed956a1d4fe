"""`trajtab scores`: one row per run."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import click
import polars as pl

from pipeline.cli import completion
from pipeline.cli.command import command as declare
from pipeline.cli.files import write_results
from pipeline.cli.options import Outputs, lake_argument, output_options, policy_option, where_option
from pipeline.cli.output import emit
from pipeline.cli.values import format_of, names
from pipeline.current import policy_of
from pipeline.lake import Lake
from pipeline.metrics.registry import headline
from pipeline.tables.scores import scores
from pipeline.tables.session import opened
from pipeline.text import show_command

if TYPE_CHECKING:
    from os import PathLike

    from pipeline.tables.result import Result

READABLE_ROWS = 20
KEYS = ("run_id", "task_id", "trial", "agent", "agent_version", "status")
"""The columns that say which run a row is, where a row is to be read."""


@declare("scores", example='trajtab scores lake --where "f1 < 0.5" --sort n_steps --limit 5')
@lake_argument
@where_option
@click.option(
    "--sort",
    metavar="METRIC",
    shell_complete=completion.sorting,
    help="Sort by a column, the least first; -METRIC: the greatest.",
)
@click.option("--limit", type=click.IntRange(min=0), metavar="N", help="Show so many runs.")
@click.option(
    "--columns",
    type=names,
    metavar="COL,...",
    shell_complete=completion.columns,
    help="Show these columns.",
)
@policy_option
@output_options
def command(
    *,
    lake: PathLike[str],
    where: str | None,
    sort: str | None,
    limit: int | None,
    columns: tuple[str, ...] | None,
    policy: str | None,
    outputs: Outputs,
) -> None:
    """Show the scores, one row per run.

    json, jsonl, csv and parquet hold every column and every run. To read (table, md, html), there
    are the key columns, what --sort names, the headline metrics and 20 runs unless --columns and
    --limit say else.
    `trajtab show` shows one of them step by step; a note, in html a column, has the command.
    """
    rules = policy_of(Lake.open(lake), policy)
    ask = partial(scores, lake, where=where, sort=sort, policy=policy)
    cut = None
    sorting = [] if sort is None else [sort.removeprefix("-")]
    if outputs.any_cut:
        most = READABLE_ROWS if limit is None else limit
        cut = ask(limit=most, columns=columns or (*KEYS, *sorting, *headline(rules)))
        if limit is None and cut.rows.height == most:
            cut.notes.append(f"the first {most} of {_count(lake, policy, where):,} runs")
        ids = cut.rows["run_id"].to_list() if "run_id" in cut.rows.columns else []
        commands = [show_command(str(lake), run_id, policy) for run_id in ids]
        outputs = _pages(outputs, cut, commands)
        if commands:
            cut.notes.append(f"one run, step by step: {commands[0]}")
    full = ask(limit=limit, columns=columns) if outputs.any_full or cut is None else cut
    emit(full, outputs, cut=cut, needed=sorting)


def _pages(outputs: Outputs, cut: Result, commands: list[str]) -> Outputs:
    """Write the pages asked for, with the command of each run, and return what is left to write."""
    pages = [file for file in outputs.files if format_of(file) == "html"]
    rows = (
        cut.rows.with_columns(show=pl.Series(commands, dtype=pl.String)) if commands else cut.rows
    )
    write_results(pages, cut._replace(rows=rows))
    return outputs._replace(files=tuple(file for file in outputs.files if file not in pages))


def _count(lake: PathLike[str], policy: str | None, where: str | None) -> int:
    with opened(lake, policy, where) as session:
        return len(session.con.view("scores"))
