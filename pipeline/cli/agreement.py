"""`trajtab agreement`: how far people agree, with each other and with the metrics."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from pipeline.annotation.agreement import agreement
from pipeline.cli.command import command as declare
from pipeline.cli.options import (
    Outputs,
    lake_argument,
    metric_option,
    output_options,
    policy_option,
    where_option,
)
from pipeline.cli.output import emit
from pipeline.cli.values import names

if TYPE_CHECKING:
    from pathlib import Path

    from pipeline.tables.result import Result

READABLE = 10
"""To read, so many rows of a table: the strongest correlations, the best settings."""

_EXAMPLE = """\
trajtab agreement lake
trajtab agreement lake --metric f1,composite --item all --format json"""


@declare("agreement", example=_EXAMPLE)
@lake_argument
@metric_option
@click.option(
    "--item",
    type=names,
    default=("overall_quality",),
    metavar="ITEM,...|all",
    help="Human scores to correlate with; default: overall_quality.",
)
@where_option
@policy_option
@output_options
def command(
    *,
    lake: Path,
    metric: tuple[str, ...] | None,
    item: tuple[str, ...],
    where: str | None,
    policy: str | None,
    outputs: Outputs,
) -> None:
    """Show how far annotators agree, and metrics with them.

    Krippendorff's alpha per item; kappa of each two annotators; Spearman's rho of each metric with
    the human scores; precision and recall of backtracks against the steps that people marked, and
    which window and similarity would do best. Exit 3 where nothing is annotated.
    """
    result = agreement(lake, metrics=metric, items=item, where=where, policy=policy)
    emit(result, outputs, cut=to_read(result) if outputs.any_cut else None)


def to_read(result: Result) -> Result:
    """Return what fits a page: the strongest correlations, and the best settings of the sweep."""
    sweep = result.tables["sweep"].sort("f1", descending=True, nulls_last=True, maintain_order=True)
    correlations = result.tables["correlations"]
    if correlations["item"].n_unique() == 1:
        correlations = correlations.head(READABLE)
    cut = {"correlations": correlations, "sweep": sweep.head(READABLE)}
    left = f"the first {READABLE} of {sweep.height} settings; --format json has all"
    return result._replace(tables={**result.tables, **cut}, notes=[*result.notes, left])
