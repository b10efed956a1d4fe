"""`trajtab sample`: logs to try things on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
import polars as pl

from pipeline.cli.command import command as declare
from pipeline.cli.options import Outputs, output_options
from pipeline.cli.output import emit
from pipeline.landing.records.reader import as_text
from pipeline.sample import sample
from pipeline.tables.result import Result

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pipeline.sample import Written


@declare("sample", example="trajtab sample demo --runs 1000 --seed 7")
@click.argument("folder", metavar="DIR")
@click.option(
    "--runs",
    type=click.IntRange(min=0),
    default=1000,
    show_default=True,
    metavar="N",
    help="How many runs.",
)
@click.option(
    "--seed", type=int, default=0, show_default=True, metavar="S", help="Another seed, other logs."
)
@output_options
def command(folder: str, runs: int, seed: int, outputs: Outputs) -> None:
    """Write made-up logs to try things on.

    DIR gets runs.jsonl and tasks.jsonl. The same seed writes the same bytes, and more runs begin
    with the same ones.
    """
    emit(summary(sample(folder, runs=runs, seed=seed)), outputs)


def summary(files: Sequence[Written]) -> Result:
    """Return the files written, one row each."""
    rows = {
        "path": [as_text(file.path) for file in files],
        "format": [file.format for file in files],
        "records": [file.records for file in files],
        "bytes": [file.path.stat().st_size for file in files],
    }
    return Result("sample", pl.DataFrame(rows), [])
