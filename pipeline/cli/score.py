"""`trajtab score`: scores for every batch that has none."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
import polars as pl

from pipeline.cli.command import command as declare
from pipeline.cli.options import Outputs, lake_argument, output_options, policy_option
from pipeline.cli.output import emit
from pipeline.cli.progress import progress
from pipeline.scoring import score
from pipeline.tables.result import Result

if TYPE_CHECKING:
    from collections.abc import Callable
    from os import PathLike

    from pipeline.cli.progress import Tell


@declare("score", example="trajtab score lake")
@lake_argument
@policy_option
@click.option("--all", "everything", is_flag=True, help="Score again what has current scores, too.")
@output_options
def command(lake: PathLike[str], policy: str | None, outputs: Outputs, *, everything: bool) -> None:
    """Score what has no current scores.

    A batch is scored once per policy; new references re-score the batches they touch.
    """
    with progress("scoring") as tell:
        report = score(lake, policy=policy, everything=everything, progress=tell and _telling(tell))
    rows = pl.DataFrame(
        {"batches": [report.batches], "already": [report.already], "runs": [report.runs]}
    )
    emit(Result("score", rows, [f"policy: {report.policy.title}"]), outputs)


def _telling(tell: Tell) -> Callable[[int, int], None]:
    return lambda done, todo: tell(f"{done:,} of {todo:,} batches")
