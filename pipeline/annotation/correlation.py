"""How far automatic metrics go along with human scores, by rank."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from pipeline.opinions.human import PREFIX
from pipeline.statistics.spearman import METHOD, spearman
from pipeline.tables.groups import quoted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pipeline.metrics.metric import Metric
    from pipeline.tables.session import Session

__all__ = ["METHOD", "correlations"]

SCHEMA = {
    "item": pl.String, "metric": pl.String, "better": pl.String, "n_runs": pl.UInt32,
    "rho": pl.Float64, "ci_low": pl.Float64, "ci_high": pl.Float64,
}  # fmt: skip


def correlations(
    session: Session, human: pl.DataFrame, metrics: Sequence[Metric], items: Sequence[str]
) -> pl.DataFrame:
    """Return Spearman's rho of each metric with each human score, the strongest first.

    Over the runs that have both (`n_runs`). The human score of a run is the mean over annotators.
    `better` is the metric's direction: where lower is better, a metric that people agree with has
    a rho below 0. Null where undefined: see `statistics.spearman`.
    """
    names = [metric.name for metric in metrics]
    asked = ", ".join(f"{quoted(name)}::DOUBLE AS {quoted(name)}" for name in names)
    scores: pl.DataFrame = session.con.sql(f"SELECT run_key, {asked} FROM scores").pl()  # noqa: S608 - quoted names
    both = human.join(scores, on="run_key", how="inner").sort("run_key")
    rows = [
        (item, metric.name, metric.better, *spearman(both[PREFIX + item].to_numpy(), both[metric.name].to_numpy()))
        for item in items
        for metric in metrics
    ]  # fmt: skip
    strength = pl.col("rho").abs()
    found = pl.DataFrame(rows, schema=SCHEMA, orient="row").with_row_index("row")
    order = pl.Enum(list(items))
    return found.sort(
        pl.col("item").cast(order),
        strength,
        "row",
        descending=[False, True, False],
        nulls_last=True,
    ).drop("row")
