"""Invariants: what no run may do. Each tool name is judged once; the rest is sums and gathers.

| rule | a violation |
|---|---|
| `forbidden_tools` | each call of a tool that fits a glob |
| `allowed_tools` | each call of a tool that fits no glob |
| `required_tools` | each glob that no called tool fits |
| `max_steps`, `max_calls` | more decision steps, more tool calls |
| `max_repeats` | some call (tool and arguments) occurs more than so often |
| `before = [[a, b]]` | b is called before the first call of a |

A violation is an object with `rule`, and what applies of `tool`, `step_index`, `limit`, `seen` and
`needs` (the tool that had to come first).
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from pipeline.landing.values.canonical import canonical_json
from pipeline.policy import Invariants
from pipeline.scoring.segments import Segments, owners, totals

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pipeline.policy import Policy

PARTS = ("limit", "needs", "rule", "seen", "step_index", "tool")
"""The keys of a violation, sorted as canonical JSON has them."""


class _Log(NamedTuple):
    """Runs as the rules look at them. `calls`: run, at (its place), step_index, tool_name, call_key."""

    calls: pl.DataFrame
    n_calls: pl.Series
    n_steps: pl.Series


def step_columns(policy: Policy) -> tuple[str, ...]:
    """Return the step columns that the policy's invariants read."""
    return ("kind", "tool_name", "step_index", "call_key") if _configured(policy) else ()


def counts(runs: pl.DataFrame, steps: pl.DataFrame, policy: Policy) -> pl.DataFrame:
    """Return `n_violations` and `violations` (canonical JSON) per run.

    Both are null when the policy has no invariants, and for a run with an uncaptured call when
    `max_repeats` compares calls.
    """
    if not _configured(policy):
        unknown = pl.DataFrame(schema={"n_violations": pl.Int64, "violations": pl.String})
        return unknown.clear(runs.height)
    log = _log(steps, runs["n_rows"])
    found = pl.concat(_found(log, policy.invariants))
    told = found.sort("run", maintain_order=True)  # rule after rule, step after step
    n = _per_run(told["run"], runs.height)
    text = Segments(n).lists(_as_json(told)).list.join(",")
    table = pl.DataFrame({"n": n, "text": text, "hidden": _hidden(log, policy.invariants)})
    known = pl.when(~pl.col("hidden"))
    return table.select(
        known.then("n").alias("n_violations"),
        known.then(pl.concat_str(pl.lit("["), "text", pl.lit("]"))).alias("violations"),
    )


def _configured(policy: Policy) -> bool:
    return policy.invariants != Invariants()


def _log(steps: pl.DataFrame, lengths: pl.Series) -> _Log:
    is_call = steps["kind"] == "tool_call"
    calls = steps.select("step_index", "tool_name", "call_key").with_columns(
        owners(lengths).alias("run")
    )
    return _Log(
        calls.filter(is_call).with_row_index("at"),
        totals(is_call, lengths),
        totals(steps["kind"] != "message", lengths),
    )


def _hidden(log: _Log, rules: Invariants) -> pl.Series:
    """Tell which runs cannot be judged: a call to compare was not captured."""
    uncaptured = totals(log.calls["call_key"].is_null(), log.n_calls) > 0
    return uncaptured & (rules.max_repeats is not None)


def _found(log: _Log, rules: Invariants) -> list[pl.DataFrame]:
    """Return the violations of each rule, run after run."""
    return [
        _calls(log, "forbidden_tools", _fitting(log, rules.forbidden_tools)),
        *([_disallowed(log, rules.allowed_tools)] if rules.allowed_tools else []),
        *(_required(log, glob) for glob in rules.required_tools),
        _above(log.n_steps, "max_steps", rules.max_steps),
        _above(log.n_calls, "max_calls", rules.max_calls),
        _repeats(log, rules.max_repeats),
        *(_before(log, first, second) for first, second in rules.before),
    ]


def _violations(frame: pl.DataFrame, rule: str, **parts: pl.Expr) -> pl.DataFrame:
    """Return rows of a violation's parts, each text already JSON; an absent part is null."""
    told = {"rule": pl.lit(canonical_json(rule)), **parts}
    return frame.select(
        pl.col("run").cast(pl.UInt32),
        *(told.get(part, pl.lit(None)).cast(_type(part)).alias(part) for part in PARTS),
    )


def _type(part: str) -> type[pl.DataType]:
    return pl.Int64 if part in ("limit", "seen", "step_index") else pl.String


def _fitting(log: _Log, globs: Sequence[str]) -> list[str]:
    """Return the tools called that fit one of the globs."""
    names = log.calls["tool_name"].unique().drop_nulls().to_list()
    return [name for name in names if any(fnmatchcase(name, glob) for glob in globs)]


def _calls(log: _Log, rule: str, tools: Sequence[str]) -> pl.DataFrame:
    return _violations(
        log.calls.filter(pl.col("tool_name").is_in(tools)),
        rule,
        tool=_quoted("tool_name"),
        step_index=pl.col("step_index"),
    )


def _disallowed(log: _Log, allowed: Sequence[str]) -> pl.DataFrame:
    names = set(log.calls["tool_name"].unique().drop_nulls())
    return _calls(log, "allowed_tools", sorted(names.difference(_fitting(log, allowed))))


def _required(log: _Log, glob: str) -> pl.DataFrame:
    fits = log.calls["tool_name"].is_in(_fitting(log, [glob]))
    missing = _numbered(totals(fits, log.n_calls)).filter(pl.col("seen") == 0)
    return _violations(missing, "required_tools", tool=pl.lit(canonical_json(glob)))


def _above(seen: pl.Series, rule: str, limit: int | None) -> pl.DataFrame:
    over = _numbered(seen).filter(pl.lit(value=False) if limit is None else pl.col("seen") > limit)
    return _violations(over, rule, limit=pl.lit(limit), seen=pl.col("seen"))


def _repeats(log: _Log, limit: int | None) -> pl.DataFrame:
    """Return, per run, its call that occurs most often, where that is too often."""
    calls = log.calls.clear() if limit is None else log.calls.drop_nulls("call_key")
    times = calls.group_by("run", "call_key", maintain_order=True).agg(
        pl.len().alias("seen"), pl.col("tool_name").first(), pl.col("at").first()
    )
    worst = times.sort("run", -pl.col("seen").cast(pl.Int64), "at").unique(
        "run", keep="first", maintain_order=True
    )
    over = worst.filter(pl.col("seen") > (limit or 0))
    return _violations(
        over, "max_repeats", tool=_quoted("tool_name"), limit=pl.lit(limit), seen=pl.col("seen")
    )


def _before(log: _Log, first: str, second: str) -> pl.DataFrame:
    """Return the first call of `second` in each run that has not called `first` by then."""
    earliest = _first(log, first).select("run", pl.col("at").alias("since"))
    joined = _first(log, second).join(earliest, on="run", how="left", maintain_order="left")
    early = joined.filter(pl.col("since").is_null() | (pl.col("at") < pl.col("since")))
    return _violations(
        early,
        "before",
        tool=_quoted("tool_name"),
        step_index=pl.col("step_index"),
        needs=pl.lit(canonical_json(first)),
    )


def _first(log: _Log, glob: str) -> pl.DataFrame:
    fits = pl.col("tool_name").is_in(_fitting(log, [glob]))
    return log.calls.filter(fits).unique("run", keep="first", maintain_order=True)


def _numbered(seen: pl.Series) -> pl.DataFrame:
    return seen.alias("seen").to_frame().with_row_index("run")


def _quoted(column: str) -> pl.Expr:
    """Spell the names of a column as JSON, each distinct name once."""

    def spell(names: pl.Series) -> pl.Series:
        distinct = names.unique().drop_nulls()
        spelt = [canonical_json(name) for name in distinct]
        return names.replace_strict(distinct, spelt, default=None, return_dtype=pl.String)

    return pl.col(column).map_batches(spell, return_dtype=pl.String)


def _as_json(told: pl.DataFrame) -> pl.Series:
    parts = [
        pl.when(pl.col(part).is_not_null()).then(
            pl.concat_str(pl.lit(f'"{part}":'), pl.col(part).cast(pl.String))
        )
        for part in PARTS
    ]
    inner = pl.concat_str(parts, separator=",", ignore_nulls=True)
    return told.select(pl.concat_str(pl.lit("{"), inner, pl.lit("}")).alias("text")).to_series()


def _per_run(ordered: pl.Series, n_runs: int) -> pl.Series:
    """Count how often each run occurs in a sorted column."""
    each = pl.int_range(n_runs, dtype=pl.UInt32, eager=True)
    upto = ordered.search_sorted(each, side="right").cast(pl.Int64)
    return upto - ordered.search_sorted(each, side="left").cast(pl.Int64)
