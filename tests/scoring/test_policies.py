"""Modes, alternatives, actors and uncaptured arguments, held against the oracle and against hand."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from making import call, run, scores_of, want, write
from oracle import NOT_CAPTURED, Invalid
from oracle.arrangements import largest_matching
from oracle.policies import Judge, Made, Wanted, hits, outcome
from scoring.drawing import MODES, TOOLS, captured_or_not, cases, few, made, policies, rules, wanted
from scoring.ruling import (
    FEW,
    LEVEL_COLUMNS,
    Case,
    agrees,
    check,
    differences,
    expected_call,
    judged,
    policy_text,
    record,
    scored,
)

from pipeline.lake import Lake
from pipeline.landing.land import land
from pipeline.policy import load, parse
from pipeline.scoring import score

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

OVERLAP = ("tp", "precision", "recall", "f1", "any_order_match", "unordered_match", "only_expected")
SETS = ("set_precision", "set_recall", "set_f1", "set_jaccard")


def named(letters: str) -> list[Made]:
    return [Made(letter, {}) for letter in letters]


def needed(letters: str) -> list[Wanted]:
    return [Wanted(letter, {}) for letter in letters]


# column: both empty, E empty and A not, A empty and E not; the last two with the calls a, a, b
EMPTY = {
    "exact_match": (1, 0, 0),
    "prefix_match": (1, 0, 0),
    "position_match": (1, 0, 0),
    "in_order": (1, 1, 0),
    "in_order_match": (1, 1, 0),
    "lcs": (1, 1, 0),
    "lcs_f1": (1, 0, 0),
    "tp": (0, 0, 0),
    "precision": (1, 0, 0),
    "recall": (1, 1, 0),
    "f1": (1, 0, 0),
    "any_order_match": (1, 1, 0),
    "unordered_match": (1, 0, 0),
    "only_expected": (1, 0, 1),
    "set_precision": (1, 0, 0),
    "set_recall": (1, 1, 0),
    "set_f1": (1, 0, 0),
    "set_jaccard": (1, 0, 0),
    "n_missing": (0, 0, 3),
    "n_extra": (0, 3, 0),
    "n_duplicate": (0, 1, 0),
}


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


def test_what_each_mode_lets_through() -> None:
    pairs = [
        ({"x": 1}, {"x": 1.0}),
        ({"x": 1}, {"x": 1, "y": 2}),
        ({"x": 1, "y": 2}, {"x": 1}),
        ({"x": 1}, {"x": 2}),
        ({"x": {"u": 1}}, {"x": {"u": 1, "v": 2}}),
        ({}, {"x": 1}),
        ({"x": 1}, {}),
        ({"x": None}, {}),
        (None, {"x": 1}),
        (None, Invalid("{")),
        (Invalid("{"), Invalid("{")),
        (Invalid("{"), Invalid("{ ")),
        (Invalid("{"), {}),
        ({}, Invalid("{")),
    ]
    right = {
        "exact": [1, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 0, 0, 0],
        "actual_has_expected": [1, 1, 0, 0, 0, 1, 0, 0, 1, 1, 1, 0, 0, 0],
        "expected_has_actual": [1, 0, 1, 0, 0, 0, 1, 1, 1, 1, 1, 0, 0, 0],
        "names": [1] * 14,
    }
    some = [Case([Wanted("f", e)], [Made("f", a)]) for e, a in pairs]
    for mode, matched in right.items():
        assert [row["exact_match"] for row in check({"match": {"args": mode}}, some)] == matched
        others = [Case(case.expected, [Made("g", case.actual[0].args)]) for case in some]
        assert [row["tp"] for row in judged({"match": {"args": mode}}, others)] == [0] * 14


def test_the_first_glob_of_the_modes_per_tool_applies() -> None:
    tools = {"get_user": "exact", "get_*": "names", "*": "actual_has_expected"}
    some = [
        Case([Wanted(t, {"x": 1})], [Made(t, {"x": 2, "y": 2})])
        for t in ("get_user", "get_a", "set_a")
    ]
    more = [
        Case([Wanted(t, {"x": 1})], [Made(t, {"x": 1, "y": 2})])
        for t in ("get_user", "get_a", "set_a")
    ]
    rows = check({"match": {"args": "expected_has_actual", "tools": tools}}, [*some, *more])
    assert [row["tp"] for row in rows] == [0, 1, 0, 0, 1, 1]
    # a name is compared by key, a subset only by relation
    assert [row["set_f1"] for row in rows] == [0, 1, None, 0, 1, None]


def test_the_order_of_the_modes_per_tool_is_part_of_the_policy() -> None:
    first = parse({"match": {"tools": {"*": "names", "f": "exact"}}}, "p")
    second = parse({"match": {"tools": {"f": "exact", "*": "names"}}}, "p")
    assert first.hash != second.hash


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


def test_a_relation_is_matched_as_a_whole() -> None:
    """Each call but the last fits several; in order the walk meets two and then waits in vain."""
    told = {"match": {"args": "actual_has_expected"}}
    expected = [
        Wanted("f", {}),
        Wanted("f", {"x": 1}),
        Wanted("f", {"x": 1, "y": 1}),
        Wanted("f", {"z": 1}),
    ]
    actual = [{"x": 1, "y": 1}, {"x": 1, "y": 2}, {"z": 1}, {"w": 1}]
    (row,) = check(told, [Case(expected, [Made("f", args) for args in actual])])
    assert (row["tp"], row["unordered_match"], row["in_order"]) == (4, 1, 1 / 2)


def test_uncaptured_arguments() -> None:
    lost = Made("f", NOT_CAPTURED)
    with_args, without = [Wanted("f", {"x": 1})], [Wanted("f")]
    some = [
        Case(with_args, [lost]),
        Case(without, [lost]),
        Case([Wanted("g", {})], [Made("g", {}), lost]),
        Case([*with_args, *without], [Made("f", {"x": 1}), lost]),
        Case([], [lost]),
        Case([Wanted("f", Invalid("{"))], [lost]),
        Case([Wanted("f", {}, optional=True)], [lost]),
    ]
    hidden = {
        "exact": [1, 0, 0, 1, 0, 1, 1],
        "actual_has_expected": [1, 0, 0, 1, 0, 1, 1],
        "names": [0] * 7,
    }
    for mode, flags in hidden.items():
        rows = check({"match": {"args": mode}}, some)
        statuses = ["args_not_captured" if flag else "scored" for flag in flags]
        assert [row["status"] for row in rows] == statuses
        assert [row["exact_match_names"] for row in rows] == [1, 1, 0, 1, 0, 1, 1]
    for tools in ({"f": "names"}, {"?": "names"}):
        rows = check({"match": {"tools": tools}}, some)
        assert {row["status"] for row in rows} == {"scored"}
        assert [row["tp"] for row in rows] == [1, 1, 1, 2, 0, 1, 1]


def test_uncaptured_calls_of_different_tools_are_different() -> None:
    some = [Made("g", {}), Made("f", NOT_CAPTURED), Made("h", NOT_CAPTURED)]
    for rule in ([], [{"tool": "z", "strip": True}]):
        (row,) = check({"match": {"rule": rule}}, [Case([Wanted("g", {})], some)])
        assert (row["set_precision"], row["set_jaccard"], row["n_duplicate"]) == (
            1 / 3,
            1 / 3,
            None,
        )


def best_of(told: dict[str, Any], references: Sequence[list[Wanted]], actual: list[Made]) -> int:
    """The alternative with the highest (exact_match, f1, in_order), the first of equals."""

    def rank(expected: list[Wanted]) -> tuple[Any, Any, Any]:
        found = outcome(told, expected, actual)
        return found.choices[0]["exact_match"], found.fixed["f1"], found.choices[0]["in_order"]

    ranks = [rank(expected) for expected in references]
    return ranks.index(max(ranks))


@settings(FEW)
@given(
    policies(rules(("strip", "number", "round")), most=2),
    st.lists(
        st.tuples(
            st.lists(st.lists(wanted(few), max_size=4), min_size=1, max_size=4),
            st.lists(made(few), max_size=4),
        ),
        min_size=1,
        max_size=20,
    ),
)
def test_the_best_alternative_counts(
    told: dict[str, Any], runs: list[tuple[list[list[Wanted]], list[Made]]]
) -> None:
    records = [
        record(i, [[expected_call(e) for e in one] for one in references], actual)
        for i, (references, actual) in enumerate(runs)
    ]
    for row, (references, actual) in zip(scored(told, records), runs, strict=True):
        best = best_of(told, references, actual)
        assert row["reference_id"] == best
        agrees(row, outcome(told, references[best], actual))


def test_alternatives_by_hand() -> None:
    actual = named("ab")
    references = [
        needed("b"),  # f1 2/3, in_order 1
        needed("ba"),  # f1 1, in_order 1/2
        needed("ab"),  # exact
        needed("ab"),
    ]
    for kept, best in (
        (references, 2),
        (references[:2], 1),
        ([references[0], needed("a")], 0),
        ([[], []], 0),
    ):
        told = [[expected_call(e) for e in one] for one in kept]
        row = scored({"match": {}}, [record(0, told, actual)])[0]
        assert row["reference_id"] == best
    later = [[expected_call(e) for e in one] for one in (needed("ca"), needed("ac"))]
    assert (
        scored({"match": {}}, [record(0, later, actual)])[0]["reference_id"] == 1
    )  # in_order 1/2, not 0


def test_only_the_arguments_that_a_reference_lists() -> None:
    expected, listed = {"id": 1, "note": "x"}, ("id",)
    actual = [{"id": 1, "note": "y"}, {"id": 1}, {"id": 2, "note": "x"}, {"note": "x"}]
    some = [Case([Wanted("f", expected, compare=listed)], [Made("f", args)]) for args in actual]
    some += [Case([Wanted("f", expected, compare=())], [Made("f", {})])]
    some += [Case([Wanted("f", expected)], [Made("f", {"id": 1})])]
    heeded = check({"match": {"compare_args": True}}, some)
    assert [row["exact_match"] for row in heeded] == [1, 1, 0, 0, 1, 0]
    assert [row["set_f1"] for row in heeded] == [None] * 5 + [0]
    assert [row["exact_match"] for row in check({"match": {}}, some)] == [0] * 6
    rule = {"match": {"compare_args": True, "rule": [{"arg": "id", "number": True}]}}
    text = [Case([Wanted("f", expected, compare=listed)], [Made("f", {"id": "1"})])]
    assert check(rule, text)[0]["exact_match"] == 1


def test_only_the_actors_asked_for_are_heard() -> None:
    actual = [
        Made("a", {}),
        Made("b", {}, actor="agent"),
        Made("c", {}, actor="helper"),
        Made("d", {}, actor="user"),
    ]
    some = [Case(needed("ab"), actual), Case(needed("c"), actual), Case(needed("abc"), actual)]
    heard: dict[tuple[str, ...], tuple[int, list[int]]] = {
        ("agent",): (2, [1, 0, 0]),
        ("helper",): (1, [0, 1, 0]),
        ("agent", "helper"): (3, [0, 0, 1]),
        (): (4, [0, 0, 0]),
    }
    for actors, (n_calls, exact) in heard.items():
        rows = check({"match": {"actors": list(actors)}}, some)
        assert [row["exact_match"] for row in rows] == exact
        assert [row["n_calls"] for row in rows] == [n_calls] * 3


@settings(FEW)
@given(
    policies(rules(("strip", "number", "round", "ignore", "default")), modes=("exact", "names")),
    cases(wanted(few), made(few), longest=60, most=8),
)
def test_long_equalities_agree_with_the_oracle(told: dict[str, Any], some: list[Case]) -> None:
    check(told, some)


@settings(FEW)
@given(
    policies(rules(("tolerance", "number", "ignore"))),
    cases(wanted(few | st.none()), made(captured_or_not | few), longest=6, most=20),
)
def test_small_relations_agree_with_every_assignment(
    told: dict[str, Any], some: list[Case]
) -> None:
    for row, case in zip(check(told, some), some, strict=True):
        if row["status"] == "scored":
            assert row["tp"] == largest_matching(
                hits(case.expected, case.actual, Judge(told).matches)
            )


@settings(FEW)
@given(
    policies(
        rules(("tolerance", "round")), modes=("exact", "actual_has_expected", "expected_has_actual")
    ),
    cases(wanted(few | st.none()), made(few), longest=40, most=6),
)
def test_long_relations_agree_with_augmenting_paths(told: dict[str, Any], some: list[Case]) -> None:
    check(told, some)


def lake_of(folder: Path) -> Path:
    """24 tools with three distinct calls each, of which two runs make some more than once."""
    tools = [f"t{i:02}" for i in range(24)]
    steps = [call(tool, {"q": f" {i % 3}", "r": 1}) for tool in tools for i in range(5)]
    expected = [want(tool, {"q": "0", "r": 1.0}) for tool in tools]
    records = [run(name, *steps, expected=expected) for name in ("r1", "r2")]
    land([write(folder / "runs.jsonl", records)], folder / "lake", format="trajtab", workers=1)
    return folder / "lake"


def scored_under(lake: Path, told: dict[str, Any]) -> tuple[str, Any]:
    """The policy's file, and the manifest of its only scores."""
    file = lake.parent / f"policy-{len(list(lake.parent.glob('policy-*')))}.toml"
    file.write_text(policy_text(told), encoding="utf-8")
    score(lake, policy=str(file))
    (folder,) = Lake.open(lake).scores(load(str(file)).hash)
    return str(file), folder.manifest


def test_a_rule_for_one_tool_reads_only_that_tools_calls_again(tmp_path: Path) -> None:
    lake = lake_of(tmp_path)
    assert scored_under(lake, {"match": {}})[1]["rekeyed"] == {}
    assert scored_under(lake, NAMES)[1]["rekeyed"] == {}
    one = {"match": {"rule": [{"tool": "t07", "arg": "q", "strip": True}]}}
    file, manifest = scored_under(lake, one)
    assert manifest["rekeyed"] == {"t07": 4}  # " 0", " 1", " 2", and the reference's "0"
    rows = scores_of(lake, file).to_dicts()
    assert [row["tp"] for row in rows] == [1, 1]
    assert [row["n_duplicate"] for row in rows] == [48, 48]
    subset = {"match": {"tools": {"t0[12]": "actual_has_expected"}}}
    assert scored_under(lake, subset)[1]["rekeyed"] == {"t01": 4, "t02": 4}


def test_policies_live_side_by_side(tmp_path: Path) -> None:
    lake = lake_of(tmp_path)
    strict, loose = {"match": {}}, {"match": {"rule": [{"strip": True}]}}
    files = [scored_under(lake, told)[0] for told in (strict, loose, NAMES)]
    assert [scores_of(lake, file)["tp"].to_list() for file in files] == [[0, 0], [24, 24], [24, 24]]
    for file in files:
        again = score(lake, policy=file)
        assert (again.batches, again.already, again.runs) == (0, 1, 0)
    hashes = {load(file).hash for file in files}
    assert {path.name for path in (lake / "scores").iterdir()} == {f"p-{one}" for one in hashes}
    assert len(hashes) == 3


def test_tools_of_the_strategies_are_prefixes_of_each_other() -> None:
    """Keys of ("a", "b{}") and ("ab", "{}") would be one if names and arguments ran together."""
    assert set(TOOLS) == {"a", "b", "ab"}
    (row,) = judged({"match": {}}, [Case([Wanted("a", Invalid("b{}"))], [Made("ab", {})])])
    assert row["tp"] == 0
