"""pass@k over an engine: tasks count trials per arm and task, the driver adds the counts up.

A trial counts once, and its number may come again in another part. So a part also says which
numbers it has, as ranges without gaps; where ranges of parts overlap, a trial is there twice.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from pipeline import queries
from pipeline.duck import connect, fetched, hand
from pipeline.engines.packed import exact, received, sent
from pipeline.engines.parts import asked, refuse_subquery
from pipeline.tables.groups import aliases, groups_of, per_group, same
from pipeline.tables.session import unmatched
from pipeline.tables.trials import SUCCESS, count_trials, naming_rule

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Sequence

    import polars as pl
    from duckdb import DuckDBPyConnection

    from pipeline.engines import Engine
    from pipeline.engines.parts import Part, Scores
    from pipeline.lake import Lake
    from pipeline.tables.groups import Group


class Counted(NamedTuple):
    """What a part says: the tables `arms`, `counts` and `ranges`, with the arms' columns."""

    arms: bytes
    counts: bytes
    ranges: bytes


@dataclass(frozen=True)
class Count:
    """Count the trials of a part, per arm and task."""

    scores: Scores
    by: tuple[str, ...]
    rule: str | None

    @contextmanager
    def counted(self, part: Part) -> Iterator[tuple[DuckDBPyConnection, pl.DataFrame]]:
        """Open DuckDB with the tables `arms` and `trials` of a part; give the counts, too."""
        arms = groups_of(self.by)
        with (
            self.scores.grouped(part, arms) as con,
            naming_rule(self.rule, self.scores.where),
        ):
            yield con, count_trials(con, arms, self.rule or SUCCESS)

    def __call__(self, part: Part) -> Counted:
        """Return the counts."""
        with self.counted(part) as (con, counts):
            hand(con, "own_counts", counts)
            con.execute(f"CREATE TEMP TABLE own_ranges AS {queries.read('tables/trial_ranges')}")
            return Counted(
                sent(con.table("arms")),
                sent(con.sql(self.of_arms("own_counts"))),
                sent(con.sql(self.of_arms("own_ranges"))),
            )

    def of_arms(self, table: str) -> str:
        """Return the query of a table's rows with the columns of their arms."""
        keys = aliases(groups_of(self.by))
        return f"SELECT {keys}, {table}.* FROM {table} JOIN arms USING (group_id)"  # noqa: S608 - quoted names


@dataclass(frozen=True)
class Trials:
    """Find the trials of one task in a part, to say which of them are there twice."""

    count: Count
    task_id: str

    def __call__(self, part: Part) -> bytes:
        """Return rows of the table `trials`, with the arms' columns."""
        with self.count.counted(part) as (con, _):
            query = f"{self.count.of_arms('trials')} WHERE task_id = $task"
            return sent(con.sql(query, params={"task": self.task_id}))


@contextmanager
def counted(
    engine: Engine,
    lake: Lake,
    arms: Sequence[Group],
    rule: str | None,
    where: str | None,
    policy: str | os.PathLike[str] | None,
) -> Iterator[tuple[DuckDBPyConnection, pl.DataFrame, list[str]]]:
    """Give what `passk` rests on, counted by tasks of an engine: see `trials.count_trials`.

    A connection with the table `arms`, and with `trials` of the first task that has a trial twice;
    the counts; what to say first.

    Raises:
        InputError: `rule` or `where` looks at other runs than its own, which no part holds.
    """
    refuse_subquery(rule, "--pass")
    question = asked(engine, lake, policy, where)
    work = Count(question.scores, tuple(arm.name for arm in arms), rule)
    found = list(engine.map_units(work, question.units))
    con = connect(macros=False)
    try:
        exact(con, "arm_parts", received(part.arms for part in found))
        exact(con, "count_parts", received(part.counts for part in found))
        exact(con, "range_parts", received(part.ranges for part in found))
        without = "sum(n_without_task)::BIGINT AS n_without_task"
        con.execute(f"CREATE TEMP TABLE arms AS {per_group(arms, without, 'arm_parts')}")
        counts = _merged(con, arms)
        repeated = counts.filter(counts["n_repeated"] > 0)
        if not repeated.is_empty():
            trials = Trials(work, repeated["task_id"][0])
            exact(con, "trial_parts", received(engine.map_units(trials, question.units)))
            con.execute(f"CREATE TEMP TABLE trials AS {_numbered(arms, 'trial_parts')}")
        without_task = "arms WHERE n_without_task > 0"
        none = unmatched(con, where, without_task) if counts.is_empty() else []
        yield con, counts, [*question.notes, *none]
    finally:
        con.close()


def _merged(con: DuckDBPyConnection, arms: Sequence[Group]) -> pl.DataFrame:
    """Add up the counts of parts."""
    for name in ("count", "range"):
        con.execute(f"CREATE TEMP TABLE {name}s AS {_numbered(arms, f'{name}_parts')}")
    return fetched(con.sql(queries.read("tables/passk_merged")))


def _numbered(arms: Sequence[Group], table: str) -> str:
    """Return the query of the rows of a table under the numbers its arms have here."""
    keys = aliases(arms)
    return (
        f"SELECT arms.group_id, part.* EXCLUDE (group_id, {keys}) FROM {table} AS part "  # noqa: S608 - quoted names
        f"JOIN arms ON {same(arms, 'part', 'arms')}"
    )
