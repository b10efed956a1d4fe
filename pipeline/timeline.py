"""One run, step by step: what was expected of it, what it did, and how it scored."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from pipeline.arguments import checked
from pipeline.current import policy_of
from pipeline.errors import UnknownNameError
from pipeline.landed import opened
from pipeline.metrics.registry import headline
from pipeline.redact import redact
from pipeline.tables.result import Result
from pipeline.text import is_utf8
from pipeline.workbench import session

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from duckdb import DuckDBPyConnection

    from pipeline.lake import Lake
    from pipeline.policy import Policy

NEAR = 3
ALIKE = 0.8
"""From this Jaro-Winkler similarity on an id may have been meant; so may one that holds what was typed."""
CUT = 200

MARKS = ("is_backtrack", "is_retry", "in_loop", "expected_position")
"""What scoring says of a call."""

_RUN = ("run_id", "agent", "agent_version", "model", "run_key")
_STEP = (
    "step_index", "turn_index", "kind", "actor", "tool_name", "tool_args", "args_status",
    "is_error", "output", "error", "content", "input_tokens", "output_tokens", "duration_ms",
    *MARKS,
)  # fmt: skip
_TEXTS = ("tool_args", "output", "error", "content")


class Timeline(NamedTuple):
    """One run. Texts are redacted, and not cut."""

    run: dict[str, Any]
    """Its row of `runs`."""
    policy: str
    """The policy in use."""
    scores: dict[str, Any] | None
    """Its status and headline metrics under the policy; None: not scored yet."""
    expected: pl.DataFrame
    """The expected calls: the alternative it was scored against, or all while it is unscored."""
    steps: pl.DataFrame


@checked
def show(
    lake: Lake | str | os.PathLike[str],
    run_id: str | int,
    *,
    policy: str | os.PathLike[str] | None = None,
    longest: int | None = CUT,
) -> Result:
    """Return the steps of a run; of every run of that id where several agents use it.

    Args:
        lake: a lake or its folder.
        run_id: a run's id, or its source's own where that was not unique.
        policy: whose scores count; default: the lake's own.
        longest: texts are redacted and then cut to so many characters; None: not cut.

    Returns:
        One row per step: the run (run_id, agent, agent_version, model, String; run_key, UInt64),
        step_index, turn_index, expected_position (UInt32), kind, actor, tool_name, tool_args,
        args_status, output, error, content (String), is_error, is_backtrack, is_retry, in_loop
        (Boolean; null where nobody can tell), input_tokens, output_tokens (Int64), duration_ms
        (Float64).

    Raises:
        UnknownNameError: no run has that id.

    >>> from pipeline.sample import example
    >>> found = show(example(), "s0-0000001")
    >>> found.rows.select("step_index", "kind", "tool_name", "is_error").head(4)
    shape: (4, 4)
    ┌────────────┬───────────┬────────────────┬──────────┐
    │ step_index ┆ kind      ┆ tool_name      ┆ is_error │
    │ ---        ┆ ---       ┆ ---            ┆ ---      │
    │ u32        ┆ str       ┆ str            ┆ bool     │
    ╞════════════╪═══════════╪════════════════╪══════════╡
    │ 0          ┆ llm_call  ┆ null           ┆ null     │
    │ 1          ┆ tool_call ┆ search_account ┆ false    │
    │ 2          ┆ llm_call  ┆ null           ┆ null     │
    │ 3          ┆ tool_call ┆ get_order      ┆ false    │
    └────────────┴───────────┴────────────────┴──────────┘
    """
    return as_result(timelines(lake, run_id, policy=policy), longest)


def as_result(found: list[Timeline], longest: int | None = None) -> Result:
    """Return the steps of runs as one table, texts cut to `longest` characters."""
    rows = pl.concat([_named(timeline) for timeline in found])
    notes = [f"{len(found)} runs have this id: {', '.join(map(name, found))}"]
    return Result("show", cut(rows, longest), notes if len(found) > 1 else [])


def timelines(
    lake: Lake | str | os.PathLike[str],
    run_id: str | int,
    *,
    policy: str | os.PathLike[str] | None = None,
) -> list[Timeline]:
    """Return every run of that id, ordered by agent, version and model.

    Raises:
        UnknownNameError: no run has that id.
    """
    lake = opened(lake)
    run_id = str(run_id)  # DuckDB takes a number for the run "007" where it is given 7.
    if not is_utf8(run_id):
        raise UnknownNameError(f"no run {run_id!r}: ids of runs are UTF-8")
    rules = policy_of(lake, policy)
    with closing(session(lake, rules, confined=False, macros=False)) as con:
        runs = _rows(
            con,
            "FROM runs WHERE run_id = $id OR source_id = $id "
            "ORDER BY run_id, agent, agent_version, model, run_key",
            id=run_id,
        )
        if runs.is_empty():
            raise UnknownNameError(_unknown(con, run_id, lake))
        return [_timeline(con, run, rules) for run in runs.to_dicts()]


def name(timeline: Timeline) -> str:
    """Name a run by its id and who ran it."""
    run = timeline.run
    who = [run[key] for key in ("agent", "agent_version", "model") if run[key] is not None]
    return f"{run['run_id']} ({', '.join(who)})" if who else str(run["run_id"])


def _timeline(con: DuckDBPyConnection, run: dict[str, Any], policy: Policy) -> Timeline:
    # run_id beside run_key: files hold its range per row group, so that few are read.
    mine = {"id": run["run_id"], "key": run["run_key"]}
    scores = _rows(con, "FROM scores WHERE run_id = $id AND run_key = $key", **mine)
    steps = _rows(
        con,
        "FROM steps LEFT JOIN (SELECT * EXCLUDE (run_id, call_key) FROM landed_call_scores "
        "WHERE run_key = $key) USING (run_key, step_index) "
        "WHERE run_id = $id AND run_key = $key ORDER BY step_index",
        **mine,
    )
    scored = scores.row(0, named=True) if scores.height else None
    return Timeline(
        run,
        policy.title,
        _headline(scored, policy),
        _redacted(_expected(con, run, scored)),
        _redacted(steps.select(_STEP)),
    )


def _headline(scored: dict[str, Any] | None, policy: Policy) -> dict[str, Any] | None:
    if scored is None:
        return None
    said = [key for key in scored if "." in key]  # opinions: no other column has a dot
    return {key: scored[key] for key in ("status", *headline(policy), *said) if key in scored}


def _expected(
    con: DuckDBPyConnection, run: dict[str, Any], scored: dict[str, Any] | None
) -> pl.DataFrame:
    rows = _rows(
        con,
        "SELECT reference_id, position, tool_name, tool_args, args_status, optional FROM refs "
        "WHERE reference_set = coalesce($own, (SELECT any_value(reference_set) FROM tasks "
        "WHERE task_id = $task AND suite IS NOT DISTINCT FROM $suite)) "
        "ORDER BY reference_id, position",
        own=run["reference_set"],
        task=run["task_id"],
        suite=run["suite"],
    )
    chosen = None if scored is None else scored["reference_id"]
    return rows if chosen is None else rows.filter(pl.col("reference_id") == chosen)


def _unknown(con: DuckDBPyConnection, run_id: str, lake: Lake) -> str:
    """Return the sentence for an id that no run has, with the ids that may have been meant."""
    near = _rows(
        con,
        "SELECT run_id, jaro_winkler_similarity(run_id, $id) AS likeness FROM runs "
        "WHERE likeness >= $alike OR ($id <> '' AND contains(run_id, $id)) "
        "GROUP BY run_id ORDER BY likeness DESC, run_id LIMIT $n",
        id=run_id,
        alike=ALIKE,
        n=NEAR,
    )["run_id"]
    if near.len():
        known = f"near it: {', '.join(map(repr, near))}"
    elif _rows(con, "FROM runs LIMIT 1").is_empty():
        known = "it holds no run"
    else:
        known = f"no id is like it; `trajtab scores {lake.path}` lists them"
    return f"{lake.path}: no run {run_id!r}; {known}"


def _rows(con: DuckDBPyConnection, text: str, **parameters: object) -> pl.DataFrame:
    found: pl.DataFrame = con.sql(text, params=parameters).pl()
    return found


def _redacted(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.with_columns(_each(rows[column]) for column in _TEXTS if column in rows.columns)


def _each(texts: pl.Series) -> pl.Series:
    """Redact a column, each distinct text once."""
    distinct = texts.drop_nulls().unique(maintain_order=True)
    clean: Mapping[str, str] = {text: redact(text) for text in distinct}
    return texts.replace(clean)


def _named(timeline: Timeline) -> pl.DataFrame:
    who = [
        pl.lit(timeline.run[key]).cast(pl.UInt64 if key == "run_key" else pl.String).alias(key)
        for key in _RUN
    ]
    return timeline.steps.select(*who, *_STEP)


def cut(rows: pl.DataFrame, longest: int | None) -> pl.DataFrame:
    """Cut the texts of steps; None: not at all."""
    if longest is None:
        return rows
    return rows.with_columns(
        pl.when(pl.col(column).str.len_chars() > longest)
        .then(pl.col(column).str.slice(0, longest - 1) + "…")
        .otherwise(column)
        .alias(column)
        for column in _TEXTS
    )
