"""The state a run left behind: against the state its task expects, and under SQL checks.

A check is one SELECT over the table `final_state`, and returns the runs that fail it:

    SELECT run_key FROM final_state WHERE state->>'status' <> 'booked'

| column | |
|---|---|
| `run_key` | names the run; a check must return it (`SELECT *` does) |
| `run_id`, `suite`, `task_id` | as in `runs` |
| `state` | the final state, JSON |

Runs are checked some thousands at a time: a check must judge each run by itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from pipeline.duck import hand
from pipeline.errors import InputError
from pipeline.landing.values.canonical import by_value, canonical_json
from pipeline.scoring.confined import confined
from pipeline.scoring.segments import alike
from pipeline.text import refusal
from pipeline.workbench import select

if TYPE_CHECKING:
    from collections.abc import Sequence

    from duckdb import DuckDBPyConnection

    from pipeline.policy import EndStateCheck, Policy

_TABLE = """
CREATE TABLE final_state AS
SELECT run_key, run_id, suite, task_id, final_state::JSON AS state FROM left_behind
"""


def run_columns(tasks: pl.DataFrame, policy: Policy) -> tuple[str, ...]:
    """Return the run columns needed: the final state only where something looks at it."""
    wanted = bool(policy.end_state.check) or tasks["expected_state"].is_not_null().any()
    return ("final_state",) if wanted else ()


def matches(runs: pl.DataFrame, tasks: pl.DataFrame, policy: Policy) -> pl.Series:
    """Return `end_state_match` per run: 1, 0, or null where nothing is known or nothing asked.

    Args:
        runs: suite, task_id, run_id, run_key, and final_state where `run_columns` asks for it.
        tasks: the task rows in force.
        policy: whose checks apply.

    Raises:
        InputError: a check is no single SELECT, returns no run_key, or DuckDB refuses it.
    """
    if "final_state" not in runs.columns:
        return alike(None, runs.height, pl.Int8).alias("end_state_match")
    expected = tasks.select("suite", "task_id", "expected_state")
    states = runs.select("run_key", "run_id", "suite", "task_id", "final_state").join(
        expected, on=["suite", "task_id"], how="left", nulls_equal=True, maintain_order="left"
    )
    failed = offenders(states, policy.end_state.check)
    asked = pl.col("expected_state").is_not_null() | bool(policy.end_state.check)
    holds = _holds(states).fill_null(value=True) & ~states["run_key"].is_in(failed.implode())
    known = pl.when(pl.col("final_state").is_not_null() & asked)
    return states.select(known.then(holds).cast(pl.Int8).alias("end_state_match")).to_series()


def _holds(states: pl.DataFrame) -> pl.Series:
    """Tell where the expected state holds, comparing each distinct pair of states once."""
    pair = ["expected_state", "final_state"]
    asked = states.select(pair).drop_nulls().unique(maintain_order=True)
    verdicts = [
        holds(by_value(expected.encode()), by_value(final.encode()))
        for expected, final in asked.iter_rows()  # distinct pairs
    ]
    judged = asked.with_columns(pl.Series("holds", verdicts, dtype=pl.Boolean))
    return states.join(judged, on=pair, how="left", maintain_order="left")["holds"]


def holds(expected: Any, final: Any) -> bool:
    """Tell whether every key of the expected state has an equal value in the final one.

    Keys at the top level; the values compare whole, as canonical JSON by exact value. A state
    that is no object compares whole.

    >>> holds({"status": "booked"}, {"status": "booked", "seat": "12A"})
    True
    >>> holds({"seat": {"row": 12}}, {"seat": {"row": 12, "place": "A"}})
    False
    """
    if not isinstance(expected, dict) or not isinstance(final, dict):
        return canonical_json(expected) == canonical_json(final)
    same = {key: final[key] for key in expected if key in final}
    return canonical_json(expected) == canonical_json(same)


def offenders(states: pl.DataFrame, checks: Sequence[EndStateCheck]) -> pl.Series:
    """Return the run_keys that some check returns."""
    none = pl.Series("run_key", [], dtype=pl.UInt64)
    if not checks:
        return none
    with confined() as con:
        hand(con, "left_behind", states.filter(pl.col("final_state").is_not_null()))
        con.execute(_TABLE)
        con.unregister("left_behind")
        return pl.concat([none, *(_returned(con, check) for check in checks)])


def _returned(con: DuckDBPyConnection, check: EndStateCheck) -> pl.Series:
    try:
        rows = select(con, check.sql)
    except InputError as error:
        raise InputError(f"end_state.check {check.name!r}: {refusal(error)}") from error
    if "run_key" not in rows.columns:
        raise InputError(
            f"end_state.check {check.name!r}: no column run_key in its result, only "
            f"{', '.join(rows.columns)}; return the run_key of each run that fails"
        )
    return _keys(rows["run_key"], check)


def _keys(found: pl.Series, check: EndStateCheck) -> pl.Series:
    try:
        return found.cast(pl.UInt64)
    except pl.exceptions.PolarsError as error:
        raise InputError(
            f"end_state.check {check.name!r}: its run_key is no key but {found.dtype}; return the "
            "column run_key of final_state as it is"
        ) from error
