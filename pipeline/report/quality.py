"""How far the figures of a report can be trusted: what is missing from them, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from pipeline.landing.model import REASONS
from pipeline.report.markup import Column, columns, facts, section, table, text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pipeline.current import Current
    from pipeline.lake import Lake
    from pipeline.metrics.metric import Metric
    from pipeline.report.found import Found

STATUSES = {
    "scored": "scored against a reference",
    "no_reference": "no reference: path metrics only",
    "args_not_captured": "arguments that the reference gives were not captured: names only",
    "error": "the run failed for infrastructure reasons: path metrics only",
}


def quality(
    lake: Lake, state: Current, found: Found, totals: pl.DataFrame, known: Mapping[str, Metric]
) -> str:
    """Return the section: what did not land, is not scored, or has no value."""
    batches = lake.batches()
    pairs = [
        ("batches", len(batches)),
        ("batches without scores", len(state.unscored)),
        ("runs without scores", found.overview["n_unscored"]),
        ("runs a later landing replaced", len(state.superseded)),
        ("runs left out as landed before", sum(b.manifest["duplicates"] for b in batches)),
        ("records rejected", int(found.rejects["n_records"].sum())),
    ]
    return section(
        "Data quality",
        facts(pairs),
        _rejected(found.rejects),
        _statuses(found.statuses),
        _nulls(totals, known),
    )


def _rejected(rejects: pl.DataFrame) -> str:
    if rejects.is_empty():
        return ""
    meaning = Column("why", [text(REASONS.get(reason)) for reason in rejects["reason"]])
    return table([*columns(rejects), meaning], "Rejected records")


def _statuses(statuses: pl.DataFrame) -> str:
    if statuses.is_empty():
        return ""
    meaning = Column("why", [text(STATUSES.get(status)) for status in statuses["status"]])
    return table([*columns(statuses), meaning], "Score statuses")


def _nulls(totals: pl.DataFrame, known: Mapping[str, Metric]) -> str:
    """Return which metrics miss values, and when they do."""
    missing = totals.filter((pl.col("n_null") > 0) | (pl.col("n_error") > 0))
    if missing.is_empty():
        return ""
    why = Column("null", [text(known[name].null) for name in missing["metric"]])
    return table([*columns(missing, ["metric", "n_null", "n_error"]), why], "Missing values")
