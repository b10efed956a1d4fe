"""A row of a spreadsheet as the record of an annotation.

Columns are called as in the view `annotations`, so that what a query wrote as CSV lands again, or
by the dotted names of the record. Labels are a JSON object in `labels`, or a column each
(`labels.NAME`); a column of another name becomes a label, as a field that nobody knows does.
"""

from __future__ import annotations

import re
from contextlib import suppress
from math import isfinite
from typing import Any

import msgspec

from pipeline.landing.model import RejectError
from pipeline.schema import DIMENSIONS

LABEL = "labels."
STEPS = ("critical_steps", "backtrack_steps")
NUMBERS = ("overall_quality", "annotation_time_seconds")
OF_THE_LAKE = ("run_key", "content_key", "source_path", "source_line", "landed_at")
"""Columns that a query of the view has beside what was said."""

_LISTED = re.compile(r"\s*\[?\s*(\d{1,20}(?:[\s,;]+\d{1,20})*)?\s*\]?\s*")
"""Steps: Python reads no number of thousands of digits, and no step has 20."""
_SCORE = re.compile(r"(?:dimensions\.)?(\w+?)(?:\.score)?")
_NOTE = re.compile(r"(?:dimensions\.)?(\w+?)(?:_note|\.note)")


def record_of(cells: dict[str, str]) -> dict[str, Any]:
    """Return the record that a row stands for.

    >>> record_of(
    ...     {
    ...         "trajectory_id": "r1",
    ...         "efficiency": "3",
    ...         "critical_steps": "4 6",
    ...         "labels.shift": "night",
    ...     }
    ... )
    {'trajectory_id': 'r1', 'critical_steps': [4, 6], 'dimensions': {'efficiency': {'score': 3}}, 'labels': {'shift': 'night'}}

    Raises:
        RejectError: `labels` is no JSON object.
    """
    record: dict[str, Any] = {}
    judged: dict[str, dict[str, Any]] = {}
    labels: dict[str, Any] = _object(cells.get("labels"))
    for name, cell in cells.items():
        score, note = _SCORE.fullmatch(name), _NOTE.fullmatch(name)
        if name.startswith(LABEL) and name != LABEL:
            labels[name.removeprefix(LABEL)] = cell
        elif note and note[1] in DIMENSIONS:
            judged.setdefault(note[1], {})["note"] = cell
        elif score and (score[1] in DIMENSIONS or name.startswith("dimensions.")):
            judged.setdefault(score[1], {})["score"] = _number(cell)
        elif name not in ("labels", *OF_THE_LAKE):
            record[name] = _value(name, cell)
    return {
        **record,
        **({"dimensions": judged} if judged else {}),
        **({"labels": labels} if labels else {}),
    }


def _value(name: str, cell: str) -> Any:
    if name in NUMBERS:
        return _number(cell)
    listed = _LISTED.fullmatch(cell) if name in STEPS else None
    return cell if listed is None else [int(step) for step in re.findall(r"\d+", listed[1] or "")]


def _number(cell: str) -> int | float | str:
    """Return a number; what is none stays text, and is refused as such.

    `nan`, `inf` and `1e999` are none, nor is `1_0`, which Python alone reads as 10.
    """
    for kind in (int, float):
        with suppress(ValueError, OverflowError):
            number = kind(cell)
            if isfinite(number) and "_" not in cell:
                return number
    return cell


def _object(cell: str | None) -> dict[str, Any]:
    if cell is None:
        return {}
    try:
        return msgspec.json.decode(cell, type=dict[str, Any])
    except msgspec.MsgspecError as error:
        raise RejectError("bad_value", f"labels is no JSON object: {error}") from error
