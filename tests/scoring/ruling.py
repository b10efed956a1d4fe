"""Runs and policies as the policy oracle spells them: landed, scored, and held against it."""

from __future__ import annotations

import json
import tempfile
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from hypothesis import settings
from making import scores_of, write
from oracle import NOT_CAPTURED, Invalid
from oracle.policies import Made, Outcome, Wanted, duplicates, outcome

from pipeline.landing.land import land
from pipeline.metrics.registry import metrics
from pipeline.scoring import score

if TYPE_CHECKING:
    from collections.abc import Sequence

    from oracle import Arguments

FEW = settings(max_examples=max(8, settings.default.max_examples // 8))
"""Every example lands and scores a lake of several runs."""

CLOSE = 1e-12
LEVEL_COLUMNS = [
    name for name, metric in metrics().items() if metric.family in ("ordered", "overlap")
]


class Case(NamedTuple):
    """One run and its reference; `last_turn` is the user turn of its final answer."""

    expected: list[Wanted]
    actual: list[Made]
    last_turn: int = 0


def toml(value: Any) -> str:
    """Spell a value of a policy file; tables are inline."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(k)} = {toml(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


def policy_text(policy: dict[str, Any]) -> str:
    text = "\n".join(f"{json.dumps(key)} = {toml(value)}" for key, value in policy.items())
    assert tomllib.loads(text) == policy
    return text


def _arguments(args: Arguments) -> dict[str, Any]:
    if args is NOT_CAPTURED or args is None:
        return {}
    return {"tool_args": args.text if isinstance(args, Invalid) else args}


def expected_call(call: Wanted) -> dict[str, Any]:
    fields = {"turn_index": call.turn, "optional": call.optional, "compare_args": call.compare}
    return {"tool_name": call.name, **_arguments(call.args), **fields}


def step(call: Made) -> dict[str, Any]:
    fields = {"turn_index": call.turn, "response_index": call.response, "actor": call.actor}
    return {"kind": "tool_call", "tool_name": call.name, **_arguments(call.args), **fields}


def record(
    number: int, references: Any, actual: Sequence[Made], last_turn: int = 0
) -> dict[str, Any]:
    last = {"kind": "final", "content": "done", "turn_index": last_turn}
    return {"run_id": f"r{number:04}", "steps": [*map(step, actual), last], "expected": references}


def scored(policy: dict[str, Any], records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Land and score records under a policy; one row each, in their order."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        (root / "policy.toml").write_text(policy_text(policy), encoding="utf-8")
        land(
            [write(root / "runs.jsonl", records)],
            root / "lake",
            format="trajtab",
            strict=True,
            workers=1,
        )
        score(root / "lake", policy=str(root / "policy.toml"))
        return scores_of(root / "lake", str(root / "policy.toml")).to_dicts()


def judged(policy: dict[str, Any], cases: Sequence[Case]) -> list[dict[str, Any]]:
    """Score cases, each with its own reference."""
    return scored(
        policy,
        [
            record(i, [expected_call(e) for e in case.expected], case.actual, case.last_turn)
            for i, case in enumerate(cases)
        ],
    )


def near(found: Any, right: Any) -> bool:
    if found is None or right is None:
        return found is right
    return bool(abs(found - float(right)) <= CLOSE)


def differences(found: dict[str, Any], right: dict[str, Any]) -> dict[str, tuple[Any, Any]]:
    """Columns in which a score row is not what it should be: (found, right)."""
    return {
        name: (found[name], value) for name, value in right.items() if not near(found[name], value)
    }


def among(found: dict[str, Any], choices: Sequence[dict[str, Any]]) -> bool:
    return any(not differences(found, choice) for choice in choices)


def shown(found: dict[str, Any], choices: Sequence[dict[str, Any]]) -> str:
    return f"{ {name: found[name] for name in choices[0]} } is none of {choices}"


def agrees(found: dict[str, Any], told: Outcome) -> None:
    """Hold one score row against what the oracle admits."""
    assert not differences(found, told.fixed)
    for choices in (told.choices, told.name_choices):
        assert among(found, choices), shown(found, choices)
    value = found["call_accuracy_position"]
    assert (
        any(near(value, right) for right in told.by_position) if told.by_position else value is None
    ), f"call_accuracy_position {value} is none of {told.by_position}"


def check(policy: dict[str, Any], cases: Sequence[Case]) -> list[dict[str, Any]]:
    """Score cases and hold every row against the oracle; returns the rows."""
    rows = judged(policy, cases)
    for row, case in zip(rows, cases, strict=True):
        agrees(row, outcome(policy, *case))
        heard = policy.get("match", {}).get("actors")
        counted = [c for c in case.actual if not heard or (c.actor or "agent") in heard]
        assert row["n_duplicate"] == duplicates(policy, counted)
    return rows
