"""Path metrics of the oracle, against values worked out by hand."""

from __future__ import annotations

from fractions import Fraction
from math import log

import pytest
from hypothesis import given
from oracle import NOT_CAPTURED, Arguments, Invalid, Step, backtrack_flags, loops, path_metrics
from oracle.repeats import indel_similarity, progressed
from strategies import step_lists


def ok(name: str, args: Arguments = None) -> Step:
    return Step("tool_call", name, args)


def error(name: str, args: Arguments = None) -> Step:
    return Step("tool_call", name, args, is_error=True)


def silent(name: str, args: Arguments = None) -> Step:
    """A call of a format without an error signal."""
    return Step("tool_call", name, args, is_error=None)


def in_response(step: Step, index: int) -> Step:
    return step._replace(response_index=index)


LLM, FINAL, MESSAGE = Step("llm_call"), Step("final"), Step("message")


def test_a_search_and_an_answer() -> None:
    scores = path_metrics([MESSAGE, LLM, ok("search", {"q": "x"}), FINAL])
    assert scores == {
        "n_steps": 3,
        "n_calls": 1,
        "n_llm_calls": 1,
        "n_tools": 1,
        "n_turns": None,
        "n_errors": 0,
        "n_backtracks": 0,
        "n_clean": 1,
        "n_duplicate": 0,
        "error_rate": 0,
        "backtracking_rate": 0,
        "backtracking_rate_calls": 0,
        "tool_precision": 1,
        "length_efficiency": 1,  # min(1, (2·1 + 1) / 3)
        "recovery_quality": None,
        "n_retry_same": 0,
        "n_retry_changed": 0,
        "n_recovered": 0,
        "n_loops": 0,
        "n_outputs": None,
        "n_outputs_used": None,
        "output_used_rate": None,
        "abandonments": None,
        "token_efficiency": None,
        "token_efficiency_log": None,
        "input_tokens": None,
        "output_tokens": None,
        "total_tokens": None,
        "composite": 1,  # recovery counts as 1, tokens drop out
        "composite_textbook": 0.95,  # tokens count as one half
    }


def test_a_run_without_steps() -> None:
    scores = path_metrics([])
    known = {column: value for column, value in scores.items() if value is not None}
    assert known.pop("composite_textbook") == 0.95
    unasked = {"n_turns", "n_outputs", "n_outputs_used"}
    columns = {column for column in scores if column.startswith("n_")} - unasked
    assert known == dict.fromkeys(columns, 0)


def test_an_idle_run_has_no_composite() -> None:
    """Length .20 and 1 - backtracking .15 are left: .35 of the weight."""
    scores = path_metrics([FINAL])
    assert (scores["length_efficiency"], scores["backtracking_rate"]) == (1, 0)
    assert scores["backtracking_rate_calls"] is scores["error_rate"] is None
    assert scores["tool_precision"] is scores["composite"] is None


def test_error_in_the_last_step() -> None:
    """The failure never recovers: 5 + 1 steps, max(0, 1 - 5/5) = 0, not above 1."""
    scores = path_metrics([ok("a"), error("b")])
    assert scores["recovery_quality"] == 0
    assert scores["error_rate"] == scores["tool_precision"] == 1 / 2
    assert (scores["n_recovered"], scores["n_retry_same"], scores["n_retry_changed"]) == (0, 0, 0)
    # .20·1 + .25·½ + .15·1 + .15·0 + .15·½ = .55 of .90
    assert scores["composite"] == 55 / 90


def test_a_run_of_errors_only() -> None:
    logged = LLM._replace(input_tokens=900, output_tokens=100)
    scores = path_metrics([logged, error("a"), error("b"), error("c")])
    assert scores["error_rate"] == 1
    assert scores["tool_precision"] == scores["recovery_quality"] == 0
    assert scores["token_efficiency"] == scores["token_efficiency_log"] == 0
    # .20·1 + .15·1 (no backtracks) of the whole weight
    assert scores["composite"] == 35 / 100


def test_sixty_equal_calls() -> None:
    scores = path_metrics([ok("a", {"x": 1})] * 60)
    assert scores["backtracking_rate"] == scores["backtracking_rate_calls"] == 59 / 60
    assert scores["tool_precision"] == 1 / 60
    assert scores["n_loops"] == 1
    assert scores["length_efficiency"] == 3 / 60


def test_a_retry_that_works() -> None:
    scores = path_metrics([error("a", {"x": 1}), ok("a", {"x": 1.0})])
    assert (scores["n_retry_same"], scores["n_retry_changed"], scores["n_recovered"]) == (1, 0, 1)
    assert scores["recovery_quality"] == 1  # one step away
    assert scores["tool_precision"] == 1 / 2  # the retry is precise, the failure is not
    assert scores["backtracking_rate"] == 1 / 2
    exempt = path_metrics([error("a", {"x": 1}), ok("a", {"x": 1.0})], retries="exempt")
    assert exempt["backtracking_rate"] == 0


def test_a_retry_looks_at_its_last_equal_predecessor() -> None:
    fail_then_twice_ok = [error("a"), ok("a"), ok("a")]
    assert backtrack_flags(fail_then_twice_ok, retries="exempt") == [False, False, True]
    ok_fail_ok = [ok("a"), error("a"), ok("a")]
    assert backtrack_flags(ok_fail_ok, retries="exempt") == [False, True, False]
    assert path_metrics(ok_fail_ok)["tool_precision"] == 1 / 3  # the last repeats the first


def test_retries_of_a_tool_need_not_follow_at_once() -> None:
    """a(1) fails → a(2), changed; a(2) fails → a(2), same; b fails → nothing more of b."""
    steps = [
        *(error("a", {"x": 1}), LLM, ok("c"), error("a", {"x": 2}), error("b"), ok("a", {"x": 2})),
    ]
    scores = path_metrics(steps)
    assert (scores["n_retry_same"], scores["n_retry_changed"], scores["n_recovered"]) == (1, 1, 2)
    # steps to the next success: 2 (c), 2 (a), 1 (a); mean 5/3, 1 - (2/3)/5
    assert scores["recovery_quality"] == 13 / 15


@pytest.mark.parametrize(
    ("between", "window_unit", "rate"),
    [
        pytest.param([LLM] * 7, "steps", 1 / 9, id="the eighth step back"),
        pytest.param([LLM] * 8, "steps", 0, id="the ninth step back"),
        pytest.param([LLM] * 8, "calls", 1 / 10, id="the call before"),
        pytest.param([MESSAGE] * 20, "steps", 1 / 2, id="messages are no decisions"),
        pytest.param([ok(name) for name in "bcdefgh"], "calls", 1 / 9, id="the eighth call back"),
        pytest.param([ok(name) for name in "bcdefghi"], "calls", 0, id="the ninth call back"),
    ],
)
def test_backtracking_window(between: list[Step], window_unit: str, rate: float) -> None:
    steps = [ok("a", {"x": 1}), *between, ok("a", {"x": 1})]
    assert path_metrics(steps, window_unit=window_unit)["backtracking_rate"] == rate


def test_other_arguments_are_no_repeat() -> None:
    pages = [ok("a", {"cursor": cursor}) for cursor in (1, True, "1", None)]
    assert backtrack_flags([*pages, ok("b", {"cursor": 1})]) == [False] * 5
    assert backtrack_flags([ok("a", Invalid("{")), ok("a", Invalid("{"))]) == [False, True]


@pytest.mark.parametrize(
    ("names", "spans"),
    [
        ("", []),
        ("aa", []),
        ("aaa", [(0, 3)]),
        ("aaaaaa", [(0, 6)]),  # "aa" three times is no primitive cycle
        ("abab", []),
        ("xabababy", [(1, 7)]),
        ("abababa", [(0, 7)]),  # one run, whether it is read as ab or as ba
        ("abcdabcdabcd", [(0, 12)]),
        ("abcdeabcdeabcde", []),  # a cycle of five
        ("aaabbb", [(0, 3), (3, 6)]),
        ("aaabaaabaaab", [(0, 3), (4, 7), (8, 11), (0, 12)]),  # loops within a loop
    ],
)
def test_loops(names: str, spans: list[tuple[int, int]]) -> None:
    steps = [step for name in names for step in (LLM, ok(name))]
    assert loops(steps) == spans
    assert path_metrics(steps)["n_loops"] == len(spans)


def test_recovery_counts_later_responses_where_they_are_known() -> None:
    steps = [error("a"), LLM, LLM, ok("b")]
    assert path_metrics(steps)["recovery_quality"] == 3 / 5  # three steps
    known = [in_response(step, i) for step, i in zip(steps, (0, 1, 2, 2), strict=True)]
    assert path_metrics(known)["recovery_quality"] == 4 / 5  # two responses
    parallel = [error("a"), ok("b")]
    assert path_metrics(parallel)["recovery_quality"] == 1
    assert path_metrics([in_response(s, 0) for s in parallel])["recovery_quality"] == 0


def test_recovery_within_reach_and_just_beyond() -> None:
    five_away = [error("a"), LLM, LLM, LLM, LLM, ok("a")]
    assert path_metrics(five_away)["recovery_quality"] == 1 / 5  # 1 - 4/5
    assert path_metrics([five_away[0], LLM, *five_away[1:]])["recovery_quality"] == 0
    # ten steps count as six, beside one step: mean 3.5
    far_and_near = [error("a"), *[LLM] * 8, error("b"), ok("a")]
    assert path_metrics(far_and_near)["recovery_quality"] == 1 / 2
    assert path_metrics(five_away, max_recovery=10)["recovery_quality"] == 3 / 5  # 1 - 4/10


@pytest.mark.parametrize(
    ("options", "efficiency"),
    [
        ({}, 1 / 2),  # two tools: 5 steps, of 10
        ({"min_steps": 4}, 4 / 10),
        ({"min_steps": 4, "n_expected": 3, "reference_complete": True}, 4 / 10),
        ({"n_expected": 3, "reference_complete": True}, 7 / 10),
        ({"n_expected": 3}, 1 / 2),
        ({"n_expected": 9, "reference_complete": True}, 1),
        ({"n_expected": 0, "reference_complete": True}, 1 / 10),
    ],
)
def test_length_efficiency(options: dict[str, int], efficiency: float) -> None:
    steps = [MESSAGE, LLM, ok("a"), ok("b"), ok("a"), *[LLM] * 5, FINAL]
    assert path_metrics(steps, **options)["length_efficiency"] == efficiency  # type: ignore[arg-type]


def test_length_efficiency_without_tools() -> None:
    assert path_metrics([LLM, LLM, LLM, FINAL])["length_efficiency"] == 1 / 2  # at least 2 steps


def test_tokens() -> None:
    def scores(*steps: Step) -> tuple[float | None, float | None]:
        metrics = path_metrics(steps)
        return metrics["token_efficiency"], metrics["token_efficiency_log"]

    spent = LLM._replace(input_tokens=1500, output_tokens=500)
    assert scores(spent, ok("a"), error("b")) == (1 / 4, 1 / log(2001))  # one useful call
    assert scores(spent, *map(ok, "abcdefgh")) == (1, 8 / log(2001))  # 250 tokens a call
    assert scores(spent) == (None, 0)
    assert scores(LLM._replace(input_tokens=0), ok("a")) == (1, None)
    huge = [Step("llm_call", input_tokens=4 * 10**9), Step("final", output_tokens=4 * 10**9)]
    assert path_metrics(huge)["total_tokens"] == 8 * 10**9


def test_a_format_without_error_signal() -> None:
    scores = path_metrics([LLM, silent("a"), silent("a"), FINAL])
    assert scores["error_rate"] is scores["tool_precision"] is scores["recovery_quality"] is None
    failures = ("n_errors", "n_recovered", "n_retry_same", "n_retry_changed")
    assert [scores[count] for count in failures] == [None] * 4
    assert scores["backtracking_rate"] == 1 / 4
    assert scores["composite"] is None  # length .20 and backtracking .15 are left


def test_one_uncaptured_call_leaves_repeats_unknown() -> None:
    scores = path_metrics([error("a", NOT_CAPTURED), ok("a", {}), FINAL])
    unknown = {
        *("backtracking_rate", "backtracking_rate_calls", "tool_precision", "n_loops"),
        *("n_retry_same", "n_retry_changed", "n_backtracks", "n_clean", "n_duplicate"),
        *("n_turns", "n_outputs", "n_outputs_used", "output_used_rate", "abandonments"),
    }
    tokens = {column for column in scores if "token" in column}
    assert {column for column, value in scores.items() if value is None} == unknown | tokens
    assert (scores["n_recovered"], scores["error_rate"]) == (1, 1 / 2)
    # .20·1 + .15·1 + .15·½ of .50
    assert scores["composite"] == 425 / 500


def test_similar_arguments() -> None:
    """{"q":"aaa"} and {"q":"aab"}: 11 characters each, 10 shared, 2·10/22 = 10/11."""
    steps = [ok("s", {"q": "aaa"}), ok("s", {"q": "aab"}), ok("t", {"q": "aab"})]
    assert backtrack_flags(steps, similarity=0.9) == [False, True, False]
    assert backtrack_flags(steps, similarity=0.91) == [False] * 3
    assert indel_similarity("abcd", "bcda") == Fraction(3, 4)  # bcd of eight characters


def test_progress_and_exempt_tools() -> None:
    pages = [ok("list", {"q": "x", "page": page}) for page in (1, 2, 2.0)]
    assert backtrack_flags(pages, similarity=0.8) == [False, True, True]
    assert backtrack_flags(pages, similarity=0.8, progress_args=["page"]) == [False, False, True]
    assert backtrack_flags(pages, similarity=0.8, exempt=["l*"]) == [False] * 3
    assert progressed(ok("list"), pages[0], ["page"])
    assert not progressed(ok("list"), pages[0], ["cursor"])


def test_errors_that_outputs_tell_of() -> None:
    calls = [silent("a")._replace(output=out) for out in ("Error: no", "fine", "", None)] + [
        error("b")
    ]
    assert path_metrics(calls, error_patterns=["^Error"])["error_rate"] == 2 / 5
    assert path_metrics(calls, empty_output=True)["error_rate"] == 3 / 5  # "", None, the format's
    assert path_metrics([silent("a")], empty_output=True)["error_rate"] is None
    assert path_metrics([silent("a")], error_patterns=["x"])["error_rate"] is None


def test_outputs_used() -> None:
    """12.5 turns up later; "seat" is the call's own argument; 12 is another number than 12.5."""
    steps = [
        ok("price", {"of": "seat"})._replace(output="seat: 12.5"),
        ok("price", {"of": "seat"})._replace(output="seat 12"),
        FINAL._replace(content="A seat costs 12.5 euros"),
    ]
    assert path_metrics(steps, used=True)["output_used_rate"] == 1 / 2
    assert path_metrics(steps)["output_used_rate"] is None
    by_call = [steps[0], ok("pay", {"amount": 12.5}), MESSAGE._replace(content="12")]
    assert path_metrics([*by_call, steps[1]], used=True)["output_used_rate"] == 1 / 2


def test_abandonments() -> None:
    texts = [LLM._replace(content=text) for text in ("I give up", "never mind, I GIVE UP", None)]
    told = path_metrics(
        [*texts, MESSAGE._replace(content="give up")], abandon_patterns=["(?i)give up"]
    )
    assert told["abandonments"] == 2
    assert path_metrics([LLM], abandon_patterns=["give up"])["abandonments"] is None


def test_the_textbook_composite() -> None:
    """Idle runs score .95, completed ones 1: the defect that the other composite does not have."""
    assert path_metrics([FINAL])["composite_textbook"] == 0.95
    assert path_metrics([FINAL], completed=True)["composite_textbook"] == 1
    # .20·1 + .25·½ + .15·1 + .15·0 + .10·½ + .15·½ = .60
    assert path_metrics([ok("a"), error("b")])["composite_textbook"] == 0.6
    assert path_metrics([ok("a"), error("b")], completed=True)["composite_textbook"] == 0.7


@given(step_lists)
def test_path_laws(steps: list[Step]) -> None:
    scores = path_metrics(steps)
    for column, value in scores.items():
        if column.startswith("n_"):
            assert value is None or type(value) is int
        elif "tokens" not in column and column != "token_efficiency_log":
            assert value is None or 0 <= value <= 1
    exempt = path_metrics(steps, retries="exempt")["backtracking_rate"]
    if exempt is not None:
        assert exempt <= (scores["backtracking_rate"] or 0)
