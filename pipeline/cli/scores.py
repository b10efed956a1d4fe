"""`trajtab scores`: one row per run."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import click

from pipeline.cli import completion
from pipeline.cli.command import command as declare
from pipeline.cli.options import (
    Outputs,
    lake_argument,
    names,
    output_options,
    policy_option,
    where_option,
)
from pipeline.cli.output import emit
from pipeline.metrics.registry import headline
from pipeline.tables.scores import scores
from pipeline.tables.session import opened

if TYPE_CHECKING:
    from os import PathLike

READABLE_ROWS = 20
KEYS = ("run_id", "task_id", "trial", "agent_version", "status")
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
    are the key columns, the headline metrics and 20 runs unless --columns and --limit say else.
    """
    ask = partial(scores, lake, where=where, sort=sort, policy=policy)
    cut = None
    if outputs.any_cut:
        most = READABLE_ROWS if limit is None else limit
        cut = ask(limit=most, columns=columns or (*KEYS, *headline()))
        if limit is None and cut.rows.height == most:
            cut.notes.append(f"the first {most} of {_count(lake, policy, where):,} runs")
    full = ask(limit=limit, columns=columns) if outputs.any_full or cut is None else cut
    emit(full, outputs, cut=cut)


def _count(lake: PathLike[str], policy: str | None, where: str | None) -> int:
    with opened(lake, policy, where) as session:
        return len(session.con.view("scores"))
