"""Help where no run has a reference, as in logs that just came in: most headline metrics are null."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.metrics.causes import NO_REFERENCE, causes
from pipeline.tables.nulls import conditions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from duckdb import DuckDBPyConnection

    from pipeline.metrics.metric import Metric

NOTE = (
    "no run has a reference, which {} and its like need: land a tasks file with the expected calls "
    "(docs/getting-started.md); metrics of the path, such as error_rate and n_calls, need none"
)


def unreferenced(con: DuckDBPyConnection, metrics: Sequence[Metric]) -> list[str]:
    """Return a note if metrics compare with expected calls and no run that counts has any.

    It reads the table `sums` that `create_sums` left, as `null_notes` does.
    """
    compared = [metric.name for metric in metrics if NO_REFERENCE in causes(metric)]
    if not compared:
        return []
    bit = 1 << conditions(metrics).index(NO_REFERENCE[1])
    kinds = con.sql("SELECT DISTINCT kind FROM sums WHERE n_rows > 0").fetchall()
    return [NOTE.format(compared[0])] if kinds and all(kind & bit for (kind,) in kinds) else []
