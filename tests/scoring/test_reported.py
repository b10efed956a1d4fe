"""Values that others reported and the worked examples, every column in every mode."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from empties import EMPTY as EMPTY_LISTS
from making import call, run, want
from oracle.policies import Made, Wanted
from scoring.drawing import MODES
from scoring.ruling import (
    LEVEL_COLUMNS,
    Case,
    check,
    differences,
    judged,
    scored,
)
from scoring.spelling import named, needed

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

OVERLAP = ("tp", "precision", "recall", "f1", "any_order_match", "unordered_match", "only_expected")
SETS = ("set_precision", "set_recall", "set_f1", "set_jaccard")

# column: both empty, E empty and A not, A empty and E not; the last two with the calls a, a, b
EMPTY = EMPTY_LISTS | {"n_duplicate": (0, 1, 0)}


@pytest.mark.parametrize("unit", ["run", "turn"])
@pytest.mark.parametrize("mode", MODES)
def test_empty_lists(mode: str, unit: str) -> None:
    rows = judged(
        {"match": {"args": mode, "unit": unit}},
        [Case([], []), Case([], named("aab")), Case(needed("aab"), [])],
    )
    for at, row in enumerate(rows):
        right: dict[str, Any] = {name: values[at] for name, values in EMPTY.items()}
        right |= {f"{name}_names": value for name, value in right.items()}
        if at == 2 and mode.endswith(("expected", "actual")):
            right |= dict.fromkeys(SETS)  # a subset mode is only a relation
        both = {"call_accuracy": EMPTY["f1"][at], "call_accuracy_position": EMPTY["f1"][at]}
        sizes = {"n_expected": (0, 0, 3)[at], "n_calls": (0, 3, 0)[at]}
        assert not differences(row, {**right, **both, **sizes})
        assert row["status"] == "scored"


BOOKING = Case(
    [Wanted("search", {"date": 12}), Wanted("book", {"seat": 1})],
    [
        Made("search", {"date": 21}),
        Made("search", {"date": 21}),
        Made("book", {"seat": 1, "extra": 0}),
    ],
)

NOTHING = {
    **dict.fromkeys(
        (
            "exact_match",
            "prefix_match",
            "position_match",
            "in_order",
            "in_order_match",
            "lcs",
            "lcs_f1",
        ),
        0,
    ),
    **dict.fromkeys((*OVERLAP, *SETS), 0),
    "n_missing": 2,
    "n_extra": 3,
}

BY_NAMES = {
    "exact_match": 0, "prefix_match": 1 / 3, "position_match": 1 / 3, "in_order": 1, "in_order_match": 1,
    "lcs": 1, "lcs_f1": 4 / 5, "tp": 2, "precision": 2 / 3, "recall": 1, "f1": 4 / 5, "any_order_match": 1,
    "unordered_match": 0, "only_expected": 0, **dict.fromkeys(SETS, 1), "n_missing": 0, "n_extra": 1,
}  # fmt: skip

BOOKED = {
    "exact": {**NOTHING, "call_accuracy": 1 / 3, "call_accuracy_position": 1 / 6},
    "names": {**BY_NAMES, "call_accuracy": 2 / 3, "call_accuracy_position": 1 / 3},
    # the seat is booked, whatever else: 1 of 2 expected and of 3 actual calls, in the third place
    "actual_has_expected": {
        **NOTHING, **dict.fromkeys(SETS), "lcs": 1 / 2, "lcs_f1": 2 / 5, "tp": 1, "precision": 1 / 3,
        "recall": 1 / 2, "f1": 2 / 5, "n_missing": 1, "n_extra": 2, "call_accuracy": 1 / 2,
        "call_accuracy_position": 1 / 6,
    },
    "expected_has_actual": {
        **NOTHING, **dict.fromkeys(SETS), "call_accuracy": 1 / 3, "call_accuracy_position": 1 / 6
    },
}  # fmt: skip


@pytest.mark.parametrize("mode", MODES)
def test_booking_agent(mode: str) -> None:
    """The worked example of the specification, every column in every mode."""
    (row,) = check({"match": {"args": mode}}, [BOOKING])
    names = {f"{name}_names": value for name, value in BY_NAMES.items()}
    assert not differences(row, {**BOOKED[mode], **names, "n_expected": 2, "n_calls": 3})
    assert (row["n_duplicate"], row["n_duplicate_names"]) == (1, 1)
    assert {name for name in LEVEL_COLUMNS if row[name] is None} == {
        *(name for name in LEVEL_COLUMNS if name.endswith("_turns")),
        *(name for name, value in BOOKED[mode].items() if value is None),
    }


SMALL = [
    pytest.param("ww", "ww", {"f1": 1}, id="M1"),
    pytest.param("ww", "w", {"precision": 1, "recall": 1 / 2, "f1": 2 / 3}, id="M2"),
    pytest.param("w", "wuv", {"precision": 1 / 3, "recall": 1, "f1": 1 / 2}, id="M3"),
    pytest.param("w", "wc", {"exact_match": 0, "in_order_match": 1, "f1": 2 / 3}, id="M4"),
    pytest.param("mw", "wm", {"exact_match": 0, "any_order_match": 1}, id="M5"),
    pytest.param("abca", "adca", {"lcs": 3 / 4, "f1": 3 / 4, "exact_match": 0}, id="M7"),
    pytest.param("wt", "we", {"precision": 1 / 2, "recall": 1 / 2, "f1": 1 / 2}, id="M11"),
    pytest.param("ab", "abb", {"any_order_match": 1, "only_expected": 0}, id="M13"),
    pytest.param("abc", "ac", {"in_order": 1 / 3, "lcs": 2 / 3}, id="the walk stops"),
    pytest.param(
        "pqrs", "qrsp", {"in_order": 1 / 4, "lcs": 3 / 4, "f1": 1}, id="greedy against lcs"
    ),
]


@pytest.mark.parametrize(("expected", "actual", "right"), SMALL)
def test_reported_sequences(expected: str, actual: str, right: dict[str, float]) -> None:
    (row,) = judged({"match": {}}, [Case(needed(expected), named(actual))])
    assert not differences(row, right)
    assert not differences(row, {f"{name}_names": value for name, value in right.items()})


COERCED = {"match": {"rule": [{"arg": "v", "number": True}]}}
WITHIN = {"match": {"rule": [{"arg": "v", "tolerance": 0.1}]}}
NAMES = {"match": {"args": "names"}}
ARGUMENTS = [
    pytest.param({}, {"v": 1}, {"v": 1.0}, 1, id="A1"),
    pytest.param({}, {"v": [12]}, {"v": [12.0]}, 1, id="A1 in a list"),
    pytest.param({}, {"v": 100}, {"v": "100"}, 0, id="A2"),
    pytest.param(COERCED, {"v": 100}, {"v": "100"}, 1, id="A2 coerced"),
    pytest.param({}, {"city": "Paris"}, '{"city":"Paris"}', 1, id="A4"),
    pytest.param({}, {"city": "Paris"}, '"{\\"city\\":\\"Paris\\"}"', 1, id="A4 twice"),
    pytest.param({}, {"base": 999}, {"base": 10}, 0, id="A5"),
    pytest.param({}, {}, {}, 1, id="A6"),
    pytest.param(WITHIN, {"v": 1}, {"v": 1.1}, 1, id="A8"),
    pytest.param(WITHIN, {"v": 1}, {"v": 1.11}, 0, id="A8 too far"),
    pytest.param(NAMES, {"v": 1}, {"w": 2}, 1, id="A10"),
]


@pytest.mark.parametrize(("told", "expected", "actual", "match"), ARGUMENTS)
def test_reported_arguments(told: dict[str, Any], expected: Any, actual: Any, match: int) -> None:
    (row,) = judged(told or {"match": {}}, [Case([Wanted("f", expected)], [Made("f", actual)])])
    for column in ("exact_match", "in_order_match", "any_order_match", "unordered_match", "tp"):
        assert row[column] == match
        assert row[f"{column}_names"] == 1
    assert row["call_accuracy"] == row["call_accuracy_position"] == (1 + match) / 2


def test_ids_neither_part_nor_join_calls() -> None:
    """M10: equal calls of different ids match; M17: two calls that share the id "" are two."""
    steps = [
        call("f", {"x": 1}, call_id=""),
        call("f", {"x": 1}, call_id=""),
        call("g", call_id="c9"),
    ]
    row = scored(
        {"match": {}}, [run("r", *steps, expected=[want("f", {"x": 1})] * 2 + [want("g")])]
    )[0]
    assert (row["n_calls"], row["tp"], row["exact_match"]) == (3, 3, 1)


def peers(file: Path) -> tuple[list[str], list[Case]]:
    """The pairs that other scorers were run on; null arguments are none on the actual side."""
    told = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    some = [
        Case(
            [Wanted(e["name"], e["args"]) for e in one["expected"]],
            [Made(a["name"], {} if a["args"] is None else a["args"]) for a in one["actual"]],
        )
        for one in told
    ]
    return [one["case_id"] for one in told], some


# mode: where the first fit leaves one unmatched that a maximum matching does not
FIRST_FIT_FAILS = {
    "actual_has_expected": {"pair.superset_greedy_fails": 2, "pair.superset_greedy_ok": 2},
    "expected_has_actual": {"pair.subset_greedy_fails": 2, "pair.subset_greedy_fails2": 2},
    "exact": {
        "pair.flexible_10_9": 2,
        "pair.deepeval_3338_rev": 1,
        "pair.superset_greedy_fails": 1,
    },
    "names": {"pair.lcs_weighted": 2},
}


@pytest.mark.parametrize("mode", MODES)
def test_pairs_that_other_scorers_were_run_on(mode: str, real_cases: Callable[[str], Path]) -> None:
    ids, some = peers(real_cases("peers.jsonl"))
    rows = dict(zip(ids, check({"match": {"args": mode}}, some), strict=True))
    assert {name: rows[name]["tp"] for name in FIRST_FIT_FAILS[mode]} == FIRST_FIT_FAILS[mode]
