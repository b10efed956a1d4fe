"""How runs went, through the front door: landed, scored under a policy, right by hand."""

from __future__ import annotations

import sys
import tempfile
from math import log
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from making import call, run, want
from scoring.judging import add, scored, uncaptured
from scoring.test_paths_oracle import marked, record, told_runs

from pipeline.errors import InputError
from pipeline.lake import Lake
from pipeline.metrics.registry import chosen, headline, metrics
from pipeline.policy import DEFAULT, Policy, parse
from pipeline.schema import CallScores
from pipeline.scoring.paths import paths, step_columns

if TYPE_CHECKING:
    from oracle import Step

LLM, FINAL = {"kind": "llm_call"}, {"kind": "final"}
few = settings(max_examples=max(10, settings.default.max_examples // 3))


def error(name: str, args: Any = None, **more: Any) -> dict[str, Any]:
    return call(name, args, is_error=True, **more)


def paths_of(
    folder: Path, policy: str, *runs: list[dict[str, Any]], **more: Any
) -> list[dict[str, Any]]:
    """Land and score runs with these steps; the scores in their order."""
    add(folder / "lake", "trajtab", *(run(f"r{i}", *steps, **more) for i, steps in enumerate(runs)))
    return scored(folder / "lake", policy).to_dicts()


def path_of(folder: Path, policy: str, *steps: dict[str, Any], **more: Any) -> dict[str, Any]:
    return paths_of(folder, policy, list(steps), **more)[0]


def chat(name: str, *outputs: str | None) -> dict[str, Any]:
    """A chat that calls a tool once per output, in one response. The format has no error signal."""
    asked = [
        {"id": f"{i}", "function": {"name": "f", "arguments": f'{{"n": {i}}}'}}
        for i in range(len(outputs))
    ]
    told = [
        {"role": "tool", "tool_call_id": f"{i}", "content": output}
        for i, output in enumerate(outputs)
        if output is not None
    ]
    user = {"role": "user", "content": "Go."}
    return {
        "id": name,
        "messages": [user, {"role": "assistant", "content": None, "tool_calls": asked}, *told],
    }


# ---------------------------------------------------------------- repeats


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


# ---------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("policy", "error_rates"),
    [
        ("", [None, None, None]),  # the format has no signal
        ('[errors]\npatterns = ["^Error", "(?i)refused"]', [2 / 4, None, 0]),
        ("[errors]\nempty_output = true", [2 / 4, None, 0]),
        ('[errors]\npatterns = ["^Error"]\nempty_output = true', [3 / 4, None, 0]),
    ],
)
def test_errors_that_outputs_tell_of(
    tmp_path: Path, policy: str, error_rates: list[float | None]
) -> None:
    """Four calls: an error, a refusal, an empty output, none; a run without outputs; a sound one."""
    add(
        tmp_path / "lake",
        "openai_chat",
        chat("r0", "Error: no", "Connection REFUSED", " ", None),
        chat("r1", None, None),
        chat("r2", "fine", "also fine"),
    )
    found = scored(tmp_path / "lake", policy)
    assert found["error_rate"].to_list() == error_rates
    known = [rate is not None for rate in error_rates]
    for name in ("n_errors", "tool_precision", "n_recovered", "n_retry_same"):
        assert found[name].is_not_null().to_list() == known
    assert [row["is_retry"] is not None for row in marked(tmp_path / "lake")] == [
        *[known[0]] * 4, *[known[1]] * 2, *[known[2]] * 2,
    ]  # fmt: skip


def test_patterns_add_to_the_format_s_own_signal(tmp_path: Path) -> None:
    steps = [error("a", output="fine"), call("b", output="not found"), call("c")]
    assert path_of(tmp_path, '[errors]\npatterns = ["not found"]', *steps)["n_errors"] == 2


@pytest.mark.parametrize(
    "policy", ['[errors]\npatterns = ["(?!a)b"]', '[backtracking]\nabandon_patterns = ["(?!a)b"]']
)
def test_a_pattern_that_cannot_be_searched_for_is_refused(tmp_path: Path, policy: str) -> None:
    with pytest.raises(
        InputError, match=r"patterns: '\(\?!a\)b' cannot be searched for: look-around"
    ):
        path_of(tmp_path, policy, call("a"))


# ---------------------------------------------------------------- recovery, length, tokens, composite


def test_an_error_in_the_last_step_never_recovers(tmp_path: Path) -> None:
    """It counts max_steps + 1, and the quality is 0, not above 1."""
    found = path_of(tmp_path, "", call("a"), error("b"))
    assert found["recovery_quality"] == 0
    # .20·1 + .25·½ + .15·1 + .15·0 + .15·½ of .90; in the textbook's form tokens add .10·½
    assert found["composite"] == pytest.approx(55 / 90)
    assert found["composite_textbook"] == pytest.approx(0.6)


def test_a_run_of_errors_only(tmp_path: Path) -> None:
    spent = {"kind": "llm_call", "input_tokens": 900, "output_tokens": 100}
    found = path_of(tmp_path, "", spent, error("a"), error("b"), error("c"))
    assert (found["error_rate"], found["n_errors"], found["n_clean"]) == (1, 3, 0)
    nothing = ("tool_precision", "recovery_quality", "token_efficiency", "token_efficiency_log")
    assert [found[name] for name in nothing] == [0] * 4
    assert found["composite"] == pytest.approx(0.35)  # .20·1 + .15·1 of the whole weight


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


def test_recovery_looks_only_so_far(tmp_path: Path) -> None:
    """Three steps: 1 − 2/5; with at most two steps, out of reach."""
    steps = [error("a"), LLM, LLM, call("b")]
    assert path_of(tmp_path, "", *steps)["recovery_quality"] == 3 / 5
    assert scored(tmp_path / "lake", "[recovery]\nmax_steps = 2")["recovery_quality"].to_list() == [
        0
    ]


def test_recovery_counts_responses_where_they_are_known(tmp_path: Path) -> None:
    """Successes beside a failure in its response are no recovery, however many, nor earlier ones."""
    beside = [
        error("a", response_index=0),
        *[call("b", response_index=0)] * 30,
        call("c", response_index=2),
    ]
    crossed = [
        call("a", response_index=3),
        error("b", response_index=4),
        call("c", response_index=3),
    ]
    found = paths_of(tmp_path, "", beside, crossed, [*crossed, call("d", response_index=5)])
    assert [row["recovery_quality"] for row in found] == [4 / 5, 0, 1]


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


# ---------------------------------------------------------------- texts


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


# ---------------------------------------------------------------- call scores


def test_call_scores_hold_a_row_per_call(tmp_path: Path) -> None:
    steps = [LLM, call("a"), {"kind": "message"}, call("c"), call("b")]
    add(
        tmp_path / "lake", "trajtab",
        run("r0", *steps, expected=[want("b"), want("a")]), run("r1"), run("r2", call("a")),
    )  # fmt: skip
    table = scored(tmp_path / "lake")
    (file,) = (tmp_path / "lake").glob("scores/*/*/call_scores.parquet")
    calls = pl.read_parquet(file)
    assert calls.schema == CallScores.polars()
    places = calls.select("run_id", "step_index", "expected_position").rows()
    assert places == [("r0", 1, 1), ("r0", 3, None), ("r0", 4, 0), ("r2", 0, None)]
    assert calls["output_used"].to_list() == [None] * 4
    keys = dict(table.select("run_id", "run_key").rows())
    assert calls["run_key"].to_list() == [keys[run_id] for run_id in calls["run_id"]]


def test_text_is_no_figure() -> None:
    assert metrics()["min_steps_source"].kind == "text"
    assert "min_steps_source" not in {metric.name for metric in chosen(["all"])} | set(headline())
    with pytest.raises(InputError, match="min_steps_source"):
        chosen(["min_steps_source"])


# ---------------------------------------------------------------- laws

RATES = [
    name
    for name, metric in metrics().items()
    if metric.kind == "fraction"
    and metric.family in ("path", "recovery", "efficiency", "composite")
]
EVERYTHING = """
[errors]
patterns = ["^Error"]
empty_output = true
[backtracking]
similarity = 0.7
retries = "exempt"
abandon_patterns = ["give up"]
[path]
output_used = true
"""


@few
@given(st.lists(told_runs(), min_size=1, max_size=15), st.sampled_from(["", EVERYTHING]))
def test_rates_lie_between_nothing_and_all(runs: list[list[Step]], policy: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        found = paths_of(Path(folder), policy, *([*map(record, steps)] for steps in runs))
    assert len(RATES) == 10
    for row in found:
        assert {
            name: row[name] for name in RATES if row[name] is not None and not 0 <= row[name] <= 1
        } == {}


@few
@given(st.lists(told_runs(), min_size=1, max_size=15))
def test_a_further_success_never_raises_the_error_rate(runs: list[list[Step]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        before = [[*map(record, steps)] for steps in runs]
        after = [[*steps, call("another", {"x": "new"})] for steps in before]
        found = paths_of(Path(folder), "", *before, *after)
    rates = {row["run_id"]: row["error_rate"] for row in found}
    for number in range(len(runs)):
        assert rates[f"r{number + len(runs)}"] <= (rates[f"r{number}"] or 0)


@few
@given(st.data(), st.lists(told_runs(), min_size=2, max_size=15), st.sampled_from(["", EVERYTHING]))
def test_how_runs_are_batched_changes_no_number(
    data: st.DataObject, runs: list[list[Step]], policy: str
) -> None:
    """Not by a bit: neither the counts, nor quotients, nor sums of money and time."""
    at = data.draw(st.integers(1, len(runs) - 1))
    spent = [
        [record(step) | {"cost_usd": n / 7, "duration_ms": n / 3} for n, step in enumerate(steps)]
        for steps in runs
    ]
    times = [
        {"started_at": 0, "ended_at": f"1970-01-01T00:00:{i:02}.{i:03}1Z"} for i in range(len(runs))
    ]
    records = [run(f"r{i:03}", *spent[i], **times[i]) for i in range(len(runs))]
    with tempfile.TemporaryDirectory() as folder:
        whole, halves = Path(folder, "one", "lake"), Path(folder, "two", "lake")
        add(whole, "trajtab", *records)
        add(halves, "trajtab", *records[at:])
        add(halves, "trajtab", *records[:at])
        tables = [scored(lake, policy).drop("run_key") for lake in (whole, halves)]
        calls = [
            pl.DataFrame(marked(lake), schema=CallScores.polars())
            .drop("run_key")
            .sort("run_id", "step_index")
            for lake in (whole, halves)
        ]
    assert tables[0].equals(tables[1])
    assert calls[0].equals(calls[1])


def test_the_default_policy_is_what_an_empty_file_says() -> None:
    assert parse({}, "here") == DEFAULT == Policy()
