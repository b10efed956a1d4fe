"""What a gate file asks for, held against what there is: a baseline, and metrics that can drop."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.errors import InputError, UnknownNameError

if TYPE_CHECKING:
    from pipeline.metrics.metric import Metric
    from pipeline.tables.arms import Opened
    from pipeline.tables.gate_file import GateFile


def refuse_without_baseline(told: GateFile, baseline: str | None) -> None:
    """Refuse a gate that compares where there is nothing to compare with.

    Raises:
        InputError: there is one.
    """
    needing = [one for one in told.gate if one.compares]
    if needing and baseline is None:
        raise InputError(
            f"gate on {needing[0].metric}: {needing[0].rule} needs a baseline; give --baseline"
        )


def metrics_of(told: GateFile, arms: Opened) -> list[Metric]:
    """Return the metrics of the gates, each once.

    Raises:
        InputError: a gate limits the drop of a metric that has no better direction.
        UnknownNameError: no such metric.
    """
    try:
        listed = arms.metrics([one.metric for one in told.gate])
    except UnknownNameError as error:
        raise UnknownNameError(f"the gate file names an {error}") from error
    neither = {metric.name for metric in listed if metric.better == "neither"}
    for one in told.gate:
        if one.compares and one.metric in neither:
            raise InputError(
                f"gate on {one.metric}: neither direction is better, so it cannot drop; "
                "use min and max"
            )
    return listed
