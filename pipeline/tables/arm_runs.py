"""The runs of the arms of a comparison, with their scores, in one view that nothing is held for.

A filter is over the columns of runs, the values are in scores. Scores repeat the columns that
people choose runs by, so that most filters need no more than the scores themselves, in one scan
for both arms; a filter over other columns needs a join by run_key.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import duckdb
import polars as pl

from pipeline.duck import confine_to, hand, sql_file
from pipeline.errors import InputError, QueryError
from pipeline.lake import files
from pipeline.metrics.registry import metrics_for
from pipeline.schema import Runs
from pipeline.score_columns import scores_schema
from pipeline.tables.groups import quoted
from pipeline.text import refusal

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from duckdb import DuckDBPyConnection

    from pipeline.current import Current
    from pipeline.lake import Folder
    from pipeline.policy import Policy

ARMS = ("baseline", "candidate")
SHARED = (
    "run_id", "task_id", "trial", "suite", "agent", "agent_version", "model", "prompt_hash",
    "labels", "started_at", "run_key",
)  # fmt: skip
"""The columns that scores repeat from runs under the same name; `status` is there as run_status."""

LOST = "coalesce(scoring IN ('error', 'args_not_captured'), true)"
"""May the run lack a value for a reason that is not the metric's own: its status, or no score?"""


class Side(NamedTuple):
    """An arm to be found: its name, the hash of its policy, and its filter, in words and in SQL."""

    arm: str
    policy: str
    named: str
    condition: str


def value_of(metric: str) -> str:
    """Return the column of `arm_runs` that has a metric's values, quoted.

    It is no identifier: a filter over runs cannot mean a metric by its name.

    >>> value_of("f1")
    '"score f1"'
    """
    return quoted(f"score {metric}")


def create_arm_runs(
    con: DuckDBPyConnection,
    states: Sequence[tuple[Policy, Current]],
    sides: Sequence[Side],
) -> list[tuple[int, int]]:
    """Create the views `runs` and `arm_runs`; return how many runs a side has, and unscored ones.

    `arm_runs` has the shared columns and status of runs, `in_baseline` and `in_candidate`, `lost`,
    and the values of every metric. Arms under two policies have rows of their own.

    Raises:
        InputError: a filter is more than one condition.
        QueryError: DuckDB refuses a filter.
    """
    superseded, batches = states[0][1].superseded, states[0][1].batches
    gone = pl.DataFrame({"run_key": superseded}, schema={"run_key": pl.UInt64})
    hand(con, "superseded", gone)
    landed = _parquet(con, batches, "runs", Runs.polars(), "no_runs")
    scores = (folder for _, state in states for folder in state.scores)
    confine_to(con, [*files(batches, "runs"), *files([*scores], "scores")])
    con.execute(f"CREATE VIEW runs AS {landed}{_kept(superseded)}")
    _refuse(con, sides)
    parts: list[str] = []
    counts: dict[str, tuple[int, int]] = {}
    for number, (policy, state) in enumerate(states):
        own = [side for side in sides if side.policy == policy.hash]
        source = f"scored_{number}"
        _create_scored(con, policy, state, own, source)
        counts |= {side.arm: _count(con, source, side) for side in own}
        parts.append(_picked(source, own))
    con.execute(f"CREATE VIEW arm_runs AS {' UNION ALL BY NAME '.join(parts)}")
    return [counts[side.arm] for side in sides]


def _refuse(con: DuckDBPyConnection, sides: Iterable[Side]) -> None:
    """Try every filter on the columns of runs."""
    for side in sides:
        try:
            if len(con.extract_statements(f"FROM runs WHERE {side.condition}")) != 1:
                raise InputError(f"{side.named}: one condition is wanted, not statements")
            con.sql(f"FROM runs WHERE {side.condition}")
        except duckdb.Error as error:
            raise _refusal(side, error) from error


def _refusal(side: Side, error: duckdb.Error) -> QueryError:
    return QueryError(f"{side.named}, over the columns of runs: {refusal(error, side.condition)}")


def _create_scored(
    con: DuckDBPyConnection,
    policy: Policy,
    state: Current,
    sides: Sequence[Side],
    name: str,
) -> None:
    """Create a view of runs with their scores under a policy: without a join where that will do."""
    schema = scores_schema(policy)
    scores = _parquet(con, state.scores, "scores", schema, f"no_{name}") + _kept(state.superseded)
    known = metrics_for(policy, state.opinions.metrics)
    values = [f"{quoted(metric)} AS {value_of(metric)}" for metric in known]
    con.execute(f"""
        CREATE VIEW scores_{name} AS
        SELECT {", ".join(SHARED)}, run_status AS status, status AS scoring, true AS scored,
            {", ".join(values)}
        FROM ({state.opinions.joined(con, scores)})""")  # noqa: S608 - names of the registry
    unscored = _parquet(con, state.unscored, "runs", Runs.polars(), "no_runs")
    unscored += _kept(state.superseded)
    con.execute(f"""
        CREATE VIEW {name} AS
        FROM scores_{name} UNION ALL BY NAME
        SELECT {", ".join(SHARED)}, status, false AS scored FROM ({unscored})""")  # noqa: S608 - same
    if not (_whole(state) and all(_binds(con, name, side) for side in sides)):
        shared = ", ".join(column for column in (*SHARED, "status") if column != "run_key")
        con.execute(f"""
            CREATE OR REPLACE VIEW {name} AS
            SELECT * REPLACE (coalesce(scored, false) AS scored)
            FROM runs LEFT JOIN (SELECT * EXCLUDE ({shared}) FROM scores_{name}) USING (run_key)""")  # noqa: S608 - same


def _whole(state: Current) -> bool:
    """Tell whether every run of the scored batches has its row of scores."""
    runs = sum(batch.rows("runs") for batch in state.batches)
    unscored = sum(batch.rows("runs") for batch in state.unscored)
    return runs - unscored == sum(folder.rows("scores") for folder in state.scores)


def _binds(con: DuckDBPyConnection, source: str, side: Side) -> bool:
    """Tell whether a filter finds all its columns in the scores: `scored` and values are not its."""
    columns = ", ".join((*SHARED, "status"))
    try:
        con.sql(f"SELECT {columns} FROM (SELECT {columns} FROM {source}) WHERE {side.condition}")  # noqa: S608 - names of ours
    except duckdb.BinderException:
        return False
    return True


def _count(con: DuckDBPyConnection, source: str, side: Side) -> tuple[int, int]:
    try:
        counts: tuple[int, int] = con.sql(f"""
            SELECT count(*), count(*) FILTER (NOT scored)
            FROM {source} WHERE {side.condition}""").fetchall()[0]  # noqa: S608 - the person's own SQL
    except duckdb.Error as error:
        raise _refusal(side, error) from error
    return counts


def _picked(source: str, own: Sequence[Side]) -> str:
    told = {side.arm: f"coalesce({side.condition}, false)" for side in own}
    sides = ", ".join(f"{told.get(arm, 'false')} AS in_{arm}" for arm in ARMS)
    wanted = " OR ".join(side.condition for side in own)
    return f"SELECT *, {sides}, {LOST} AS lost FROM {source} WHERE {wanted}"  # noqa: S608 - same


def _kept(superseded: Sequence[int]) -> str:
    return " ANTI JOIN superseded USING (run_key)" if superseded else ""


def _parquet(
    con: DuckDBPyConnection, folders: Sequence[Folder], table: str, schema: pl.Schema, empty: str
) -> str:
    found = [sql_file(str(file)) for file in files(folders, table)]
    if found:
        return f"FROM read_parquet([{', '.join(found)}])"
    hand(con, empty, pl.DataFrame(schema=schema))
    return f"FROM {empty}"
