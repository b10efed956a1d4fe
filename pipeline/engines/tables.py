"""Tables over an engine: tasks sum their part of the scores, the driver adds the sums up.

The sums are those of `tables/fixed_point.py`, whole numbers, so that adding them in any order
gives the same bytes, and the same as one machine's. Amounts are counted in units that follow from
their range in a group, so where there are any it takes a round before, which finds the ranges.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from pipeline import queries
from pipeline.duck import connect, fetched
from pipeline.engines.packed import exact, received, sent
from pipeline.engines.parts import asked
from pipeline.metrics.registry import chosen
from pipeline.tables import fixed_point
from pipeline.tables.aggregate import aggregate_sums
from pipeline.tables.groups import groups_of, named, per_group, quoted, same
from pipeline.tables.nulls import null_notes
from pipeline.tables.percentiles import column_of
from pipeline.tables.scales import amounts, create_scales, extremes
from pipeline.tables.session import unmatched
from pipeline.tables.unreferenced import unreferenced

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator, Sequence

    import pyarrow as pa
    from duckdb import DuckDBPyConnection

    from pipeline.engines import Engine
    from pipeline.engines.parts import Asked, Part, Scores
    from pipeline.lake import Lake
    from pipeline.metrics.metric import Metric
    from pipeline.tables.groups import Group

    Told = tuple[pl.DataFrame, list[str], list[Metric]]

MOST_HERE = 50_000_000
"""So many rows of scores this machine reads one metric after the other, for exact percentiles."""


class Names(NamedTuple):
    """What a table is of: metrics by name, and group columns."""

    metrics: list[str]
    by: list[str]

    def chosen(self, scores: Scores, part: Part) -> list[Metric]:
        """Return the metrics."""
        return chosen(self.metrics, scores.policy, part.opinions.metrics)


@dataclass(frozen=True)
class Ask:
    """The first round: the rows of a query over a part's view `grouped`."""

    scores: Scores
    names: Names
    query: Callable[[Sequence[Metric], Sequence[Group]], str]

    def __call__(self, part: Part) -> bytes:
        """Return the rows."""
        groups = groups_of(self.names.by)
        with self.scores.grouped(part, groups) as con:
            return sent(con.sql(self.query(self.names.chosen(self.scores, part), groups)))


class Sums(NamedTuple):
    """What a part says in the second round: the tables `by_task` and `by_kind`."""

    by_task: bytes
    by_kind: bytes


@dataclass(frozen=True)
class Sum:
    """The second round: a part's sums, per task and per kind of run, in the units of all parts."""

    scores: Scores
    names: Names
    scales: bytes | None

    def __call__(self, part: Part) -> Sums:
        """Return the part's sums."""
        groups, metrics = groups_of(self.names.by), self.names.chosen(self.scores, part)
        with self.scores.grouped(part, groups) as con:
            con.execute(queries.read("tables/fixed_point"))
            if self.scales is not None:
                exact(con, "scales", received([self.scales]))
            return Sums(
                sent(con.sql(fixed_point.by_task(metrics, groups))),
                sent(con.sql(fixed_point.by_kind(metrics, groups))),
            )


def aggregated(
    engine: Engine,
    lake: Lake | str | os.PathLike[str],
    by: Sequence[str],
    metrics: Sequence[str] | None,
    where: str | None,
    policy: str | os.PathLike[str] | None,
) -> Told:
    """Return the rows of `aggregate`, what is to be said of them, and their metrics."""
    question = asked(engine, lake, policy, where)
    listed = _listed(metrics, question)
    names, groups = Names([metric.name for metric in listed], list(by)), groups_of(by)
    con = connect(macros=False)
    try:
        con.execute(queries.read("tables/fixed_point"))
        scales = _scales(con, engine, question, names, listed)
        found = list(engine.map_units(Sum(question.scores, names, scales), question.units))
        exact(con, "parts", received(part.by_task for part in found))
        con.execute(f"CREATE TEMP TABLE by_task AS {fixed_point.merged(listed, groups, 'parts')}")
        exact(con, "by_kind", received(part.by_kind for part in found))
        fixed_point.roll_up(con, listed, groups)
        rows = aggregate_sums(con, listed, groups)
        none = unmatched(con, where, "by_kind")
        nulls = null_notes(con, listed) + unreferenced(con, listed)
    finally:
        con.close()
    return rows, [*question.notes, *none, *nulls], listed


def _scales(
    con: DuckDBPyConnection,
    engine: Engine,
    question: Asked,
    names: Names,
    metrics: Sequence[Metric],
) -> bytes | None:
    """Return the table `scales` of all parts; None where no metric is an amount."""
    if not amounts(metrics):
        return None
    work = Ask(question.scores, names, extremes)
    exact(con, "grouped", received(engine.map_units(work, question.units)))
    create_scales(con, metrics, groups_of(names.by))
    return sent(con.table("scales"))


def _listed(names: Sequence[str] | None, question: Asked) -> list[Metric]:
    wanted = list(dict.fromkeys(names)) if names else None
    return chosen(wanted, question.scores.policy, question.opinions)


@dataclass(frozen=True)
class Values:
    """A part's values, one row per group, metric and run."""

    scores: Scores
    names: Names
    groups: bytes

    def __call__(self, part: Part) -> Iterator[pa.RecordBatch]:
        """Yield group_id, place (the metric's) and value."""
        groups, metrics = groups_of(self.names.by), self.names.chosen(self.scores, part)
        with self.scores.grouped(part, groups) as con:
            exact(con, "numbered", received([self.groups]))
            for place, metric in enumerate(metrics):
                value = f"{quoted(metric.name)}::DOUBLE"
                rows = con.sql(f"""
                    SELECT numbered.group_id::BIGINT AS group_id, {place}::BIGINT AS place,
                        {value} AS value
                    FROM grouped JOIN numbered ON {same(groups, "grouped", "numbered")}
                    WHERE {quoted(metric.name)} IS NOT NULL""")  # noqa: S608 - registry names
                yield from rows.to_arrow_table().to_batches(1 << 16)


def _present(_metrics: Sequence[Metric], groups: Sequence[Group]) -> str:
    """Return the query of the groups there are."""
    return per_group(groups, "count(*) AS n")


def distributed(
    engine: Engine,
    lake: Lake | str | os.PathLike[str],
    by: Sequence[str],
    metrics: Sequence[str] | None,
    where: str | None,
    policy: str | os.PathLike[str] | None,
    quantiles: Sequence[float],
) -> Told | None:
    """Return the same of `percentiles`, or None where this machine had better sort the values."""
    sorting = getattr(engine, "percentiles", None)
    if sorting is None:
        return None
    question = asked(engine, lake, policy, where)
    if question.rows <= MOST_HERE:
        return None
    listed = _listed(metrics, question)
    names, groups = Names([metric.name for metric in listed], list(by)), groups_of(by)
    con = connect(macros=False)
    try:
        present = engine.map_units(Ask(question.scores, names, _present), question.units)
        exact(con, "parts", received(present))
        con.execute(f"CREATE TEMP TABLE numbered AS {per_group(groups, 'sum(n) AS n', 'parts')}")
        work = Values(question.scores, names, sent(con.table("numbered")))
        spread = pl.DataFrame(sorting(work, question.units, quantiles))
        ids = fetched(con.table("numbered").project("group_id"))
        places = pl.DataFrame({"metric": names.metrics}).with_row_index("place")
        every = ids.join(places, how="cross").with_columns(
            pl.col("group_id", "place").cast(pl.Int64)
        )
        rows = every.join(spread, on=["group_id", "place"], how="left", maintain_order="left").sort(
            "group_id", "place"
        )
        rows = named(con, rows.with_columns(pl.col("n_scored").fill_null(0)), "numbered", groups)
        none = unmatched(con, where, "numbered WHERE n > 0")
    finally:
        con.close()
    columns = {column_of(q): pl.col("quantiles").list.get(i) for i, q in enumerate(quantiles)}
    of = [group.name for group in groups]
    shown = rows.with_columns(**columns).select(*of, "metric", "n_scored", *columns)
    return shown, [*question.notes, *none], listed
