"""Scored paths equal the slow textbook oracle's, whatever the policy."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from making import run
from oracle import Step, backtrack_flags, loops, path_metrics
from reading import SAMPLES
from scoring.judging import add, scored
from scoring.walking import PATH, agree, marked, outputs, policies, record, texts, told_runs, walked

from pipeline.landing.land import land
from pipeline.metrics.registry import metrics

if TYPE_CHECKING:
    from collections.abc import Iterator

some = settings(max_examples=max(20, settings.default.max_examples // 2))


@some
@given(
    st.lists(st.tuples(told_runs(), st.sampled_from([None, False, True])), min_size=1, max_size=15),
    policies(),
)
def test_paths_under_any_policy(
    runs: list[tuple[list[Step], bool | None]], policy: tuple[str, dict[str, Any]]
) -> None:
    text, options = policy
    with tempfile.TemporaryDirectory() as folder:
        lake = Path(folder, "lake")
        records = [
            run(f"r{i:03}", *map(record, steps), completed=done)
            for i, (steps, done) in enumerate(runs)
        ]
        add(lake, "trajtab", *records)
        table = scored(lake, text).to_dicts()
        calls = marked(lake)
    for row, (steps, done) in zip(table, runs, strict=True):
        agree(row, path_metrics(steps, **options, completed=done))
        agree_calls(
            [call for call in calls if call["run_id"] == row["run_id"]], steps, row, options
        )


def agree_calls(
    calls: list[dict[str, Any]], steps: list[Step], row: dict[str, Any], options: dict[str, Any]
) -> None:
    """The marks of calls are the oracle's, at the calls' places, and sum up to the run's counts."""
    assert [call["step_index"] for call in calls] == [
        index for index, step in enumerate(steps) if step.kind == "tool_call"
    ]
    retries = row["n_retry_same"], row["n_retry_changed"]
    if row["n_backtracks"] is None:
        assert {(call["is_backtrack"], call["in_loop"]) for call in calls} == {(None, None)}
        return
    assert sum(call["is_retry"] for call in calls) == sum(retries)
    assert [call["in_loop"] for call in calls] == [
        any(start <= number < end for start, end in loops(steps)) for number in range(len(calls))
    ]
    assert sum(call["is_backtrack"] for call in calls) == row["n_backtracks"]
    failures = {"error_patterns", "empty_output"} & set(options)
    if not failures:
        named = ("window", "window_unit", "retries", "similarity", "exempt", "progress_args")
        asked = {name: value for name, value in options.items() if name in named}
        assert [call["is_backtrack"] for call in calls] == backtrack_flags(steps, **asked)


# A chat: what the model says and calls, what the tools return, and here and there how it went.
said_calls = st.tuples(
    st.sampled_from("ab"),
    st.sampled_from(["{}", '{"x":1}', '{"x":2}']),
    st.tuples(outputs, st.sampled_from([None, None, True, False])),
)
replies = st.tuples(texts, st.lists(said_calls, max_size=4))


def chat(
    replies: list[tuple[str | None, list[tuple[str, str, tuple[str | None, bool | None]]]]],
) -> Iterator[dict[str, Any]]:
    yield {"role": "user", "content": "Do it."}
    for number, (text, called) in enumerate(replies):
        ids = [f"{number}-{place}" for place in range(len(called))]
        asked = [
            {"id": i, "type": "function", "function": {"name": name, "arguments": args}}
            for i, (name, args, _) in zip(ids, called, strict=True)
        ]
        yield {"role": "assistant", "content": text, **({"tool_calls": asked} if asked else {})}
        for i, (_, _, (output, failed)) in zip(ids, called, strict=True):
            signal = {} if failed is None else {"is_error": failed}
            if output is not None:
                yield {"role": "tool", "tool_call_id": i, "content": output, **signal}


@some
@given(st.lists(st.lists(replies, max_size=8), min_size=1, max_size=15), policies())
def test_chats_with_hardly_an_error_signal(
    chats: list[Any], policy: tuple[str, dict[str, Any]]
) -> None:
    """A call without one, beside others that have one, has not failed; of none nothing is known."""
    text, options = policy
    with tempfile.TemporaryDirectory() as folder:
        lake = Path(folder, "lake")
        records = [{"id": f"r{i:03}", "messages": list(chat(c))} for i, c in enumerate(chats)]
        add(lake, "openai_chat", *records)
        table, runs = scored(lake, text).to_dicts(), walked(lake)
    for row in table:
        agree(row, path_metrics(runs[row["run_id"]], **options))


@pytest.mark.parametrize("policy", [{}, {"used": True, "similarity": 0.8, "empty_output": True}])
def test_sample_logs_of_every_format(tmp_path: Path, policy: dict[str, Any]) -> None:
    """References and tasks aside, which the length rests on too."""
    lake = tmp_path / "lake"
    land([SAMPLES], lake, workers=1)
    text = "[path]\noutput_used = true\n[backtracking]\nsimilarity = 0.8\n[errors]\nempty_output = true"
    table, runs = scored(lake, text if policy else "").to_dicts(), walked(lake)
    assert len(table) > 10
    for row in table:
        right = path_metrics(runs[row["run_id"]], **policy)
        for name in ("length_efficiency", "composite", "composite_textbook"):
            right[name] = row[name]
        agree(row, right)


def test_the_oracle_has_every_path_metric() -> None:
    families = ("path", "recovery", "efficiency", "composite")
    ours = {name for name, metric in metrics().items() if metric.family in families}
    assert ours - set(PATH) == {"min_steps_source", "n_duplicate_names"}
