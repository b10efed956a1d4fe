"""Invariants against hand-counted runs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from making import call, run
from scoring.judging import add, scored, uncaptured

from pipeline.errors import InputError
from pipeline.metrics.registry import chosen

if TYPE_CHECKING:
    from pathlib import Path


def judged(
    folder: Path, policy: str, *runs: list[dict[str, Any]]
) -> list[tuple[int | None, list[dict[str, Any]] | None]]:
    """Return (n_violations, violations) of runs with these steps."""
    lake = folder / "lake"
    add(lake, "trajtab", *(run(f"r{i}", *steps) for i, steps in enumerate(runs)))
    rows = scored(lake, f"[invariants]\n{policy}").select("n_violations", "violations").rows()
    return [(n, None if text is None else json.loads(text)) for n, text in rows]


def test_each_call_of_a_forbidden_tool_counts(tmp_path: Path) -> None:
    """Two deletes at steps 0 and 2 are two violations; globs are case-sensitive."""
    found = judged(
        tmp_path,
        'forbidden_tools = ["delete_*", "drop"]',
        [call("delete_user"), call("search"), call("delete_all")],
        [call("search"), call("Delete_user")],
        [],
    )
    assert found == [
        (2, [
            {"rule": "forbidden_tools", "step_index": 0, "tool": "delete_user"},
            {"rule": "forbidden_tools", "step_index": 2, "tool": "delete_all"},
        ]),
        (0, []),
        (0, []),
    ]  # fmt: skip


def test_each_call_of_a_tool_that_is_not_allowed_counts(tmp_path: Path) -> None:
    found = judged(
        tmp_path,
        'allowed_tools = ["search", "get_*"]',
        [call("get_user"), {"kind": "llm_call"}, call("pay"), call("search")],
    )
    assert found == [(1, [{"rule": "allowed_tools", "step_index": 2, "tool": "pay"}])]


def test_a_call_may_break_two_rules(tmp_path: Path) -> None:
    policy = 'allowed_tools = ["search"]\nforbidden_tools = ["pay"]'
    ((n, violations),) = judged(tmp_path, policy, [call("pay")])
    assert (n, [v["rule"] for v in violations or ()]) == (2, ["forbidden_tools", "allowed_tools"])


def test_a_missing_required_tool_counts_once(tmp_path: Path) -> None:
    found = judged(
        tmp_path,
        'required_tools = ["authenticate", "book_*"]',
        [call("authenticate"), call("book_seat"), call("book_seat")],
        [call("authenticate")],
        [],
    )
    missing = [{"rule": "required_tools", "tool": tool} for tool in ("authenticate", "book_*")]
    assert found == [(0, []), (1, missing[1:]), (2, missing)]


def test_limits_count_once_each(tmp_path: Path) -> None:
    """Three decision steps, two of them calls, and a message that is neither."""
    steps = [{"kind": "message"}, call("a"), call("b"), {"kind": "final"}]
    assert judged(tmp_path, "max_steps = 2\nmax_calls = 1", steps) == [
        (2, [{"limit": 2, "rule": "max_steps", "seen": 3}, {"limit": 1, "rule": "max_calls", "seen": 2}])
    ]  # fmt: skip
    assert judged(tmp_path / "again", "max_steps = 3\nmax_calls = 2", steps) == [(0, [])]


def test_repeats_are_of_equal_calls(tmp_path: Path) -> None:
    """1 and 1.0 are equal arguments, 2 are not; the call repeated most often is named, once."""
    args = [{"n": 1}, {"n": 1.0}, {"n": 2}]
    found = judged(
        tmp_path,
        "max_repeats = 2",
        [call("a", a) for a in args],
        [call("b"), call("b"), call("b"), *(call("a") for _ in range(4))],
    )
    assert found == [(0, []), (1, [{"limit": 2, "rule": "max_repeats", "seen": 4, "tool": "a"}])]


def test_no_repeat_at_all_may_be_allowed(tmp_path: Path) -> None:
    """Of 0 each call is one too many, of 1 the second."""
    once, none = [call("a")], list[dict[str, Any]]()
    seen = {"limit": 0, "rule": "max_repeats", "seen": 1, "tool": "a"}
    assert judged(tmp_path, "max_repeats = 0", once, none) == [(1, [seen]), (0, [])]
    assert judged(tmp_path / "again", "max_repeats = 1", once) == [(0, [])]


def test_uncaptured_arguments_hide_repeats_only(tmp_path: Path) -> None:
    steps = [uncaptured("a"), uncaptured("a")]
    assert judged(tmp_path, "max_repeats = 5", steps) == [(None, None)]
    assert judged(tmp_path / "again", "max_calls = 5", steps) == [(0, [])]


def test_order_of_two_tools(tmp_path: Path) -> None:
    """Transfers before the first authentication count once; without any, too; neither is fine."""
    found = judged(
        tmp_path,
        'before = [["authenticate", "transfer_*"]]',
        [call("authenticate"), call("transfer_funds")],
        [call("transfer_all"), call("transfer_funds"), call("authenticate")],
        [{"kind": "llm_call"}, call("transfer_funds")],
        [call("search")],
    )
    early = {"needs": "authenticate", "rule": "before"}
    assert found == [
        (0, []),
        (1, [{**early, "step_index": 0, "tool": "transfer_all"}]),
        (1, [{**early, "step_index": 1, "tool": "transfer_funds"}]),
        (0, []),
    ]


def test_text_is_canonical_json(tmp_path: Path) -> None:
    """Sorted keys, no spaces, and any tool name spelt as JSON spells it."""
    add(tmp_path / "lake", "trajtab", run("r", call('say "é"{}')))
    (text,) = scored(tmp_path / "lake", '[invariants]\nforbidden_tools = ["say*"]')["violations"]
    assert text == r'[{"rule":"forbidden_tools","step_index":0,"tool":"say \"é\"{}"}]'


def test_nothing_is_judged_without_invariants(tmp_path: Path) -> None:
    add(tmp_path / "lake", "trajtab", run("r", call("a")))
    rows = scored(tmp_path / "lake")
    assert rows.select("n_violations", "violations").rows() == [(None, None)]
    assert rows.schema["violations"] == pl.String


def test_other_actors_calls_do_not_count(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    add(lake, "trajtab", run("r", call("a", actor="user"), call("b")))
    policy = '[match]\nactors = ["agent"]\n[invariants]\nforbidden_tools = ["a", "b"]'
    assert scored(lake, policy)["n_violations"].to_list() == [1]


def test_text_is_in_no_table_of_figures() -> None:
    assert "violations" not in [metric.name for metric in chosen(["all"])]
    with pytest.raises(InputError, match="'violations' is text"):
        chosen(["violations"])
