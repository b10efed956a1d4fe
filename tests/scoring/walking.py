"""Generated and landed runs as the oracle takes them, policies as TOML and as its options."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from hypothesis import strategies as st
from oracle import NOT_CAPTURED, Invalid, Step, path_metrics
from strategies import step_lists

from pipeline.lake import Lake
from pipeline.metrics.registry import metrics

if TYPE_CHECKING:
    from pathlib import Path

PATH = [name for name in path_metrics([]) if name in metrics()]
"""Every column that the oracle has of a path."""

OPTIONS: dict[tuple[str, str], tuple[str, list[Any]]] = {
    ("backtracking", "window"): ("window", [1, 2, 20]),
    ("backtracking", "window_unit"): ("window_unit", ["calls"]),
    ("backtracking", "retries"): ("retries", ["exempt"]),
    ("backtracking", "similarity"): ("similarity", [0.3, 0.7, 0.8, 1.0]),
    ("backtracking", "exempt"): ("exempt", [["b"], ["[a]", "c*"]]),
    ("backtracking", "progress_args"): ("progress_args", [["x"], ["y", "cursor"]]),
    ("backtracking", "abandon_patterns"): ("abandon_patterns", [["(?i)give up", "total$"]]),
    ("errors", "patterns"): ("error_patterns", [["^Error"], ["found", "^$"]]),
    ("errors", "empty_output"): ("empty_output", [True]),
    ("recovery", "max_steps"): ("max_recovery", [1, 3]),
    ("path", "output_used"): ("used", [True]),
}
"""Keys of the policy, the oracle's name of each, and values that are not the default."""

WEIGHTS = {
    "length": 0.1,
    "precision": 0.3,
    "backtracking": 0.0,
    "recovery": 2.5,
    "tokens": 0.1,
    "errors": 1,
}


@st.composite
def policies(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    """A policy as TOML, and the same as the oracle's options."""
    told: dict[str, dict[str, Any]] = {}
    options: dict[str, Any] = {}
    for section, key in draw(st.lists(st.sampled_from(list(OPTIONS)), unique=True, max_size=6)):
        name, values = OPTIONS[section, key]
        value = draw(st.sampled_from(values))
        told.setdefault(section, {})[key] = value
        options[name] = value
    if draw(st.booleans()):
        told["composite"] = WEIGHTS
        options["weights"] = {name: Fraction(str(weight)) for name, weight in WEIGHTS.items()}
    return toml(told), options


def toml(told: dict[str, dict[str, Any]]) -> str:
    """Spell sections; JSON's strings, numbers, truths and lists are TOML's."""
    lines = []
    for section, keys in told.items():
        lines += [f"[{section}]", *(f"{key} = {json.dumps(value)}" for key, value in keys.items())]
    return "\n".join(lines)


def walked(lake: Path) -> dict[str, list[Step]]:
    """Return the steps of every run of a lake, as the oracle takes them."""
    found: dict[str, list[Step]] = {}
    for batch in Lake.open(lake).batches():
        runs, steps = (pl.read_parquet(batch.file(table)) for table in ("runs", "steps"))
        found |= {run_id: [] for run_id in runs["run_id"]}
        for row in steps.to_dicts():
            found[row["run_id"]].append(_step(row))
    return found


def _step(row: dict[str, Any]) -> Step:
    args: Any = None
    if row["kind"] == "tool_call":
        decoded = {"ok": json.loads, "invalid": Invalid, "not_captured": lambda _: NOT_CAPTURED}
        args = decoded[row["args_status"]](row["tool_args"])
    told = {name: row[name] for name in Step._fields if name in row}
    return Step(**told, name=row["tool_name"], args=args)


outputs = st.sampled_from(
    [None, "", " \n", "Error: no such seat", "nothing found", "order 4711: x 12.5"]
)
texts = st.sampled_from([None, "I give up", "order 4711 is paid", "12.5 in total", "ERROR", ""])


@st.composite
def told_runs(draw: st.DrawFn) -> list[Step]:
    """Runs whose calls have outputs, whose models have texts, and whose turns are known."""
    steps = draw(step_lists)
    size = len(steps)
    captured = draw(st.booleans())
    out = draw(st.lists(outputs if captured else st.none(), min_size=size, max_size=size))
    said = draw(st.lists(texts, min_size=size, max_size=size))
    turns = draw(st.lists(st.sampled_from([None, 0, 1]), min_size=size, max_size=size))
    return [
        step._replace(
            output=o if step.kind == "tool_call" else None,
            content=c if step.kind != "tool_call" else None,
            turn_index=t,
            is_error=bool(step.is_error),  # in our own format, silence is success
        )
        for step, o, c, t in zip(steps, out, said, turns, strict=True)
    ]


def record(step: Step) -> dict[str, Any]:
    """Spell an oracle's step in our own format."""
    told = {name: value for name, value in step._asdict().items() if name not in ("name", "args")}
    if step.kind != "tool_call":
        return told | {"is_error": None}
    given = {} if step.args is NOT_CAPTURED or step.args is None else {"tool_args": step.args}
    if isinstance(step.args, Invalid):
        given = {"tool_args": step.args.text}
    return told | {"tool_name": step.name} | given


def marked(lake: Path) -> list[dict[str, Any]]:
    """Return every row of the lake's call scores."""
    return pl.concat(
        [pl.read_parquet(file) for file in lake.glob("scores/*/*/call_scores.parquet")]
    ).to_dicts()


def agree(found: dict[str, Any], right: dict[str, Any]) -> None:
    """Every path column of a scored run is the oracle's."""
    wrong = {
        name: (found[name], right[name])
        for name in PATH
        if (found[name] is None) != (right[name] is None)
        or (right[name] is not None and found[name] != pytest.approx(right[name], abs=1e-12))
    }
    assert wrong == {}
