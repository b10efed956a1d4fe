"""Help where no run has a reference, as in logs that just came in: most headline metrics are null."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from duckdb import DuckDBPyConnection

    from pipeline.metrics.metric import Metric

NOTE = (
    "no run has a reference, which {} and its like need: land a tasks file with the expected calls "
    "(docs/getting-started.md); metrics of the path, such as error_rate and n_calls, need none"
)


def unreferenced(con: DuckDBPyConnection, metrics: Sequence[Metric]) -> list[str]:
    """Return a note if metrics need a reference and no run of the view `scores` has one."""
    compared = [metric.name for metric in metrics if metric.reference]
    if not compared:
        return []
    (none,) = con.sql("SELECT bool_and(status = 'no_reference') FROM scores").fetchall()[0]
    return [NOTE.format(compared[0])] if none else []
