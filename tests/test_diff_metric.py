"""One number of a run explained: counts, formula, value, and what each call counts."""

from __future__ import annotations

import random

import pytest
from diffing import ANY, BOOKING, HIDDEN, RULE, policy, shown
from lakes import final, landed, scored
from making import call, run, scores_of, want

from pipeline.current import policy_of
from pipeline.errors import InputError, UnknownNameError
from pipeline.metrics.registry import metrics
from pipeline.report.call_rows import credited
from pipeline.report.diff import diff
from pipeline.report.differences import Differences
from pipeline.report.explain import compares_calls, explain
from pipeline.report.sides import sides
from pipeline.scoring import score


def explained(lake, metric, **options):
    """The one row that explains a metric."""
    return diff(lake, "r", metric=metric, **options).rows.row(0, named=True)


"""The worked example of the specification: E = [search, book], A = [search, search, book]."""


@pytest.fixture(scope="module")
def booking(tmp_path_factory):
    return scored(tmp_path_factory.mktemp("booking"), BOOKING)


@pytest.mark.parametrize(
    ("metric", "value", "calculation", "credits_"),
    [
        ("prefix_match_names", 1 / 3, "1 / max(2, 3) = 0.3333", 1),
        ("set_f1_names", 1, "2·2 / (2 + 2) over distinct calls = 1", 2),
        ("precision_names", 2 / 3, "2 / 3 = 0.6667", 2),
        ("recall_names", 1, "2 / 2 = 1", 2),
        ("call_accuracy_position", 1 / 6, "(0 + 1) / (2·max(2, 3)) = 0.1667", 0.5),
        (
            "call_accuracy",
            1 / 3,
            "(0 + 2) / (2·max(2, 3)) = (0 + 2) / (2·max(2, 3)) = 0.3333",
            1,
        ),
        ("exact_match", 0, "1 if 2 = 3 and 0 positions match, else 0 = 0", 0),
        ("set_jaccard_names", 1, "2 / 2 over distinct calls = 1", 2),
    ],
)
def test_worked_example(booking, metric, value, calculation, credits_):
    found = explained(booking, metric)
    assert (found["metric"], found["calculation"]) == (metric, calculation)
    assert found["value"] == pytest.approx(value, abs=1e-15)
    assert found["why_null"] is None
    assert sum(row["credit"] for row in found["calls"]) == credits_


def test_counts_and_pairs(booking):
    found = explained(booking, "f1")
    (part,) = found["parts"]
    assert {count["symbol"]: count["value"] for count in part["counts"]} == {
        "tp": 0,
        "n": 2,
        "m": 3,
    }
    assert shown(found["calls"]) == [
        ("args_differ", 0, 0),
        ("extra", None, 1),
        ("args_differ", 1, 2),
    ]
    assert [[one["path"] for one in row["differs"]] for row in found["calls"]] == [
        ["date"],
        [],
        ["extra"],
    ]


def test_pairs_by_names_say_so(booking):
    found = explained(booking, "recall_names")
    assert [(row["marker"], row["differs"]) for row in found["calls"][:1]] == [("equal", [])]
    assert found["calls"][0]["rule"] == "tool name, all the metric looks at"


def test_equal_calls_that_the_metric_does_not_count(tmp_path):
    lake = scored(tmp_path, run("r", call("b"), call("a"), expected=[want("a"), want("b")]))
    assert shown(explained(lake, "in_order")["calls"]) == [("equal", 0, 1), ("uncounted", 1, 0)]
    assert shown(explained(lake, "recall")["calls"]) == [("equal", 0, 1), ("equal", 1, 0)]
    assert [row["marker"] for row in explained(lake, "prefix_match")["calls"]] == ["uncounted"] * 2


def test_calls_of_one_tool_are_paired_over_any_distance(tmp_path):
    lake = scored(
        tmp_path, run("r", call("b"), call("a", {"x": 2}), expected=[want("a"), want("b")])
    )
    assert shown(explained(lake, "recall")["calls"]) == [("args_differ", 0, 1), ("equal", 1, 0)]


def test_nothing_to_divide_by(tmp_path):
    found = explained(scored(tmp_path, run("r", expected=[])), "f1")
    assert (found["value"], found["calculation"]) == (1, "2·0 / (0 + 0), defined as 1")


@pytest.mark.parametrize(
    ("metric", "steps", "fields", "why"),
    [
        ("f1", [HIDDEN], {}, "arguments that the reference gives were not captured"),
        ("f1", [], {"status": "error"}, "the run's status is error"),
        ("in_order_match_turns", [], {}, 'the policy says match.unit = "run"'),
        (
            "error_rate",
            [],
            {},
            "when m = 0, and where no call of the run carries an error signal",
        ),
    ],
)
def test_why_null(tmp_path, metric, steps, fields, why):
    lake = scored(tmp_path, run("r", *steps, **fields, expected=[want("search", {"q": 1})]))
    found = explained(lake, metric)
    assert (found["value"], found["why_null"]) == (None, why)


def test_why_null_where_equality_is_a_relation(tmp_path):
    found = explained(scored(tmp_path, run("r", call("search"), expected=[ANY])), "set_f1")
    assert found["value"] is None
    assert found["why_null"] == "equality is only a relation here: distinct calls cannot be counted"


def test_turns_are_folded(tmp_path):
    expected = [want("a", turn_index=0), want("c", turn_index=1)]
    steps = [call("a", turn_index=0), call("b", turn_index=1), call("c", turn_index=2)]
    lake, text = landed(tmp_path, run("r", *steps, expected=expected)), '[match]\nunit = "turn"'
    named = policy(tmp_path, text)
    found = explained(lake, "recall", policy=named)
    # Turn 0: 1 of 1; turn 1: 0 of 1; turn 2 expects nothing: 1.
    assert found["value"] == pytest.approx(2 / 3)
    assert found["calculation"] == "mean of 1, 0, 1 over 3 turns = 0.6667"
    assert [part["turn_index"] for part in found["parts"]] == [0, 1, 2]
    assert (
        explained(lake, "in_order_match", policy=named)["calculation"]
        == "all of 1, 0, 1 over 3 turns = 0"
    )
    assert explained(lake, "tp", policy=named)["calculation"] == "sum of 1, 0, 0 over 3 turns = 1"


def test_metric_without_a_reference(tmp_path):
    lake = scored(tmp_path, run("r", call("a", is_error=True), call("a"), call("b"), call("b")))
    found = explained(lake, "error_rate")
    assert (found["value"], found["calculation"], found["calls"]) == (0.25, "1 / 4 = 0.25", [])
    found = explained(lake, "n_steps")
    assert (found["value"], found["formula"]) == (4, "|T|")


def test_unknown_metric_and_text(booking):
    with pytest.raises(UnknownNameError, match="did you mean 'in_order'"):
        diff(booking, "r", metric="in_oder")
    with pytest.raises(InputError, match="'violations' is text"):
        diff(booking, "r", metric="violations")


POLICIES = {
    "default": "",
    "names": '[match]\nargs = "names"',
    "subset": '[match]\nargs = "actual_has_expected"',
    "rules": f'{RULE}strip = true\n{RULE}arg = "x"\nnumber = true\ncase = "lower"\n{RULE}tolerance = 0.1',
    "turns": '[match]\nunit = "turn"',
    "parallel": '[match]\nparallel = "unordered"',
}
ARGUMENTS = [
    {},
    {"x": 1},
    {"x": 1.0},
    {"x": " 1"},
    {"x": "A"},
    {"x": "a", "y": 2},
    {"y": 2.05, "x": "a"},
]


def some_call(chance):
    """A random call: any or hidden arguments, a broken text, or one of a few."""
    told = {"tool_name": chance.choice("ab")}
    kind = chance.random()
    if kind > 0.04:
        told["tool_args"] = "{bad" if kind < 0.08 else chance.choice(ARGUMENTS)
    return told


def some_runs(chance, number):
    for i in range(number):
        optional = chance.choice([0, 0, 0.3])
        expected = [
            {
                **some_call(chance),
                "turn_index": chance.choice([None, 0, 1]),
                "optional": chance.random() < optional,
            }
            for _ in range(chance.randrange(7))
        ]
        turns = sorted(chance.randrange(3) for _ in range(chance.randrange(8)))
        steps = [
            {
                "kind": "tool_call",
                **some_call(chance),
                "turn_index": turn,
                "response_index": 3 * turn + chance.randrange(2),
            }
            for turn in turns
        ]
        steps.sort(key=lambda step: step["response_index"])
        several = [expected, expected[::-1]] if chance.random() < 0.3 else [expected]
        status = "error" if chance.random() < 0.03 else "ok"
        yield run(f"r{i:03}", *steps, final(), expected=several, status=status)


@pytest.mark.parametrize("name", POLICIES)
def test_every_number_of_random_runs_is_explained(tmp_path, name):
    """For each metric of the specification's section 2 the value is the one in scores.parquet.

    And what the calls count in it sums up to the counts that it is made from.
    """
    chance = random.Random(f"diff {name}")  # noqa: S311 - made-up runs
    lake = landed(tmp_path, *some_runs(chance, 40))
    named = policy(tmp_path, POLICIES[name])
    score(lake, policy=named)
    rules = policy_of(lake, named)
    differences = Differences(rules.match)
    for scores in scores_of(lake.path, named).to_dicts():
        both = sides(lake, scores["run_key"], rules)
        for metric in filter(compares_calls, metrics().values()):
            found = explain(metric, both, rules)
            assert found.value == pytest.approx(scores[metric.name], abs=1e-12), metric.name
            assert (found.why_null is None) == (found.value is not None), metric.name
            for unit, part in zip(both.units, found.parts, strict=True):
                counts = {count.symbol: count.value for count in part.counts}
                total = sum(row["credit"] for row in credited(metric, unit, differences))
                _agree(metric, counts, total)


def _agree(metric, counts, total):
    """Check the sum of credits against the counts shown, by their symbols."""
    if metric.name.startswith("call_accuracy"):
        full = counts.get("full matches", counts.get("tp", counts.get("matching positions")))
        named = counts.get("matches by name", counts.get("tp_names"))
        assert 2 * total == full + named
        return
    symbols = (
        "tp",
        "matched",
        "LCS",
        "length of the matching prefix",
        "matching positions",
        "|E ∩ A|",
    )
    (count,) = [counts[symbol] for symbol in symbols if symbol in counts]
    assert count is None or total == count


@pytest.fixture(scope="module")
def mixed(tmp_path_factory):
    """A run that meets some of what is expected, at either level."""
    steps = [call("a"), call("c", {"x": 1}), call("b"), call("b"), call("d")]
    expected = [want("a"), want("b"), want("c", {"x": 2}), want("e")]
    return scored(tmp_path_factory.mktemp("mixed"), run("r", *steps, expected=expected))


@pytest.mark.parametrize(
    "metric",
    [
        name
        for name, m in metrics().items()
        if compares_calls(m) and m.kind == "fraction" and not name.endswith("_turns")
    ],
)
def test_calculation_is_arithmetic_that_gives_the_value(mixed, metric):
    """What stands left of the first `=` evaluates to the value."""
    found = explained(mixed, metric)
    text = found["calculation"].replace(" over distinct calls", "").split(" = ")[0]
    value = eval(text.replace("·", "*"), {"__builtins__": {}, "max": max})  # noqa: S307 - our own arithmetic
    assert value == pytest.approx(found["value"])
