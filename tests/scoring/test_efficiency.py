"""How short and how thrifty runs were, and the composite that weighs it all."""

from __future__ import annotations

import tempfile
from math import log
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from making import call, want
from scoring.judging import add, scored, uncaptured
from scoring.pathing import FINAL, LLM, error, few, path_of, paths_of
from scoring.walking import record, told_runs

if TYPE_CHECKING:
    from oracle import Step


def test_runs_without_calls(tmp_path: Path) -> None:
    """A run that only answers, and one without a single step: rows, with little to say."""
    idle, empty = paths_of(tmp_path, "", [FINAL], [])
    for row in (idle, empty):
        unknown = (
            "error_rate",
            "tool_precision",
            "backtracking_rate_calls",
            "recovery_quality",
            "token_efficiency",
        )
        assert [row[name] for name in (*unknown, "composite")] == [None] * 6
        assert [
            row[n] for n in ("n_calls", "n_errors", "n_backtracks", "n_loops", "n_recovered")
        ] == [0] * 5
    assert (idle["backtracking_rate"], idle["length_efficiency"]) == (0, 1)
    assert (empty["backtracking_rate"], empty["length_efficiency"]) == (None, None)


@few
@given(st.lists(told_runs(), min_size=1, max_size=15))
def test_an_idle_run_never_scores_above_a_working_one(runs: list[list[Step]]) -> None:
    """Its composite is null, whatever it logs; the textbook's form is where it scores near 1."""
    with tempfile.TemporaryDirectory() as folder:
        steps = [[record(step) for step in run if step.kind != "tool_call"] for run in runs]
        found = paths_of(Path(folder), "", *steps, completed=True)
    assert {row["composite"] for row in found} == {None}
    assert min(row["composite_textbook"] for row in found) > 0.8


@pytest.mark.parametrize(
    ("task", "source", "efficiency"),
    [
        ({}, "estimate", 5 / 10),  # two tools: 2·2 + 1 steps, of 10
        ({"min_steps": 4}, "task", 4 / 10),
        ({"min_steps": 4, "references": [[want("a")] * 3]}, "task", 4 / 10),
        ({"references": [[want("a")] * 3]}, "reference", 7 / 10),
        ({"references": [[want("a"), want("b", optional=True)]]}, "reference", 5 / 10),
        ({"references": [[want("a")] * 3], "reference_complete": False}, "estimate", 5 / 10),
        ({"references": [[]]}, "reference", 1 / 10),
        ({"references": [[want("a")] * 9]}, "reference", 1),
        ({"references": [[want("z")], [want("a"), want("b"), want("a")]]}, "reference", 7 / 10),
    ],
)
def test_the_fewest_steps_and_by_whose_word(
    tmp_path: Path, task: dict[str, Any], source: str, efficiency: float
) -> None:
    steps = [LLM, call("a"), call("b"), call("a"), *[LLM] * 5, FINAL]
    add(tmp_path / "lake", "tasks", {"task_id": "t", "prompt": "Do.", **task})
    found = path_of(tmp_path, "", *steps, task_id="t")
    assert (found["min_steps_source"], found["length_efficiency"]) == (source, efficiency)


def test_a_run_s_own_reference_counts_too(tmp_path: Path) -> None:
    steps = [LLM, call("a"), LLM, FINAL]
    found = path_of(tmp_path, "", *steps, expected=[want("a")])
    assert (found["min_steps_source"], found["length_efficiency"]) == ("reference", 3 / 4)
    by_turn = scored(tmp_path / "lake", '[match]\nunit = "turn"')
    assert by_turn["length_efficiency"].to_list() == [3 / 4]


def test_tokens(tmp_path: Path) -> None:
    def spent(tokens: int) -> dict[str, Any]:
        return {"kind": "llm_call", "input_tokens": tokens}

    found = paths_of(
        tmp_path, "",
        [spent(2000), call("a"), error("b")],
        [spent(2000), *map(call, "abcdefgh")],  # 250 tokens a call
        [spent(0), call("a")],
        [LLM, call("a")],
        [spent(2000)],
    )  # fmt: skip
    assert [row["token_efficiency"] for row in found] == [1 / 4, 1, 1, None, None]
    assert [row["token_efficiency_log"] for row in found] == pytest.approx(
        [1 / log(2001), 8 / log(2001), None, None, 0]
    )


WEIGHTED = (
    "[composite]\nlength = 1\nprecision = 3\nbacktracking = 0\nrecovery = 0\ntokens = 2\nerrors = 0"
)


def test_the_weights_are_the_policy_s(tmp_path: Path) -> None:
    """Length 1, precision ½: (1·1 + 3·½) / 4; tokens, 2 of 6, are unknown. In the textbook's form ½."""
    found = path_of(tmp_path, WEIGHTED, call("a"), call("a"), completed=True)
    assert found["composite"] == pytest.approx(2.5 / 4)
    assert found["composite_textbook"] == pytest.approx(3.5 / 6 + 0.1)


def test_half_of_the_weight_is_enough(tmp_path: Path) -> None:
    """One call is not captured: .20 + .15 + .15 of 1 is left, to the last bit."""
    found = path_of(tmp_path, "", error("a"), uncaptured("a"))
    assert found["composite"] == pytest.approx((0.2 * 1 + 0.15 * 1 + 0.15 / 2) / 0.5)
    less = "[composite]\nlength = 0.19\nprecision = 0.26"
    assert scored(tmp_path / "lake", less)["composite"].to_list() == [None]
