"""Tokens read include cached ones, also where a log tells these beside the others."""

from __future__ import annotations

from typing import Any

import pytest

from tests.reading import decode, labels


def generation(details: dict[str, int]) -> dict[str, Any]:
    return {
        "id": "o1", "traceId": "t1", "type": "GENERATION", "name": "llm", "usageDetails": details,
        "startTime": "2026-05-04T10:00:00Z", "endTime": "2026-05-04T10:00:01Z", "model": "m",
        "output": {"role": "assistant", "content": "Hi"},
    }  # fmt: skip


@pytest.mark.parametrize(
    ("details", "told"),
    [
        # Beside: the total is the sum of all.
        ({"input": 100, "cache_read_input_tokens": 20, "input_cached_tokens": 10, "output": 5, "output_reasoning_tokens": 4, "total": 139}, (130, 9)),
        # Within: the total is that of input and output.
        ({"input": 130, "input_cached_tokens": 30, "output": 9, "output_reasoning_tokens": 4, "total": 139}, (130, 9)),
        ({"input": 130, "output": 9, "total": 139}, (130, 9)),
        ({"input": 130, "output": 9}, (130, 9)),
    ],
)  # fmt: skip
def test_langfuse_tells_by_the_total(details, told):
    run = decode("langfuse", {"trace": {"id": "t1"}, "observations": [generation(details)]}).run
    assert (run.steps[0].input_tokens, run.steps[0].output_tokens) == told


def sample(usage: dict[str, dict[str, int]], **more: Any) -> Any:
    chat = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Bye"}]
    record = {"id": 1, "epoch": 1, "input": "Hi", "messages": chat, "model_usage": usage, **more}
    return decode("inspect_log", record).run


@pytest.mark.parametrize(
    ("usage", "told"),
    [
        # Anthropic's input leaves cached tokens out: 10 + 30 + 5 + 2 = 47.
        ({"input_tokens": 10, "input_tokens_cache_read": 30, "input_tokens_cache_write": 5, "output_tokens": 2, "total_tokens": 47}, (45, 2)),
        # OpenAI's has them: 40 + 2 = 42.
        ({"input_tokens": 40, "input_tokens_cache_read": 30, "output_tokens": 2, "total_tokens": 42}, (40, 2)),
    ],
)  # fmt: skip
def test_inspect_tells_by_the_total(usage, told):
    run = sample({"a": usage, "b": {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}})
    assert (run.steps[-1].input_tokens, run.steps[-1].output_tokens) == (told[0] + 1, told[1] + 1)


def test_verdicts_of_inspect_that_are_no_numbers_are_kept():
    assert labels(sample({}, scores={"q": {"value": {"a": 1, "b": 0.5}}})) == {
        "scores": {"q": {"a": 1, "b": 0.5}}
    }
    assert labels(sample({}, scores={"q": {"value": "B"}})) == {"scores": {"q": "B"}}
    assert not labels(sample({}, scores={"q": {"value": "C"}}))
    assert not labels(sample({}, scores={"q": {"value": None}}))


def test_runs_loaded_with_their_children():
    """LangSmith's client hands a run over with the runs beneath it inside."""
    llm = {
        "id": "2", "run_type": "llm", "name": "m", "inputs": {}, "start_time": "2026-05-04T10:00:01",
        "outputs": {"role": "assistant", "content": "Hi"}, "prompt_tokens": 5, "completion_tokens": 2,
    }  # fmt: skip
    tool = {
        "id": "4",
        "run_type": "tool",
        "name": "f",
        "inputs": {"a": 1},
        "outputs": {"output": "1"},
    }
    node = {
        "id": "3",
        "run_type": "chain",
        "name": "node",
        "child_runs": [{**tool, "start_time": "2026-05-04T10:00:00.5"}],
    }
    root = {
        "id": "1",
        "trace_id": "1",
        "run_type": "chain",
        "name": "desk",
        "child_runs": [llm, node],
    }
    run = decode("langsmith", [root]).run
    assert [(s.kind, s.tool_name, s.input_tokens) for s in run.steps] == [
        ("tool_call", "f", None),
        ("final", None, 5),
    ]
    assert (run.run_id, run.agent) == ("1", "desk")


@pytest.mark.parametrize(
    "told",
    [
        {"usage_metadata": {"input_tokens": 10, "output_tokens": 3, "total_tokens": 13}},
        {"response_metadata": {"token_usage": {"prompt_tokens": 10, "completion_tokens": 3}}},
        {"response_metadata": {"tokenUsage": {"promptTokens": 10, "completionTokens": 3}}},
        {"response_metadata": {"usage": {"input_tokens": 4, "cache_read_input_tokens": 6, "output_tokens": 3}}},
        {"usage": {"inputTokens": 10, "outputTokens": 3, "totalTokens": 13}},
        # Told twice, counted once.
        {
            "usage_metadata": {"input_tokens": 10, "output_tokens": 3},
            "response_metadata": {"token_usage": {"prompt_tokens": 10, "completion_tokens": 3}},
        },
    ],
)  # fmt: skip
def test_wherever_a_message_keeps_them(told):
    chat = [{"type": "human", "content": "Hi"}, {"type": "ai", "content": "Bye", **told}]
    run = decode("messages", chat).run
    assert (run.steps[1].input_tokens, run.steps[1].output_tokens) == (10, 3)
    assert labels(run.steps[1]) in (None, {})
