"""`trajtab percentiles`: how a metric spreads."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from pipeline.cli.command import command as declare
from pipeline.cli.options import (
    Outputs,
    by_option,
    engine_options,
    lake_argument,
    metric_option,
    output_options,
    policy_option,
    where_option,
)
from pipeline.cli.output import emit
from pipeline.cli.values import shares
from pipeline.tables.percentiles import percentiles

if TYPE_CHECKING:
    from os import PathLike

    from pipeline.engines import Engine


@declare("percentiles", example="trajtab percentiles lake --metric n_steps --q 0.5,0.95")
@lake_argument
@by_option
@metric_option
@click.option(
    "--q",
    "quantiles",
    type=shares,
    default=(0.25, 0.5, 0.75, 0.95),
    metavar="Q,...",
    help="The quantiles, from 0 to 1; default: 0.25,0.5,0.75,0.95.",
)
@where_option
@policy_option
@engine_options
@output_options
def command(
    *,
    lake: PathLike[str],
    by: tuple[str, ...],
    metric: tuple[str, ...] | None,
    quantiles: tuple[float, ...],
    where: str | None,
    policy: str | None,
    engine: Engine | None,
    outputs: Outputs,
) -> None:
    """Show percentiles per group and metric.

    They are exact, with linear interpolation between neighbours.
    """
    result = percentiles(
        lake,
        by=by,
        metrics=metric,
        where=where,
        policy=policy,
        quantiles=quantiles,
        engine=engine,
    )
    emit(result, outputs)
