"""Corners of policies: listed arguments, and turns beyond reason."""

from __future__ import annotations

from typing import TYPE_CHECKING

from making import call, run, scores_of, want, write

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
