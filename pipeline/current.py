"""Which scores count now: for each batch, the ones made from the references in force."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

import duckdb
import polars as pl
from xxhash import xxh3_128

from pipeline.errors import InputError
from pipeline.interrupts import interruptible
from pipeline.lake import Folder, Lake, files, run_key_base
from pipeline.landing.commit import latest_tasks
from pipeline.metrics.registry import METRICS_VERSION, metrics, metrics_for, scored
from pipeline.opinions import NONE, Opinions, opinions
from pipeline.policy import Policy, load
from pipeline.queries import install_macros
from pipeline.schema import ScoreKeys
from pipeline.text import refusal

if TYPE_CHECKING:
    from collections.abc import Sequence

TASKS_USED = (
    "suite", "task_id", "reference_set", "min_steps", "expected_state", "reference_complete",
    "reference_outputs", "tools_hash",
)  # fmt: skip
"""What scores are made from of a task: if one of these changes, its runs are scored again."""
SQL_TYPES: dict[pl.DataType, str] = {
    pl.Float64(): "DOUBLE", pl.Int64(): "BIGINT", pl.Int8(): "TINYINT", pl.String(): "VARCHAR",
}  # fmt: skip
"""What metrics are in DuckDB."""

AT_ONCE = 8
"""So many batches are read together: memory does not grow with the lake."""


class Current(NamedTuple):
    """The score folders that count, and the batches that have none yet."""

    scores: list[Folder]
    unscored: list[Folder]
    superseded: list[int]
    """run_keys of runs that a later landing replaced."""
    opinions: Opinions = NONE
    """What judges and people say of runs: columns beside the scores."""


def policy_of(lake: Lake, named: str | None = None) -> Policy:
    """Return the policy named, else the one the lake remembers, else the default."""
    return load(named if named is not None else lake.settings.get("policy"), f" (lake {lake.path})")


def tasks_of(batch: Folder, latest: pl.DataFrame) -> pl.DataFrame:
    """Return the task rows in force for the tasks a batch attempts."""
    if not batch.rows("runs") or latest.is_empty():
        return latest.clear()
    attempted = (
        pl.scan_parquet(batch.file("runs", ["suite", "task_id"]), glob=False)
        .select("suite", "task_id")
        .unique()
        .collect()
    )
    return latest.join(attempted, on=["suite", "task_id"], how="semi", nulls_equal=True).sort(
        "suite", "task_id"
    )


def score_name(batch: Folder, policy: Policy, tasks: pl.DataFrame) -> str:
    """Name the scores of a batch by all they are made from."""
    return _name(batch, policy, _texts(tasks))


def score_names(batches: Sequence[Folder], policy: Policy, latest: pl.DataFrame) -> list[str]:
    """Return `score_name` of many batches, reading them together and each task once."""
    known = latest.sort("suite", "task_id")
    texts = _texts(known)
    keys = known.lazy().select("suite", "task_id").with_row_index("place")
    attempting = [batch for batch in batches if batch.rows("runs") and texts]
    places: dict[str, pl.Series] = {}
    for part in (attempting[i : i + AT_ONCE] for i in range(0, len(attempting), AT_ONCE)):
        found = pl.collect_all(
            keys.join(
                pl.scan_parquet(batch.file("runs"), glob=False).select("suite", "task_id"),
                on=["suite", "task_id"], how="semi", nulls_equal=True,
            ).select(pl.col("place").sort())
            for batch in part
        )  # fmt: skip
        places |= {batch.name: rows["place"] for batch, rows in zip(part, found, strict=True)}
    return [_name(b, policy, [texts[i] for i in places.get(b.name, ())]) for b in batches]


def _texts(tasks: pl.DataFrame) -> list[str]:
    return [repr(row) for row in tasks.select(TASKS_USED).rows()]


def _name(batch: Folder, policy: Policy, tasks: list[str]) -> str:
    told = xxh3_128(f"{policy.hash}\0{METRICS_VERSION}\0{batch.name}\0".encode())
    told.update(f"[{', '.join(tasks)}]".encode())
    return "s-" + told.hexdigest()[:24]


def known_tasks(latest: pl.DataFrame) -> str:
    """Name all tasks in force: scores made while these were have the name they would have now."""
    told = ", ".join(_texts(latest.sort("suite", "task_id")))
    return xxh3_128(f"{METRICS_VERSION}\0{told}".encode()).hexdigest()


def current(lake: Lake, policy: Policy) -> Current:
    """Find the scores that count under `policy`.

    Where no task has changed since a batch was scored, its manifest says so, and the batch need
    not be read for the tasks it attempts.
    """
    latest = latest_tasks(lake)
    found = {folder.name: folder for folder in lake.scores(policy.hash)}
    known = known_tasks(latest)
    made = {f.manifest["batch"]: f for f in found.values() if f.manifest.get("tasks") == known}
    batches = lake.batches()
    asked = [batch for batch in batches if batch.name not in made]
    named = zip(asked, score_names(asked, policy, latest), strict=True)
    made |= {batch.name: found[name] for batch, name in named if name in found}
    scores: list[Folder] = []
    unscored: list[Folder] = []
    for batch in batches:
        score = made.get(batch.name)
        if score is not None:
            scores.append(score)
        elif batch.rows("runs"):
            unscored.append(batch)
    return Current(scores, unscored, superseded_keys(lake), opinions(lake))


def superseded_keys(lake: Lake) -> list[int]:
    """Return the run_keys of the runs that readers skip."""
    return sorted(
        run_key_base(batch) + row for batch, rows in lake.superseded().items() for row in rows
    )


def written_schema(policy: Policy) -> pl.Schema:
    """Return the columns of scores.parquet under a policy: those of the metrics it scores."""
    unscored = metrics().keys() - scored(policy)
    return pl.Schema({n: t for n, t in scores_schema(policy).items() if n not in unscored})


def scores_schema(policy: Policy | None = None) -> pl.Schema:
    """Return the columns of scores: keys, one per metric, the policy's own, run_key.

    Readers see all of them: a metric that the policy does not score is null.
    """
    own = {name: column.dtype for name, column in ScoreKeys.columns.items()}
    kinds: dict[str, pl.DataType | type[pl.DataType]] = {
        "fraction": pl.Float64, "amount": pl.Float64, "count": pl.Int64, "flag": pl.Int8,
        "text": pl.String,
    }  # fmt: skip
    for name, metric in {**metrics(), **metrics_for(policy)}.items():
        if name not in own:
            whole = metric.kind == "amount" and metric.unit == "tokens"
            own[name] = pl.Int64 if whole else kinds[metric.kind]
    return pl.Schema({**own, "run_key": pl.UInt64})


def connect(
    threads: int | None = None, memory_limit: str | None = None, *, macros: bool = True
) -> duckdb.DuckDBPyConnection:
    """Open DuckDB in memory, in UTC, with the metric macros installed unless they are not needed."""
    con = interruptible(duckdb.connect())
    con.execute("SET TimeZone = 'UTC'; SET preserve_insertion_order = true")
    con.execute("SET parquet_metadata_cache = true")  # files are immutable, and read several times
    con.execute("SET enable_progress_bar = false")  # on a terminal it would stand in the results
    if threads is not None:
        con.execute(f"SET threads = {threads}")
    if memory_limit is not None:
        con.execute("SET memory_limit = ?", [memory_limit])
    if macros:
        install_macros(con)
    return con


def score_session(
    lake: Lake, policy: Policy, where: str | None = None
) -> tuple[duckdb.DuckDBPyConnection, Current]:
    """Open DuckDB with the view `scores`: the rows that count, filtered by the SQL `where`.

    Raises:
        InputError: DuckDB refuses `where`.
    """
    state = current(lake, policy)
    con = connect(macros=False)
    create_scores(con, state, policy, where)
    return con, state


def create_scores(
    con: duckdb.DuckDBPyConnection,
    state: Current,
    policy: Policy,
    where: str | None = None,
) -> None:
    """Create the view `scores` of the scores of `state` that count, filtered by `where`.

    Raises:
        InputError: DuckDB refuses `where`.
    """
    con.register(
        "_superseded",
        pl.DataFrame({"run_key": pl.Series(state.superseded, dtype=pl.UInt64)}).to_arrow(),
    )
    con.execute(f"CREATE VIEW _all_scores AS {_scores_from(con, state.scores, policy)}")
    kept = (
        "SELECT * FROM _all_scores ANTI JOIN _superseded USING (run_key)"
        if state.superseded
        else "FROM _all_scores"
    )
    con.execute(f"CREATE VIEW _kept_scores AS {state.opinions.joined(con, kept)}")
    # The filter stands on lines of its own, so that a comment in it ends there.
    chosen = f"FROM _kept_scores WHERE (\n{where or 'true'}\n)"
    try:
        told = con.extract_statements(chosen)
        if len(told) != 1:
            raise InputError(f"--where {where!r}: one condition is wanted, not several statements")
        con.execute(f"CREATE VIEW scores AS {chosen}")
    except duckdb.Error as error:
        raise InputError(f"--where {where!r}: {refusal(error)}") from error


def _scores_from(con: duckdb.DuckDBPyConnection, scores: Sequence[Folder], policy: Policy) -> str:
    found = [sql_file(str(file)) for file in files(scores, "scores")]
    if not found:
        con.register("_no_scores", pl.DataFrame(schema=scores_schema(policy)).to_arrow())
        return "FROM _no_scores"
    return _whole(f"FROM read_parquet([{', '.join(found)}])", policy)


def _whole(source: str, policy: Policy) -> str:
    """Give scores the columns that their policy left out, so that every query binds."""
    written, every = written_schema(policy), scores_schema(policy)
    if len(written) == len(every):
        return source
    columns = [
        f'"{name}"' if name in written else f'NULL::{SQL_TYPES[dtype]} AS "{name}"'
        for name, dtype in every.items()
    ]
    return f"SELECT {', '.join(columns)} {source}"


def sql_file(path: str) -> str:
    """Return a path as a SQL literal that names this one file: no part of it is a pattern.

    >>> sql_file("a's [1].parquet")
    "'a''s [[]1].parquet'"
    """
    plain = re.sub(r"[\[*?]", lambda mark: f"[{mark.group()}]", path)
    return "'" + plain.replace("'", "''") + "'"
