"""`trajtab aggregate`: means and intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING

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
from pipeline.tables.aggregate import aggregate

if TYPE_CHECKING:
    from os import PathLike

    from pipeline.engines import Engine


@declare("aggregate", example="trajtab aggregate lake --by agent_version --metric f1,in_order")
@lake_argument
@by_option
@metric_option
@where_option
@policy_option
@engine_options
@output_options
def command(
    *,
    lake: PathLike[str],
    by: tuple[str, ...],
    metric: tuple[str, ...] | None,
    where: str | None,
    policy: str | None,
    engine: Engine | None,
    outputs: Outputs,
) -> None:
    """Show means and intervals per group and metric.

    Every row says how many runs were total, scored, null and errored.
    """
    result = aggregate(lake, by=by, metrics=metric, where=where, policy=policy, engine=engine)
    emit(result, outputs)
