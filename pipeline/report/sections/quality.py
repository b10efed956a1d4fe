"""How far the figures of a report can be trusted: what is missing from them, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from pipeline.landing.model import REASONS
from pipeline.report.markup import Column, columns, facts, note, section, table, text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pipeline.current import Current
    from pipeline.metrics.metric import Metric
    from pipeline.report.found import Found
    from pipeline.tables.result import Result

MOST = 50

STATUSES = {
    "scored": "scored against a reference",
    "no_reference": "no reference: path metrics only",
    "args_not_captured": "arguments that the reference gives were not captured: names only",
    "error": "the run failed for infrastructure reasons: path metrics only",
}

ORACLES = {
    "task": "the task says how many steps it needs",
    "reference": "counted from a complete reference",
    "estimate": "estimated from the run's own tools: length_efficiency is a rough figure",
}
"""By whose word the fewest steps are known."""


NULLS = "null values: "


def quality(state: Current, found: Found, totals: Result, known: Mapping[str, Metric]) -> str:
    """Return the section: what did not land, is not scored, has no value, or is estimated."""
    batches = state.batches
    pairs = [
        ("batches", len(batches)),
        ("batches without scores", len(state.unscored)),
        ("runs without scores", found.overview["n_unscored"]),
        ("runs a later landing replaced", len(state.superseded)),
        ("runs left out as landed before", sum(b.manifest["duplicates"] for b in batches)),
        ("records rejected", int(found.rejects["n_records"].sum())),
        ("calls without their arguments", int(found.tools["n_not_captured"].sum())),
        ("runs with an estimated oracle", _estimated(found.oracles)),
    ]
    boxed = [
        facts(pairs),
        _explained("Rejected records", found.rejects, "reason", REASONS),
        _explained("Score statuses", found.statuses, "status", STATUSES),
        _nulls(totals, known),
        _uncaptured(found.tools),
        _explained("Fewest steps: by whose word", found.oracles, "source", ORACLES),
    ]
    return section("Data quality", f'<div class="box">\n{"".join(boxed)}</div>\n', name="quality")


def _explained(title: str, rows: pl.DataFrame, key: str, meanings: Mapping[str, str]) -> str:
    if rows.is_empty():
        return ""
    why = Column("why", [text(meanings.get(value)) for value in rows[key]])
    return f"<h3>{title}</h3>\n{table([*columns(rows), why], title)}"


def _nulls(totals: Result, known: Mapping[str, Metric]) -> str:
    """Return which metrics miss values, how often for which reason, and when they do by rule."""
    missing = totals.rows.filter((pl.col("n_null") > 0) | (pl.col("n_error") > 0))
    if missing.is_empty():
        return ""
    reasons = null_reasons(totals.notes)
    parts = [
        *columns(missing, ["metric", "n_null", "n_error"]),
        Column(
            "why null",
            [
                f"{text(reasons.get(name, ''), 300)}<small>{text(known[name].null)}</small>"
                for name in missing["metric"]
            ],
        ),
    ]
    return f"<h3>Missing values</h3>\n{table(parts, 'Missing values')}"


def null_reasons(notes: Sequence[str]) -> dict[str, str]:
    """Return why values are null, by metric, as the notes of an aggregate tell it.

    >>> null_reasons(["policy: x", "null values: f1: no reference 2; error_rate: no calls 1"])
    {'f1': 'no reference 2', 'error_rate': 'no calls 1'}
    """
    told = next((said.removeprefix(NULLS) for said in notes if said.startswith(NULLS)), "")
    return dict(part.split(": ", 1) for part in told.split("; ") if part)


def _uncaptured(tools: pl.DataFrame) -> str:
    named = tools.filter(pl.col("n_not_captured") > 0)
    rows = named.select("tool_name", "n_not_captured", "n_calls")
    if rows.is_empty():
        return ""
    more = [note(f"the first {MOST} of {rows.height:,} tools")] if rows.height > MOST else []
    body = table(columns(rows.head(MOST)), "Arguments not captured")
    return f"<h3>Arguments not captured</h3>\n{body}{''.join(more)}"


def _estimated(oracles: pl.DataFrame) -> int:
    return int(oracles.filter(pl.col("source") == "estimate")["n_runs"].sum())
