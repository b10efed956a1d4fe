"""The section of tools: how each fared, and what was called where another was expected."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from pipeline.metrics.ratio import per
from pipeline.report.markup import Column, columns, note, section, table, text

if TYPE_CHECKING:
    from pipeline.report.found import Found

MOST_TOOLS = 100
MOST_PAIRS = 20
NAMED = 3
OTHER_ARGUMENTS = "the same with other arguments"
NO_CALL = "no call"


def tools(found: Found) -> str:
    """Return the section."""
    called, confused = found.tools.drop("n_not_captured"), found.confused
    if called.is_empty():
        return section("Tools", note("no tool was called"), *_pairs(confused), name="tools")
    parts = [
        *columns(called.head(MOST_TOOLS)),
        *_instead(called.head(MOST_TOOLS), confused),
    ]
    more = [note(f"{called.height - MOST_TOOLS} more tools")] if called.height > MOST_TOOLS else []
    return section("Tools", table(parts, "Tools"), *more, *_pairs(confused), name="tools")


def _instead(called: pl.DataFrame, confused: pl.DataFrame) -> list[Column]:
    """Return for each tool what was called where it was expected, most often first."""
    if confused.is_empty():
        return []
    told = {
        str(expected): ", ".join(f"{_name(*row[:2])} {row[2]:,}" for row in part.rows()[:NAMED])
        for (expected,), part in confused.group_by("expected", maintain_order=True)
    }
    return [Column("called instead", [text(told.get(name, "")) for name in called["tool_name"]])]


def _pairs(confused: pl.DataFrame) -> list[str]:
    """Return the table of the most confused pairs, with their share of what a tool missed."""
    if confused.is_empty():
        return []
    missed = pl.col("n_calls").sum().over("expected")
    rows = confused.with_columns(share=per(pl.col("n_calls"), missed)).head(MOST_PAIRS)
    parts = [
        Column("expected", [text(name) for name in rows["expected"]]),
        Column("called", [text(_name(*pair)) for pair in rows.select("expected", "actual").rows()]),
        *columns(rows, ["n_calls", "n_runs"]),
        Column("share of its misses", [text(share) for share in rows["share"]], number=True),
    ]
    told = "expected calls that nothing matched, and the call in their place: between the same matched calls, those of one tool face each other first, the rest in order"
    more = (
        [note(f"the first {MOST_PAIRS} of {confused.height:,} pairs")]
        if confused.height > MOST_PAIRS
        else []
    )
    return [
        "<h3>Most confused calls</h3>\n",
        table(parts, "Most confused calls"),
        note(told),
        *more,
    ]


def _name(expected: str, actual: str | None) -> str:
    if actual is None:
        return NO_CALL
    return OTHER_ARGUMENTS if actual == expected else actual
