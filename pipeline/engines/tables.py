"""Tables over an engine: tasks sum their part of the scores, the driver adds the sums up.

The sums are those of `tables/fixed_point.py`, whole numbers, so that adding them in any order
gives the same bytes, and the same as one machine's. It takes two rounds: the first finds the
groups and the range of each metric in them, from which follow the units to count in.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from pipeline import queries
from pipeline.current import connect
from pipeline.engines.parts import asked, exact, received, sent
from pipeline.metrics.registry import chosen
from pipeline.tables import fixed_point
from pipeline.tables.aggregate import aggregate_sums
from pipeline.tables.groups import create_grouped, groups_of, named, per_group, quoted
from pipeline.tables.nulls import null_counts, tell_nulls
from pipeline.tables.percentiles import column_of

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Sequence

    import pyarrow as pa
    from duckdb import DuckDBPyConnection

    from pipeline.engines import Engine
    from pipeline.engines.parts import Part, Scores
    from pipeline.lake import Lake
    from pipeline.metrics.metric import Metric
    from pipeline.policy import Policy
    from pipeline.tables.groups import Group

    Told = tuple[pl.DataFrame, list[str]]

MOST_HERE = 50_000_000
"""So many rows of scores this machine reads one metric after the other, for exact percentiles."""


class Names(NamedTuple):
    """What a table is of: metrics by name, and group columns."""

    metrics: list[str]
    by: list[str]

    def chosen(self, policy: Policy) -> list[Metric]:
        """Return the metrics."""
        return chosen(self.metrics, policy) if self.metrics else []


@dataclass(frozen=True)
class Ranges:
    """The first round: a part's groups, and the range of every metric in them."""

    scores: Scores
    names: Names

    def __call__(self, part: Part) -> bytes:
        """Return the part's table `ranges`."""
        groups = groups_of(self.names.by)
        with self.scores.opened(part) as con:
            create_grouped(con, groups)
            con.execute(queries.read("tables/fixed_point"))
            return sent(con.sql(_ranges(self.names.chosen(self.scores.policy), groups)))


class Sums(NamedTuple):
    """What a part says in the second round."""

    sums: bytes
    tasks: bytes
    nulls: list[dict[str, int]]


@dataclass(frozen=True)
class Sum:
    """The second round: a part's sums, per group and per task, in the units of all groups."""

    scores: Scores
    names: Names
    ranges: bytes

    def __call__(self, part: Part) -> Sums:
        """Return the part's sums."""
        groups, metrics = groups_of(self.names.by), self.names.chosen(self.scores.policy)
        with self.scores.opened(part) as con:
            create_grouped(con, groups)
            con.execute(queries.read("tables/fixed_point"))
            exact(con, "ranges", received([self.ranges]))
            return Sums(
                sent(con.sql(fixed_point.sums(metrics, groups))),
                sent(con.sql(fixed_point.task_sums(metrics, groups))),
                null_counts(con, metrics),
            )


def aggregated(
    engine: Engine,
    lake: Lake | str | os.PathLike[str],
    by: Sequence[str],
    metrics: Sequence[str] | None,
    where: str | None,
    policy: str | None,
) -> Told:
    """Return the rows of `aggregate` and what is to be said of them."""
    question = asked(engine, lake, policy, where)
    listed = _listed(metrics, question.scores.policy)
    names, groups = Names([metric.name for metric in listed], list(by)), groups_of(by)
    con = connect(macros=False)
    try:
        con.execute(queries.read("tables/fixed_point"))
        ranges = engine.map_units(Ranges(question.scores, names), question.units)
        _merge_ranges(con, received(ranges), listed, groups)
        work = Sum(question.scores, names, sent(con.table("ranges")))
        found = list(engine.map_units(work, question.units))
        exact(con, "sums", received(part.sums for part in found))
        exact(con, "parts", received(part.tasks for part in found))
        fixed_point.create_betweens(con, listed, fixed_point.merged_task_sums(listed, "parts"))
        rows = aggregate_sums(con, listed, groups)
    finally:
        con.close()
    nulls = [_added(counts) for counts in zip(*(part.nulls for part in found), strict=True)]
    return rows, [*question.notes, *tell_nulls(listed, nulls)]


def _listed(names: Sequence[str] | None, policy: Policy) -> list[Metric]:
    return chosen(list(dict.fromkeys(names)) if names else None, policy)


def _ranges(metrics: Sequence[Metric], groups: Sequence[Group]) -> str:
    return fixed_point.ranges(metrics, groups) if metrics else per_group(groups, "count(*) AS n")


def _merge_ranges(
    con: DuckDBPyConnection, parts: pa.Table, metrics: Sequence[Metric], groups: Sequence[Group]
) -> None:
    """Create the table `ranges` of all parts: the least and the greatest value are values, too."""
    exact(con, "range_parts", parts)
    by = "".join(f"{quoted(group.alias)}, " for group in groups)
    ends = [
        ", ".join(
            f"{quoted(f'range_{metric.name}')}.{end} AS {quoted(metric.name)}" for metric in metrics
        )
        or "n"
        for end in ("lo", "hi")
    ]
    seen = " UNION ALL ".join(f"SELECT {by}{end} FROM range_parts" for end in ends)  # noqa: S608 - quoted names
    con.execute(f"CREATE OR REPLACE TEMP VIEW grouped AS {seen}")
    con.execute(f"CREATE OR REPLACE TEMP TABLE ranges AS {_ranges(metrics, groups)}")


def _added(counts: Sequence[dict[str, int]]) -> dict[str, int]:
    reasons = sorted({reason for one in counts for reason in one})
    return {reason: sum(one.get(reason, 0) for one in counts) for reason in reasons}


@dataclass(frozen=True)
class Values:
    """A part's values, one row per group, metric and run."""

    scores: Scores
    names: Names
    groups: bytes

    def __call__(self, part: Part) -> Iterator[pa.RecordBatch]:
        """Yield group_id, place (the metric's) and value."""
        groups, metrics = groups_of(self.names.by), self.names.chosen(self.scores.policy)
        with self.scores.opened(part) as con:
            create_grouped(con, groups)
            exact(con, "ranges", received([self.groups]))
            for place, metric in enumerate(metrics):
                value = f"{quoted(metric.name)}::DOUBLE"
                rows = con.sql(f"""
                    SELECT ranges.group_id::BIGINT AS group_id, {place}::BIGINT AS place,
                        {value} AS value
                    FROM {fixed_point.in_groups(groups)}
                    WHERE {quoted(metric.name)} IS NOT NULL""")  # noqa: S608 - registry names
                yield from rows.to_arrow_table().to_batches(1 << 16)


def distributed(
    engine: Engine,
    lake: Lake | str | os.PathLike[str],
    by: Sequence[str],
    metrics: Sequence[str] | None,
    where: str | None,
    policy: str | None,
    quantiles: Sequence[float],
) -> Told | None:
    """Return the rows of `percentiles`, or None where this machine had better sort the values."""
    sorting = getattr(engine, "percentiles", None)
    if sorting is None:
        return None
    question = asked(engine, lake, policy, where)
    if question.rows <= MOST_HERE:
        return None
    listed = _listed(metrics, question.scores.policy)
    names, groups = Names([metric.name for metric in listed], list(by)), groups_of(by)
    con = connect(macros=False)
    try:
        con.execute(queries.read("tables/fixed_point"))
        ranges = engine.map_units(Ranges(question.scores, Names([], names.by)), question.units)
        _merge_ranges(con, received(ranges), [], groups)
        work = Values(question.scores, names, sent(con.table("ranges")))
        spread = pl.DataFrame(sorting(work, question.units, quantiles))
        ids = con.table("ranges").project("group_id").pl()
        places = pl.DataFrame({"metric": names.metrics}).with_row_index("place")
        every = ids.join(places, how="cross").with_columns(
            pl.col("group_id", "place").cast(pl.Int64)
        )
        rows = every.join(spread, on=["group_id", "place"], how="left", maintain_order="left").sort(
            "group_id", "place"
        )
        rows = named(con, rows.with_columns(pl.col("n_scored").fill_null(0)), "ranges", groups)
    finally:
        con.close()
    columns = {column_of(q): pl.col("quantiles").list.get(i) for i, q in enumerate(quantiles)}
    of = [group.name for group in groups]
    return rows.with_columns(**columns).select(*of, "metric", "n_scored", *columns), question.notes
