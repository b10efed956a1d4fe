"""`trajtab score`: scores for every batch that has none."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click
import polars as pl

from pipeline.cli.command import command as declare
from pipeline.cli.options import (
    Outputs,
    engine_options,
    lake_argument,
    output_options,
    policy_option,
    resume_option,
)
from pipeline.cli.output import emit
from pipeline.cli.progress import batches, progress
from pipeline.engines.local import Local
from pipeline.scoring import score
from pipeline.tables.result import Result

if TYPE_CHECKING:
    from os import PathLike

    from pipeline.engines import Engine


_EXAMPLE = """\
trajtab score lake
trajtab score lake --all --resume"""


@declare("score", example=_EXAMPLE)
@lake_argument
@policy_option
@click.option("--all", "everything", is_flag=True, help="Score again what has current scores, too.")
@resume_option
@engine_options
@click.option(
    "--workers",
    type=click.IntRange(min=1),
    metavar="N",
    help="Processes that score, without Spark; default: one per core, if there is work enough.",
)
@output_options
def command(
    *,
    lake: PathLike[str],
    policy: str | None,
    engine: Engine | None,
    workers: int | None,
    outputs: Outputs,
    everything: bool,
    resume: bool,
) -> None:
    """Score what has no current scores.

    A batch is scored once per policy; new references re-score the batches they touch. Scores of
    a batch become visible whole or not at all, whatever dies on the way.
    """
    with progress("scoring") as tell:
        report = score(
            lake,
            policy=policy,
            everything=everything,
            resume=resume,
            engine=engine or Local(workers or os.cpu_count() or 1),
            progress=tell and batches(tell),
        )
    rows = pl.DataFrame(
        {"batches": [report.batches], "already": [report.already], "runs": [report.runs]}
    )
    emit(Result("score", rows, [f"policy: {report.policy.title}"]), outputs)
