"""Every null of a table has a reason, counted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from making import call, run, want, write

from pipeline.landing.land import land
from pipeline.scoring import score
from pipeline.tables.aggregate import aggregate

if TYPE_CHECKING:
    from pathlib import Path

HIDDEN = {"kind": "tool_call", "tool_name": "a"}


def test_reasons_are_counted_and_add_up(tmp_path: Path) -> None:
    records = [
        run("idle", expected=[]),
        run("plain", call("a"), {"kind": "llm_call", "input_tokens": 3}, expected=[want("a")]),
        run("alone", call("a")),
        run("hidden", HIDDEN, expected=[want("a")]),
        run("broken", call("a"), status="error", expected=[want("a")]),
    ]
    land([write(tmp_path / "a.jsonl", records)], tmp_path / "lake")
    score(tmp_path / "lake")
    names = ["f1", "error_rate", "tool_precision", "total_tokens", "n_calls"]
    found = aggregate(tmp_path / "lake", metrics=names)
    (note,) = [note for note in found.notes if note.startswith("null values: ")]
    assert note.removeprefix("null values: ").split("; ") == [
        "f1: arguments not captured 1, no reference 1",
        "error_rate: no calls 1",
        "tool_precision: arguments not captured 1, no calls 1",
        "total_tokens: no tokens logged or more than 64 bits 4",
    ]
    counted = dict(found.rows.select("metric", "n_null").rows())
    assert counted == {
        "f1": 2,
        "error_rate": 1,
        "tool_precision": 2,
        "total_tokens": 4,
        "n_calls": 0,
    }
