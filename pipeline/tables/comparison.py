"""The rows of a comparison, from pairs: means, spreads, intervals, tests, verdicts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from pipeline.statistics.adjust import benjamini_hochberg
from pipeline.statistics.bootstrap import METHOD
from pipeline.statistics.detectable import POWER, standard_error
from pipeline.tables.arm_runs import ARMS
from pipeline.tables.intervals import with_intervals
from pipeline.tables.percentiles import QUANTILES, column_of
from pipeline.tables.spreads import Key
from pipeline.text import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pipeline.tables.arms import Arm
    from pipeline.tables.pairs import Pairs
    from pipeline.tables.spreads import Spread

ALPHA = 0.05
SPREADS = [f"{arm}_{column_of(q)}" for q in QUANTILES for arm in ARMS]
SCHEMA: dict[str, Any] = {
    "metric": pl.String, "n_tasks": pl.Int64,
    "baseline_mean": pl.Float64, "candidate_mean": pl.Float64, "delta": pl.Float64,
    "relative_delta": pl.Float64, "ci_low": pl.Float64, "ci_high": pl.Float64,
    "baseline_std": pl.Float64, "candidate_std": pl.Float64, "delta_std": pl.Float64,
    "p": pl.Float64, "p_adjusted": pl.Float64, "verdict": pl.String, "mde": pl.Float64,
    "n_worse": pl.Int64, "n_better": pl.Int64, "better": pl.String, "test": pl.String,
    **dict.fromkeys(SPREADS, pl.Float64),
    "baseline_ci_low": pl.Float64, "baseline_ci_high": pl.Float64,
    "candidate_ci_low": pl.Float64, "candidate_ci_high": pl.Float64,
    "n_baseline": pl.Int64, "n_candidate": pl.Int64,
    "n_uncovered": pl.Int64, "n_undefined": pl.Int64,
}  # fmt: skip

INCONCLUSIVE = "inconclusive"


def table(found: Sequence[Pairs], spreads: dict[Key, Spread]) -> pl.DataFrame:
    """Return one row per metric."""
    rows = [_row(pairs) | _spread(pairs, spreads) for pairs in found]
    adjusted = benjamini_hochberg([row["p"] for row in rows])
    for row, pairs, p_adjusted in zip(rows, found, adjusted, strict=True):
        row["p_adjusted"] = p_adjusted
        row["verdict"] = _verdict(pairs, p_adjusted)
    for arm in ARMS:
        for row, interval in zip(rows, _intervals(found, arm), strict=True):
            row[f"{arm}_ci_low"], row[f"{arm}_ci_high"] = interval
    return pl.DataFrame(rows, schema=SCHEMA)


def _row(pairs: Pairs) -> dict[str, Any]:
    differences, drops = pairs.differences, pairs.drops
    resampled = differences.resampled
    base, delta = pairs.mean("baseline"), _less(0.0, differences.mean)
    directed = pairs.metric.better != "neither"
    return {
        "metric": pairs.metric.name,
        "better": pairs.metric.better,
        "n_tasks": differences.count,
        "baseline_mean": base,
        "candidate_mean": pairs.mean("candidate"),
        "delta": delta,
        "relative_delta": delta / abs(base) if base and delta is not None else None,
        # delta is candidate less baseline, the bootstrap's mean the other way round
        "ci_low": _less(0.0, resampled.upper(ALPHA / 2)),
        "ci_high": _less(0.0, resampled.lower(ALPHA / 2)),
        "test": differences.test if differences.count else None,
        "p": differences.p_two_sided,
        "mde": differences.detectable(ALPHA / 2),
        "n_worse": drops.n_above if directed else None,
        "n_better": drops.n_below if directed else None,
        "n_uncovered": pairs.n_uncovered,
        "n_undefined": pairs.n_undefined,
    }


def _spread(pairs: Pairs, spreads: dict[Key, Spread]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for arm in ARMS:
        found[f"n_{arm}"] = int(pairs.shared[f"{arm}_n"].sum())
        values, found[f"{arm}_std"] = spreads[Key(pairs.metric.name, arm)]
        found |= {f"{arm}_{column_of(q)}": v for q, v in zip(QUANTILES, values, strict=True)}
    found["delta_std"] = _less(found["candidate_std"], found["baseline_std"])
    return found


def _less(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else one - other + 0.0


def _verdict(pairs: Pairs, p_adjusted: float | None) -> str:
    if not pairs.differences.count:
        return "not judgeable"
    if pairs.differences.all_zero:
        return "same"
    if p_adjusted is None or p_adjusted >= ALPHA:
        return INCONCLUSIVE
    if pairs.metric.better == "neither":
        return "changed"
    return "worse" if (pairs.drops.mean or 0) > 0 else "better"


def _intervals(found: Sequence[Pairs], arm: str) -> list[tuple[float | None, float | None]]:
    """Return the interval of each metric's mean in an arm: tasks, weighing the same, are clusters."""
    rows = pl.DataFrame(
        {
            "mean": [pairs.mean(arm) for pairs in found],
            "n_scored": [int(pairs.shared[f"{arm}_n"].sum()) for pairs in found],
            "n_clusters": [pairs.shared.height for pairs in found],
            "se2": [_squared_error(pairs, arm) for pairs in found],
            "flag": [pairs.metric.kind == "flag" for pairs in found],
            "low": [pairs.metric.low for pairs in found],
            "high": [pairs.metric.high for pairs in found],
        },
        schema_overrides=dict.fromkeys(("mean", "se2", "low", "high"), pl.Float64),
    )
    return with_intervals(rows).select("ci_low", "ci_high").rows()


def _squared_error(pairs: Pairs, arm: str) -> float | None:
    error = standard_error(pairs.means(arm))
    return None if error is None else error * error


def notes(rows: pl.DataFrame, seed: int, resamples: int) -> list[str]:
    """Say how the intervals and tests were made, and what an inconclusive metric could have shown."""
    listed = counted(rows.height, "metric")
    told = [
        "delta = candidate - baseline, over shared tasks",
        f"95% interval of delta: {METHOD}, {resamples} resamples, seed {seed}",
        f"verdicts: p adjusted for {listed} (Benjamini-Hochberg) < {ALPHA:g}",
    ]
    unsure = rows.filter(pl.col("verdict") == INCONCLUSIVE).select("metric", "mde").rows()
    listed = ", ".join(f"{m} {'unknown' if mde is None else f'{mde:.3g}'}" for m, mde in unsure)
    if unsure:
        told.append(f"inconclusive; the smallest change found with power {POWER:g} (mde): {listed}")
    return told


def facts(arms: Sequence[Arm], pair: str, seed: int, resamples: int) -> dict[str, Any]:
    """Return what the whole rests on."""
    return {
        "exit_code": 0,
        "pair": pair,
        "seed": seed,
        "resamples": resamples,
        "interval": METHOD,
        "level": 1 - ALPHA,
        "power": POWER,
        "adjustment": "Benjamini-Hochberg",
        "arms": [describe(arm) for arm in arms],
    }


def describe(arm: Arm) -> dict[str, Any]:
    """Return an arm as facts: its filter, its policy, its runs and the hash of all it is made from."""
    return {
        "arm": arm.name,
        "filter": arm.filter,
        "policy": arm.policy.hash,
        "n_runs": arm.n_runs,
        "n_unscored": arm.n_unscored,
        "hash": arm.hash,
    }
