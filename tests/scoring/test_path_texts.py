"""What the texts of a run tell: outputs used, giving up, and the columns that are read for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from making import call
from scoring.judging import scored
from scoring.pathing import FINAL, LLM, path_of, paths_of
from scoring.walking import marked

from pipeline.policy import parse
from pipeline.scoring.paths import step_columns

if TYPE_CHECKING:
    from pathlib import Path


def test_outputs_used(tmp_path: Path) -> None:
    steps = [
        call("price", {"of": "seat 12"}, output='{"seat":12,"euros":99.5}'),  # said later
        call("price", {"of": "seat 13"}, output="Seat 13"),  # only what was asked for
        call("find", output="order ABC-4711"),  # 4711 is called with later
        call("find", output="its over"),  # "over" is told before, not after
        call("log"),  # nothing captured
        call("pay", {"order": "4711"}, output=""),
        {"kind": "message", "actor": "user", "content": "over"},
        {"kind": "final", "content": "It costs 99.5 EUROS."},
    ]
    found = path_of(tmp_path, "[path]\noutput_used = true", LLM | {"content": "over"}, *steps)
    assert (found["n_outputs"], found["n_outputs_used"], found["output_used_rate"]) == (5, 2, 2 / 5)
    assert [row["output_used"] for row in marked(tmp_path / "lake")] == [
        True,
        False,
        True,
        False,
        None,
        False,
    ]
    unasked = scored(tmp_path / "lake")
    assert unasked.select("n_outputs", "n_outputs_used", "output_used_rate").row(0) == (None,) * 3


def test_abandonments(tmp_path: Path) -> None:
    """Model texts only: two of three; a run without model text, and a policy without patterns, null."""
    given_up = [LLM | {"content": text} for text in ("I give up", "hm", "GIVE UP")]
    user = {"kind": "message", "content": "give up"}
    policy = '[backtracking]\nabandon_patterns = ["(?i)give up", "hopeless"]'
    found = paths_of(
        tmp_path, policy, [*given_up, user], [LLM, user], [LLM, FINAL | {"content": "done"}]
    )
    assert [row["abandonments"] for row in found] == [2, None, 0]
    assert scored(tmp_path / "lake")["abandonments"].to_list() == [None] * 3


TEXTS = {"tool_name", "tool_args", "output", "content"}


@pytest.mark.parametrize(
    ("told", "texts"),
    [
        ({}, set()),
        ({"errors": {"patterns": ["x"]}}, {"output"}),
        ({"errors": {"empty_output": True}}, {"output"}),
        ({"backtracking": {"similarity": 0.9}}, {"tool_args"}),
        ({"backtracking": {"progress_args": ["page"]}}, {"tool_args"}),
        ({"backtracking": {"exempt": ["poll"]}}, {"tool_name"}),
        ({"backtracking": {"abandon_patterns": ["x"]}}, {"content"}),
        ({"path": {"output_used": True}}, {"tool_args", "output", "content"}),
    ],
)
def test_texts_are_read_only_where_the_policy_needs_them(
    told: dict[str, Any], texts: set[str]
) -> None:
    assert TEXTS & set(step_columns(parse(told, "here"))) == texts
