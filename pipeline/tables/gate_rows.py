"""One gate as a row: the verdict, and every number it rests on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pipeline.tables.gate_rules import ALPHA, allowed, bounds, judge, own

if TYPE_CHECKING:
    import polars as pl

    from pipeline.tables.gate_file import Gate
    from pipeline.tables.pairs import Pairs


def gate_row(gate: Gate, pairs: Pairs, tasks: pl.DataFrame, *, compared: bool) -> dict[str, Any]:
    """Return the row of one gate; `tasks` has the names of tasks."""
    found = own(pairs, tasks)
    verdict, reason = judge(gate, pairs, found, compared=compared)
    row = {
        "metric": gate.metric,
        "rule": gate.rule,
        "verdict": verdict,
        "reason": reason,
        "coverage": pairs.coverage if compared else pairs.own_coverage,
        "n_uncovered": pairs.n_uncovered if compared else pairs.n_lost,
        **found._asdict(),
    }
    return row | _compared(gate, pairs) if compared else row


def _compared(gate: Gate, pairs: Pairs) -> dict[str, Any]:
    drops, limit = pairs.drops, allowed(gate, pairs)
    lower, upper = bounds(drops)
    return {
        "n_tasks": drops.count,
        "n_undefined": pairs.n_undefined,
        "baseline_mean": pairs.mean("baseline"),
        "candidate_mean": pairs.mean("candidate"),
        "drop": drops.mean,
        "allowed": limit,
        "lower": lower,
        "upper": upper,
        "test": drops.test if drops.count else None,
        "p": drops.p_above,
        "mde": drops.detectable(ALPHA, limit or 0.0),
        "n_worse": drops.n_above,
        "n_better": drops.n_below,
    }
