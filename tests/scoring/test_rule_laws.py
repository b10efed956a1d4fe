"""What holds of all rules: spellings change no score, the oracle agrees, nonsense is refused."""

from __future__ import annotations

import json
from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from oracle.policies import Made
from scoring.drawing import (
    KINDS,
    PAIRWISE,
    any_arguments,
    captured_or_not,
    cases,
    made,
    policies,
    rules,
    wanted,
)
from scoring.ruling import (
    FEW,
    LEVEL_COLUMNS,
    Case,
    check,
    record,
    scored,
)
from scoring.spelling import policy

from pipeline.errors import InputError, UnknownNameError
from pipeline.policy import parse


def spelled(args: dict[str, Any], way: str) -> Any:
    """The same arguments, written otherwise."""
    if way == "floats":
        return {k: float(v) if type(v) is int and abs(v) < 2**53 else v for k, v in args.items()}
    if way == "key order":
        return dict(reversed(args.items()))
    times = {"text": 1, "text in text": 2}[way]
    text: Any = args
    for _ in range(times):
        text = json.dumps(text, ensure_ascii=times == 2)
    return text


CALLS = [
    ("a", {"x": 1, "y": "00742", "o": {"u": [2, 1], "v": 1.5}}),
    ("a", {"x": 2, "y": "742"}),
    ("b", {"y": " É ", "x": 2**70}),
    ("b", {}),
    ("a", {"x": 1, "y": "00742", "o": {"v": 1.5, "u": [2, 1]}}),
]
WAYS = ("floats", "key order", "text", "text in text")


@pytest.mark.parametrize(
    "told",
    [
        {"match": {}},
        {"match": {"args": "actual_has_expected", "tools": {"b": "names"}}},
        policy({"arg": "y", "strip": True, "number": True}, {"tool": "a", "unordered": True}),
        policy({"tolerance": 0.5}, args="expected_has_actual"),
    ],
)
def test_spelling_arguments_otherwise_changes_no_score(told: dict[str, Any]) -> None:
    expected = [CALLS[i] for i in (0, 2, 1, 3)]
    plain = [{"tool_name": name, "tool_args": args} for name, args in expected]
    records = [record(0, plain, [Made(name, args) for name, args in CALLS])]
    for way, other in product(WAYS, repeat=2):
        respelled = [
            {"tool_name": name, "tool_args": spelled(args, other)} for name, args in expected
        ]
        steps = [Made(name, spelled(args, way)) for name, args in CALLS]
        records.append(record(len(records), respelled, steps))
    rows = [{name: row[name] for name in LEVEL_COLUMNS} for row in scored(told, records)]
    assert len(rows) == 1 + len(WAYS) ** 2
    assert rows == [rows[0]] * len(rows)
    assert rows[0]["tp"] == 4  # every expected call happened


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ({"arg": "x"}, "rule 1: says nothing"),
        ({"default": 1}, "rule 1: default needs one argument's name"),
        ({"arg": "x.*", "default": 1}, "rule 1: default needs one argument's name"),
        ({"tolerance": -0.1}, "rule 1: tolerance is -0.1"),
        ({"tolerance": float("inf")}, "rule 1: tolerance is inf"),
        ({"tolerance": float("nan")}, "rule 1: tolerance is nan"),
        ({"case": "upper"}, "match.rule"),
        ({"round": 1.5}, "match.rule"),
        ({"pattern": "a.c"}, "match.rule"),
    ],
)
def test_a_rule_that_cannot_be_meant_is_refused(told: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        parse(policy(told), "policy.toml")


def test_a_kind_nobody_knows_is_refused_by_name() -> None:
    with pytest.raises(UnknownNameError, match="strips"):
        parse(policy({"strips": True}), "policy.toml")


@settings(FEW)
@given(policies(), cases(wanted(any_arguments), made(captured_or_not), longest=5, most=20))
def test_rules_of_every_kind_agree_with_the_oracle(told: dict[str, Any], some: list[Case]) -> None:
    check(told, some)


@settings(FEW)
@given(
    policies(
        rules(tuple(kind for kind in KINDS if kind not in PAIRWISE)), most=8, modes=("exact",)
    ),
    cases(wanted(any_arguments), made(captured_or_not), longest=1, most=40),
)
def test_many_rules_at_once_agree_with_the_oracle(told: dict[str, Any], some: list[Case]) -> None:
    check(told, some)
