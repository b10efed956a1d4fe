"""Errors of calls, by the format's signal or by what their outputs tell, and how runs recover."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from making import call
from scoring.judging import add, scored
from scoring.pathing import LLM, error, path_of, paths_of
from scoring.walking import marked

from pipeline.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path


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
