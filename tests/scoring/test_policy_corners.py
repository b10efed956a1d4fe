"""Corners of policies: listed arguments, and turns beyond reason."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from making import call, run, scores_of, want, write

from pipeline.errors import InputError
from pipeline.landing.land import land
from pipeline.scoring import score

if TYPE_CHECKING:
    from pathlib import Path


def test_listed_arguments_count_only_where_the_policy_says_so(tmp_path: Path) -> None:
    """A reference's compare_args is a fact of the log; `match.compare_args` is what applies it."""
    record = run(
        "r",
        call("a", {"x": 1, "y": 1}),
        expected=[want("a", {"x": 1, "y": 2}, compare_args=["x"]), {"tool_name": "b"}],
    )
    land([write(tmp_path / "a.jsonl", [record])], tmp_path / "lake")
    found = {}
    for name, text in {
        "plain": "[[match.rule]]\nstrip = true\n",
        "listed": "[match]\ncompare_args = true\n",
    }.items():
        policy = tmp_path / f"{name}.toml"
        policy.write_text(text)
        score(tmp_path / "lake", policy=str(policy))
        found[name] = scores_of(tmp_path / "lake", str(policy))["tp"].to_list()
    assert found == {"plain": [0], "listed": [1]}


BEYOND = {
    "of the run": (run("r", call("a", turn_index=20_000_000), expected=[]), "'r': it has user turn 20000000"),
    "of its reference": (
        run("r", call("a"), expected=[want("a", turn_index=4_000_000_000)]),
        "'r': its reference has user turn 4000000000",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("record", "told"), BEYOND.values(), ids=BEYOND)
def test_a_turn_beyond_reason_is_told_not_laid_out(
    tmp_path: Path, record: dict[str, Any], told: str
) -> None:
    nowhere = run("free", call("a", turn_index=20_000_000))  # compared with nothing
    land([write(tmp_path / "a.jsonl", [nowhere, record])], tmp_path / "lake")
    policy = tmp_path / "turns.toml"
    policy.write_text('[match]\nunit = "turn"\n')
    with pytest.raises(InputError, match=told):
        score(tmp_path / "lake", policy=str(policy))
