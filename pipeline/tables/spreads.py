"""How the values of two arms spread, over the runs that are compared."""

from __future__ import annotations

from fractions import Fraction
from math import sqrt
from typing import TYPE_CHECKING, NamedTuple, Protocol

import polars as pl

from pipeline.tables.arm_runs import value_of
from pipeline.tables.groups import quoted
from pipeline.tables.pairing import SIDES, create_sides, scales_of
from pipeline.tables.percentiles import QUANTILES, names_of, quantiles_of, together
from pipeline.tables.scales import literal

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from duckdb import DuckDBPyConnection

    from pipeline.metrics.metric import Metric
    from pipeline.tables.pairing import Pair

    class Counting(Protocol):
        """Creates the table `tuples`."""

        def __call__(self, some: Sequence[Metric], *, shared: bool) -> None:
            """Count the values of some metrics."""


class Key(NamedTuple):
    """A metric in an arm."""

    metric: str
    arm: str


class Spread(NamedTuple):
    """The percentiles of an arm's values, and their standard deviation."""

    percentiles: Sequence[float | None]
    deviation: float | None


def spreads(
    con: DuckDBPyConnection,
    metrics: Sequence[Metric],
    rows: pl.DataFrame,
    pair: Pair = "task",
    scales: dict[str, float] | None = None,
    count: Counting | None = None,
) -> dict[Key, Spread]:
    """Return the spread of each metric in each arm, after `pairing.paired` made `rows`.

    The runs are those whose values the means are of: of the tasks, or trials, that both arms have.
    Values are counted, so that neither runs nor more than a few metrics' values are held.

    Args:
        con: the connection.
        metrics: of the comparison.
        rows: the pairs.
        pair: what they were paired by.
        scales: of the metrics; None finds them in `arm_runs`.
        count: creates the table `tuples` for some metrics, of all runs of the arms or of those
            of the table `shared`; None counts the view `arm_runs`.
    """
    scales = scales_of(con, metrics) if scales is None else scales

    def counted_here(some: Sequence[Metric], *, shared: bool) -> None:
        source = only_shared(con) if shared else "arm_runs"
        con.execute(f"CREATE OR REPLACE TEMP TABLE tuples AS {tuples(some, source)}")

    count = count or counted_here
    everywhere = _everywhere(rows)
    found: dict[Key, Spread] = {}
    for part in together([metric for metric in metrics if metric.name in everywhere]):
        count(part, shared=False)
        found |= _spread(con, part, scales)
    for metric in metrics:
        if metric.name not in everywhere:
            _create_shared(con, metric, pair)
            count([metric], shared=True)
            found |= _spread(con, [metric], scales)
    return found


def _everywhere(rows: pl.DataFrame) -> set[str]:
    """Return the metrics of which every value is compared, so that no run need be left out."""
    left_out = ((pl.col("baseline_found") > 0) | (pl.col("candidate_found") > 0)) & pl.col(
        "difference"
    ).is_null()
    cut = (pl.col("baseline_found") != pl.col("baseline_n")) | (
        pl.col("candidate_found") != pl.col("candidate_n")
    )
    kept = rows.group_by("metric").agg((left_out | cut).any().alias("left_out"))
    return set(kept.filter(~pl.col("left_out"))["metric"])


def _create_shared(con: DuckDBPyConnection, metric: Metric, pair: Pair) -> None:
    """Create the table `shared`: the tasks, or trials, that both arms have a value of.

    Of tasks it has no column trial: a trial without a number is null there, and paired, too.
    """
    create_sides(con, metric)
    trial = ", trial" if pair == "trial" else ""
    con.execute(f"""
        CREATE OR REPLACE TEMP TABLE shared AS
        SELECT suite, task_id, alone{trial}
        FROM sides JOIN tasks USING (task)
        WHERE baseline_n > 0 AND candidate_n > 0""")  # noqa: S608 - a name of ours


def only_shared(con: DuckDBPyConnection) -> str:
    """Return the runs of the arms that are of the table `shared`."""
    paired = "trial" in con.table("shared").columns
    by_trial = "AND shared.trial IS NOT DISTINCT FROM r.trial" if paired else ""
    return f"""
        (SELECT r.* FROM arm_runs AS r SEMI JOIN shared
            ON shared.suite IS NOT DISTINCT FROM r.suite
            AND shared.task_id IS NOT DISTINCT FROM r.task_id
            AND shared.alone IS NOT DISTINCT FROM CASE WHEN r.task_id IS NULL THEN r.run_key END
            {by_trial})"""  # noqa: S608 - names of ours


def tuples(metrics: Iterable[Metric], source: str) -> str:
    """Return the query that counts the values of some metrics; its rows add up."""
    values = ", ".join(f"{value_of(name)} AS {quoted(name)}" for name in names_of(metrics))
    return f"""
        SELECT in_baseline, in_candidate, {values}, count(*) AS n FROM {source} GROUP BY ALL"""  # noqa: S608 - names of the registry


def _spread(
    con: DuckDBPyConnection, metrics: Sequence[Metric], scales: dict[str, float]
) -> Iterator[tuple[Key, Spread]]:
    """Yield the spread of each metric in each arm, from the tuples counted."""
    keys = [Key(metric.name, arm) for metric in metrics for arm in SIDES]
    over = ", ".join(f"({i}, {literal(scales[key.metric])})" for i, key in enumerate(keys))
    con.execute(
        f"CREATE OR REPLACE TEMP TABLE spread_over AS FROM (VALUES {over}) s(group_id, scale)"
    )
    values = " UNION ALL ".join(
        f"""
        SELECT {i} AS group_id, {quoted(key.metric)}::DOUBLE AS value, sum(n) AS n
        FROM tuples WHERE in_{key.arm} GROUP BY value"""  # noqa: S608 - names of the registry
        for i, key in enumerate(keys)
    )
    con.execute(f"CREATE OR REPLACE TEMP TABLE counted AS {values}")
    percentiles = quantiles_of(con, QUANTILES)["quantiles"].to_list()
    sums = con.execute("""
        SELECT group_id, sum(n), sum(n * units), sum(n * units * units)
        FROM (
            SELECT group_id, n::HUGEINT AS n, fixed(value, scale) AS units
            FROM counted JOIN spread_over USING (group_id)
        )
        WHERE units IS NOT NULL
        GROUP BY group_id""").fetchall()
    deviations = {
        i: deviation(n, total, squares, scales[keys[i].metric]) for i, n, total, squares in sums
    }
    for i, key in enumerate(keys):
        none = [None] * len(QUANTILES)
        yield key, Spread(percentiles[i] or none, deviations.get(i))


def deviation(n: int, total: int, squares: int, scale: float) -> float | None:
    """Return the standard deviation (ddof 1) of n values in units of 1 / scale.

    In whole numbers up to the root: `(n·Σx² - (Σx)²) / (n·(n - 1))`.

    >>> deviation(2, 4, 10, 1.0), deviation(1, 4, 16, 1.0)
    (1.414..., None)
    """
    if n < 2:  # noqa: PLR2004 - one value has no spread
        return None
    variance = Fraction(int(n) * int(squares) - int(total) ** 2, int(n) * (int(n) - 1))
    return sqrt(variance) / scale
