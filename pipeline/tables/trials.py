"""The trials of every task: how many there are, how many pass, and that none counts twice."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import duckdb
import polars as pl

from pipeline import queries
from pipeline.duck import REFUSED, fetched
from pipeline.errors import InputError, QueryError
from pipeline.lake import KEY_ROWS, run_key_base
from pipeline.tables.groups import create_grouped, per_group, quoted
from pipeline.text import refusal

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pipeline.lake import Lake
    from pipeline.tables.groups import Group

SUCCESS = "success"
"""The rule when none is given."""

_PASSED = '"is passed"'  # no identifier, so no metric can have it


def count_trials(
    con: duckdb.DuckDBPyConnection, arms: Sequence[Group], rule: str = SUCCESS
) -> pl.DataFrame:
    """Count the trials of the view `scores`, one row per arm and task: see `passk.sql`.

    Creates the tables `arms` (group_id, the arm's columns, n_without_task) and `trials`.

    Raises:
        InputError: `rule` is neither true nor false.
    """
    create_grouped(con, arms)
    without_task = "count(*) FILTER (task_id IS NULL) AS n_without_task"
    con.execute(f"CREATE OR REPLACE TEMP TABLE arms AS {per_group(arms, without_task)}")
    _create_judged(con, rule)
    aliases = (quoted(arm.alias) for arm in arms)
    same = " AND ".join(f"judged.{name} IS NOT DISTINCT FROM arms.{name}" for name in aliases)
    con.execute(f"""
        CREATE OR REPLACE TEMP TABLE trials AS
        SELECT group_id, task_id, trial, run_key, run_status = 'error' AS errored,
            {_PASSED} AS passed
        FROM judged JOIN arms ON {same}
        WHERE task_id IS NOT NULL""")  # noqa: S608 - quoted names
    return fetched(con.sql(queries.read("tables/passk")))


def _create_judged(con: duckdb.DuckDBPyConnection, rule: str) -> None:
    """Create the view `judged`: the scores, and whether the rule holds.

    The rule stands on lines of its own, so that a comment in it ends there.
    """
    query = f"SELECT *, (\n{rule}\n) AS {_PASSED} FROM grouped"  # noqa: S608 - the person's own SQL
    if len(con.extract_statements(query)) != 1:
        raise InputError(f"--pass {rule!r}: one condition is wanted, not several statements")
    judged = con.sql(query)
    seen = judged.types[-1]
    if seen != duckdb.sqltypes.BOOLEAN:
        raise InputError(
            f"--pass {rule!r}: its value is {seen}, neither true nor false; compare it, "
            'as in "f1 >= 0.5"'
        )
    judged.create_view("judged")


@contextmanager
def naming_rule(rule: str | None, where: str | None) -> Iterator[None]:
    """Turn DuckDB's refusal of a rule into a sentence.

    Raises:
        QueryError: DuckDB refuses the rule, or fails on it while it reads.
    """
    try:
        yield
    except REFUSED as error:
        if rule is None:
            raise
        filtered = f" with --where {where!r}" if where else ""
        raise QueryError(f"--pass {rule!r}{filtered}: {refusal(error, rule + filtered)}") from error


def refuse_repeated(lake: Lake, con: duckdb.DuckDBPyConnection, counts: pl.DataFrame) -> None:
    """Refuse a trial number that an arm's task has twice: which one counts is not ours to say.

    Raises:
        InputError: there is one; the sentence names the sources of both.
    """
    repeated = counts.filter(pl.col("n_repeated") > 0)
    if repeated.is_empty():
        return
    group_id, task = repeated.select("group_id", "task_id").row(0)
    trial, keys = con.execute(
        """
        SELECT trial, list(run_key ORDER BY run_key)
        FROM trials
        WHERE group_id = ? AND task_id = ? AND trial IS NOT NULL
        GROUP BY trial HAVING count(*) > 1 ORDER BY trial LIMIT 1""",
        [group_id, task],
    ).fetchall()[0]
    beyond = repeated["n_repeated"].sum() - 1
    more = f"; {beyond} more trials repeat" if beyond else ""
    raise InputError(
        f"trial {trial} of task {task!r} is there {len(keys)} times in one arm: "
        f"{' and '.join(sources(lake, keys))}{more}. A trial counts once: leave one out with "
        "--where, or tell the runs apart with --by labels.NAME; `trajtab check` lists them all"
    )


def sources(lake: Lake, run_keys: Sequence[int]) -> list[str]:
    """Return where runs came from, as `file:line (run ID)`, ordered."""
    named = ["source_path", "source_line", "run_id"]
    keys = pl.Series("run_key", run_keys, dtype=pl.UInt64)
    bases = {key >> KEY_ROWS << KEY_ROWS for key in run_keys}
    found = pl.concat(
        pl.scan_parquet(batch.file("runs", ["run_key", *named]), glob=False)
        .filter(pl.col("run_key").is_in(keys.implode()))
        .select(named)
        for batch in lake.batches()
        if run_key_base(batch.name) in bases
    )
    rows = found.collect().sort("source_path", "source_line", "run_id").rows()
    return [f"{path}{'' if line is None else f':{line}'} (run {run})" for path, line, run in rows]
