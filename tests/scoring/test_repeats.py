"""What a run does again: backtracks, retries, loops, and what is progress."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from making import call, run
from scoring.judging import add, scored, uncaptured
from scoring.pathing import LLM, error, path_of, paths_of
from scoring.walking import marked

from pipeline.errors import InputError
from pipeline.lake import Lake
from pipeline.policy import parse
from pipeline.scoring.paths import paths, step_columns

if TYPE_CHECKING:
    from pathlib import Path


def test_sixty_equal_calls(tmp_path: Path) -> None:
    """59 backtracks of 60 steps, the first call alone is clean, and all of it is one loop."""
    found = path_of(tmp_path, "", *[call("a", {"x": 1})] * 60)
    assert (found["n_backtracks"], found["n_loops"], found["n_clean"]) == (59, 1, 1)
    assert found["backtracking_rate"] == found["backtracking_rate_calls"] == 59 / 60
    assert found["tool_precision"] == 1 / 60
    calls = marked(tmp_path / "lake")
    assert [row["is_backtrack"] for row in calls] == [False] + [True] * 59
    assert all(row["in_loop"] for row in calls)


PAGES = [call("search", {"q": "hotels in Lyon", "cursor": cursor}) for cursor in ("aa", "ab", "ac")]


@pytest.mark.parametrize(
    ("policy", "n_backtracks"),
    [
        ("", 0),  # another cursor is another call
        ("[backtracking]\nsimilarity = 0.8", 2),
        ('[backtracking]\nsimilarity = 0.8\nprogress_args = ["cursor"]', 0),
        ('[backtracking]\nsimilarity = 0.8\nprogress_args = ["page"]', 2),
        ('[[match.rule]]\narg = "cursor"\nignore = true', 2),
        (
            '[backtracking]\nprogress_args = ["cur*"]\n[[match.rule]]\narg = "cursor"\nignore = true',
            0,
        ),
        ('[backtracking]\nsimilarity = 0.8\nexempt = ["search"]', 0),
    ],
)
def test_a_search_with_a_moving_cursor(tmp_path: Path, policy: str, n_backtracks: int) -> None:
    """Texts of 36 characters that differ in one: 2·35/72 = .97."""
    assert path_of(tmp_path, policy, *PAGES)["n_backtracks"] == n_backtracks


def test_progress_is_seen_inside_objects_and_by_value(tmp_path: Path) -> None:
    policy = '[backtracking]\nsimilarity = 0.5\nprogress_args = ["page.*"]'
    pages = [
        call("list", {"page": {"no": 1}}),
        call("list", {"page": {"no": 1.0}, "x": 1}),  # the same page, one argument more
        call("list", {"page": {"no": 2}, "x": 1}),
        call("list", {"page": {}, "x": 1}),  # a vanished argument is a change too
    ]
    add(tmp_path / "lake", "trajtab", run("r", *pages))
    scored(tmp_path / "lake", policy)
    assert [row["is_backtrack"] for row in marked(tmp_path / "lake")] == [False, True, False, False]


def test_similarity_is_told_exactly_at_the_threshold(tmp_path: Path) -> None:
    """{"q":"aaaa"} and {"q":"aabb"}: 10 of 12 characters shared, 2·10/24 = 5/6; of 5/6 as a double."""
    steps = [call("s", {"q": "aaaa"}), call("s", {"q": "aabb"}), call("t", {"q": "aabb"})]
    assert path_of(tmp_path, f"[backtracking]\nsimilarity = {5 / 6!r}", *steps)["n_backtracks"] == 1
    above = "[backtracking]\nsimilarity = 0.8334"
    assert scored(tmp_path / "lake", above)["n_backtracks"].to_list() == [0]


def test_each_pair_of_texts_is_compared_once(tmp_path: Path) -> None:
    """Three texts of one tool make three pairs, in two runs and however often; equal calls none."""
    texts = [call("s", {"q": q}) for q in ("a", "b", "c")]
    alone = [call("t", {"q": "a"}), call("u", {"q": "b"}), call("v", {"q": "a"})]
    add(tmp_path / "lake", "trajtab", run("r0", *texts * 3), run("r1", *texts), run("r2", *alone))
    assert compared(tmp_path / "lake", {"similarity": 0.9}) == 3
    assert compared(tmp_path / "lake", {"similarity": 0.9, "window": 1}) == 3  # ab, bc, ca
    assert compared(tmp_path / "lake", {"similarity": 0.9, "exempt": ["s"]}) == 0
    assert compared(tmp_path / "lake", {"similarity": 0.9, "progress_args": ["q"]}) == 0
    assert compared(tmp_path / "lake", {}) == 0


def compared(lake: Path, back: dict[str, Any]) -> int:
    (batch,) = Lake.open(lake).batches()
    policy = parse({"backtracking": back}, "here")
    steps = pl.read_parquet(batch.file("steps"), columns=list(step_columns(policy)))
    return paths(pl.read_parquet(batch.file("runs")), steps, policy).compared


def test_similarity_without_rapidfuzz_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "rapidfuzz.distance", None)
    with pytest.raises(InputError, match=r"pip install 'trajtab\[text\]'"):
        path_of(tmp_path, "[backtracking]\nsimilarity = 0.9", call("a"), call("b"))


@pytest.mark.parametrize(
    ("retries", "backtracks"), [("count", [0, 1, 1, 1, 1]), ("exempt", [0, 0, 1, 1, 0])]
)
def test_retries(tmp_path: Path, retries: str, backtracks: list[int]) -> None:
    """A repeat is exempt if the last equal call before it failed: the second call and the fifth."""
    steps = [error("a"), call("a"), call("a"), error("a"), call("a")]
    found = path_of(tmp_path, f'[backtracking]\nretries = "{retries}"', *steps)
    calls = marked(tmp_path / "lake")
    assert [row["is_backtrack"] for row in calls] == [bool(flag) for flag in backtracks]
    assert [row["is_retry"] for row in calls] == [False, True, False, False, True]
    # the second call alone neither failed nor repeats a success
    assert (found["n_clean"], found["n_retry_same"], found["n_recovered"]) == (1, 2, 2)


@pytest.mark.parametrize(
    ("unit", "window", "n_backtracks"),
    [("steps", 3, 1), ("steps", 2, 0), ("calls", 1, 1), ("calls", 100, 1)],
)
def test_windows(tmp_path: Path, unit: str, window: int, n_backtracks: int) -> None:
    """Two model steps lie between the calls, and messages, which are no steps."""
    steps = [call("a"), LLM, {"kind": "message"}, LLM, {"kind": "message"}, call("a")]
    policy = f'[backtracking]\nwindow_unit = "{unit}"\nwindow = {window}'
    assert path_of(tmp_path, policy, *steps)["n_backtracks"] == n_backtracks


@pytest.mark.parametrize(
    ("names", "n_loops", "inside"),
    [
        ("aa", 0, "--"),
        ("xaaay", 1, "-+++-"),
        ("xabababy", 1, "-++++++-"),
        ("aaabbb", 2, "++++++"),
        ("abcdabcdabcd", 1, "+" * 12),
        ("abcdeabcdeabcde", 0, "-" * 15),
        ("aaabaaabaaab", 4, "+" * 12),  # three loops of a within one of aaab
    ],
)
def test_loops(tmp_path: Path, names: str, n_loops: int, inside: str) -> None:
    assert path_of(tmp_path, "", *map(call, names))["n_loops"] == n_loops
    assert [row["in_loop"] for row in marked(tmp_path / "lake")] == [flag == "+" for flag in inside]


def test_runs_do_not_touch_each_other(tmp_path: Path) -> None:
    """Equal calls, failures and successes on both sides of a boundary, and empty runs between."""
    runs: list[list[dict[str, Any]]] = [
        [call("a"), error("a")],
        [],
        [call("a")],
        [call("a")],
        [error("b")],
    ]
    found = paths_of(
        tmp_path, "[backtracking]\nsimilarity = 0.1\n[path]\noutput_used = true", *runs
    )
    assert [row["n_backtracks"] for row in found] == [1, 0, 0, 0, 0]
    assert [row["n_recovered"] for row in found] == [0] * 5
    assert [row["n_retry_same"] for row in found] == [0] * 5
    assert [row["recovery_quality"] for row in found] == [0, None, None, None, 0]
    assert [row["n_loops"] for row in found] == [0] * 5


def test_one_call_that_was_not_captured_leaves_repeats_unknown(tmp_path: Path) -> None:
    policy = '[backtracking]\nsimilarity = 0.5\nprogress_args = ["x"]'
    found = path_of(tmp_path, policy, error("a", {"x": 1}), call("a", {"x": 1}), uncaptured("a"))
    unknown = (
        "n_backtracks",
        "backtracking_rate",
        "tool_precision",
        "n_loops",
        "n_retry_same",
        "n_duplicate",
    )
    assert [found[name] for name in unknown] == [None] * len(unknown)
    assert (found["error_rate"], found["n_recovered"], found["recovery_quality"]) == (1 / 3, 1, 1)
    assert [(row["is_backtrack"], row["in_loop"]) for row in marked(tmp_path / "lake")] == [
        (None, None)
    ] * 3
    assert [row["is_retry"] for row in marked(tmp_path / "lake")] == [False, True, False]


def test_calls_of_others_are_not_looked_at(tmp_path: Path) -> None:
    steps = [call("a"), error("a", actor="helper"), call("a")]
    found = path_of(tmp_path, '[match]\nactors = ["agent"]', *steps)
    assert (found["n_calls"], found["n_errors"], found["n_backtracks"]) == (2, 0, 1)
    assert [row["step_index"] for row in marked(tmp_path / "lake")] == [0, 2]
