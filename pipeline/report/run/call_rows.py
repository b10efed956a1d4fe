"""One row of a comparison: an expected call, an actual one, and what sets them apart."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import polars as pl

from pipeline.metrics.metric import NAMES
from pipeline.redact import redact
from pipeline.report.run.alignment import Aligned, align
from pipeline.report.run.counted import calls_of, counted
from pipeline.report.run.explain import basis
from pipeline.report.run.reasons import Facing

if TYPE_CHECKING:
    from pipeline.metrics.metric import Metric
    from pipeline.report.run.differences import Differences
    from pipeline.report.run.unit import ActualCall, ExpectedCall, Unit

Types: TypeAlias = dict[str, pl.DataType | type[pl.DataType]]
Row: TypeAlias = dict[str, Any]

DIFFERENCE: Types = {
    "path": pl.String,
    "what": pl.String,
    "expected": pl.String,
    "actual": pl.String,
    "rules": pl.List(pl.String),
}
CALL: Types = {
    "turn_index": pl.UInt32,
    "marker": pl.String,
    "expected_position": pl.UInt32,
    "step_index": pl.UInt32,
    "tool": pl.String,
    "expected_args": pl.String,
    "expected_args_status": pl.String,
    "actual_args": pl.String,
    "actual_args_status": pl.String,
    "optional": pl.Boolean,
    "args_mode": pl.String,
    "rule": pl.String,
    "differs": pl.List(pl.Struct(DIFFERENCE)),
}
"""What is said of each call, or of two that face each other."""

SIGNS = {
    "equal": ("=", "equal"),
    "args_differ": ("~", "arguments differ"),
    "not_captured": ("?", "arguments not captured"),
    "moved": (">", "moved"),
    "uncounted": ("!", "equal, not counted here"),
    "missing": ("-", "missing"),
    "optional": ("o", "optional, left out"),
    "extra": ("+", "extra"),
}
"""How each marker is drawn, and what it is called."""

ONLY_NAMES = "tool name, all the metric looks at"

CREDITED: Types = {**CALL, "credit": pl.Float64}
"""The same, and what it counts in a metric."""


def aligned(unit: Unit, differences: Differences) -> list[Row]:
    """Return the calls of a unit along their longest common subsequence."""
    rows = align(calls_of(unit), lambda i, j: _distance(unit, i, j, differences))
    return [_row(unit, row, differences) for row in rows]


def credited(metric: Metric, unit: Unit, differences: Differences) -> list[Row]:
    """Return the calls of a unit paired as a metric pairs them."""
    found = counted(metric, unit, lambda i, j: _distance(unit, i, j, differences))
    rows = [{**_row(unit, row, differences), "credit": credit} for row, credit in found]
    return [_by_name(row) for row in rows] if basis(metric)[1] == NAMES else rows


def _by_name(row: Row) -> Row:
    """Say that a metric of tool names looks at nothing else."""
    return {**row, "rule": ONLY_NAMES, "differs": []} if row["differs"] else row


def _distance(unit: Unit, i: int, j: int, differences: Differences) -> int:
    return differences.distance(_facing(unit.expected[i], unit.actual[j]))


def _facing(expected: ExpectedCall, actual: ActualCall) -> Facing:
    return Facing(expected.tool, expected.arguments, actual.arguments, expected.wanted.compared)


def _row(unit: Unit, row: Aligned, differences: Differences) -> Row:
    expected = None if row.expected is None else unit.expected[row.expected]
    actual = None if row.actual is None else unit.actual[row.actual]
    tool = expected.tool if expected else actual.tool if actual else ""
    return {
        "turn_index": unit.turn,
        "marker": _marker(row, actual),
        "tool": tool,
        "args_mode": differences.rules.mode(tool),
        **_expected(expected),
        **_actual(actual),
        **_between(unit, row, differences),
    }


def _expected(call: ExpectedCall | None) -> Row:
    return {
        "expected_position": call and call.position,
        "expected_args": call and _clean(call.arguments.text),
        "expected_args_status": call and call.arguments.status,
        "optional": call and call.wanted.optional,
    }


def _actual(call: ActualCall | None) -> Row:
    return {
        "step_index": call and call.step_index,
        "actual_args": call and _clean(call.arguments.text),
        "actual_args_status": call and call.arguments.status,
    }


def _between(unit: Unit, row: Aligned, differences: Differences) -> Row:
    """Say what sets two calls apart, or which rule made them equal."""
    told: Row = {"rule": None, "differs": []}
    if row.expected is None or row.actual is None:
        return told
    calls = _facing(unit.expected[row.expected], unit.actual[row.actual])
    if unit.levels[""].masks[row.actual] >> row.expected & 1:
        return {**told, "rule": differences.reason(calls)}
    return {**told, "differs": [found._asdict() for found in differences.between(calls)]}


def _marker(row: Aligned, actual: ActualCall | None) -> str:
    hidden = actual is not None and actual.arguments.status == "not_captured"
    return "not_captured" if hidden and row.marker == "args_differ" else row.marker


def _clean(text: str | None) -> str | None:
    return None if text is None else redact(text)
