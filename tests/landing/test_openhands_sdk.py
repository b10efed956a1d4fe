"""Events of OpenHands' SDK (V1) land: calls as the model made them, results by their action's id."""

from __future__ import annotations

import json
from typing import Any

import pytest
from reading import args, calls, decode, labels, read, sniff
from sessions import tokens, told

from pipeline.landing.model import RejectError

ACTION = {"command": "ls", "is_input": False, "kind": "TerminalAction"}
GIVEN = {"command": "ls", "security_risk": "LOW", "summary": "list"}


def _act(
    event_id: str, of: str | None = "r", tool: str = "terminal", **more: Any
) -> dict[str, Any]:
    call = {"id": f"c{event_id}", "name": tool, "arguments": json.dumps(GIVEN)}
    return {
        "id": event_id, "kind": "ActionEvent", "source": "agent", "tool_name": tool,
        "tool_call_id": f"c{event_id}", "tool_call": call, "action": ACTION, "llm_response_id": of,
        "thought": [{"type": "text", "text": "I look."}], **more,
    }  # fmt: skip


def _saw(of: str, kind: str = "ObservationEvent", **more: Any) -> dict[str, Any]:
    seen = {"id": f"o{of}", "kind": kind, "source": "environment", "tool_call_id": f"c{of}"}
    return {**seen, "tool_name": "terminal", "action_id": of, **more}


def _result(text: str = "ok", **more: Any) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}], "is_error": False, **more}


def _said(source: str | None, text: str, **more: Any) -> dict[str, Any]:
    parts = [{"type": "text", "text": text}, {"type": "image", "image_urls": ["data:"]}]
    return {"id": text, "kind": "MessageEvent", "source": source, "llm_message": {"content": parts}, **more}  # fmt: skip


def _run(*events: Any) -> Any:
    return decode("openhands_events", list(events)).run


def test_task_parallel_calls_results_and_finish() -> None:
    bye = {"message": "Done.", "kind": "FinishAction"}
    run = _run(
        {"id": "0", "kind": "SystemPromptEvent", "source": "agent", "system_prompt": {"text": "P"}},
        _said("user", "Hi", timestamp="2026-05-04T12:00:00"),
        _act("1"),
        _act("2"),
        _saw("2", observation=_result("two")),
        _saw("1", observation=_result("one")),
        _act("3", "r2", "finish", thought=[], action=bye, timestamp="2026-05-04T12:00:09"),
        _saw("3", observation={"content": "Done.", "kind": "FinishObservation"}),
    )
    assert told(run, "kind", "actor", "response_index", "content") == [
        ("message", "system", None, "P"),
        ("message", "user", None, "Hi"),
        ("llm_call", "agent", 0, "I look."),
        ("tool_call", "agent", 0, None),
        ("tool_call", "agent", 0, None),
        ("llm_call", "agent", 1, None),
        ("tool_call", "agent", 1, None),
    ]
    assert [(call.output, call.is_error, call.call_id) for call in calls(run)] == [
        ("one", False, "c1"),
        ("two", False, "c2"),
        ("Done.", False, "c3"),
    ]
    assert (run.completed, run.status, run.final_output) == (True, "ok", "Done.")
    assert (run.started_at, run.ended_at) == ("2026-05-04T12:00:00", "2026-05-04T12:00:09")
    assert run.prompt_hash is not None


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({}, '{"command":"ls"}'),
        ({"tool_call": {"function": {"name": "f", "arguments": '{"x": 1}'}}}, '{"x":1}'),
        ({"tool_call": None}, '{"command":"ls","is_input":false}'),
        ({"tool_call": None, "action": {"kind": "MCPToolAction", "data": {"q": 1}}}, '{"q":1}'),
        ({"action": {"kind": "A", "summary": "s"}}, '{"command":"ls","summary":"list"}'),
        ({"tool_call": None, "action": None}, "not_captured"),
    ],
)
def test_arguments_are_the_models_own(more: dict[str, Any], expected: str) -> None:
    """What the program asks beside them, the risk and a summary, is none of the tool's."""
    assert [args(call) for call in calls(_run(_act("1", **more)))] == [expected]


def test_a_call_the_program_could_not_read_keeps_its_arguments() -> None:
    run = _run(_act("1", action=None), _saw("?", "AgentErrorEvent", tool_call_id="c1", error="no"))
    (call,) = calls(run)
    assert json.loads(args(call)) == GIVEN
    assert (call.is_error, call.error) == (True, "no")


@pytest.mark.parametrize(
    ("observation", "is_error", "error", "output"),
    [
        (_result(), False, None, "ok"),
        (_result(is_error=True), True, None, "ok"),
        (_result(exit_code=2), True, None, "ok"),
        (_result(metadata={"exit_code": 1}), True, None, "ok"),
        ({"output": "old", "error": False, "exit_code": 0}, False, None, "old"),
        ({"output": "", "error": "no such file"}, True, "no such file", ""),
        ({"kind": "X", "value": 1}, False, None, {"value": 1}),
    ],
)
def test_what_an_observation_says(
    observation: dict[str, Any], is_error: bool, error: str | None, output: Any
) -> None:
    (call,) = calls(_run(_act("1"), _saw("1", observation=observation)))
    assert (call.is_error, call.error, call.output) == (is_error, error, output)


def test_a_rejection_is_no_fault_of_the_tools() -> None:
    run = _run(_act("1"), _saw("1", "UserRejectObservation", rejection_reason="Not now"))
    (call,) = calls(run)
    assert (call.is_error, call.output, call.labels) == (False, "Not now", {"rejected": True})


def test_the_last_state_tells_tokens_cost_and_model() -> None:
    def used(tokens_in: int) -> dict[str, Any]:
        spent = {"model_name": "m", "accumulated_cost": 0.5, "accumulated_token_usage": {"prompt_tokens": tokens_in, "completion_tokens": 3}}  # fmt: skip
        return {"usage_to_metrics": {"agent": spent, "condenser": {**spent, "accumulated_cost": 0.25}}}  # fmt: skip

    state = {"id": "s", "kind": "ConversationStateUpdateEvent", "source": "environment"}
    run = _run(
        _said("user", "Hi"),
        {**state, "key": "stats", "value": used(5)},
        _said("agent", "Hello."),
        {**state, "key": "full_state", "value": {"stats": used(10)}},
        {**state, "key": "execution_status", "value": "finished"},
    )
    assert (tokens(run), run.model, run.final_output) == ((20, 6), "m", "Hello.")
    assert [step.cost_usd for step in run.steps] == [None, 0.75]


def test_a_failed_and_an_unfinished_run() -> None:
    failure = {
        "id": "e",
        "kind": "ConversationErrorEvent",
        "source": "environment",
        "detail": "down",
    }
    assert _run(_act("1"), failure).status == "error"
    assert _run(_act("1")).status == "incomplete"
    assert (
        _run(_act("1"), {"id": "p", "kind": "PauseEvent", "source": "user"}).status == "incomplete"
    )


def test_evaluation_output(tmp_path: Any) -> None:
    history = [_said("user", "Hi"), _act("1"), _saw("1", observation=_result())]
    usage = {"accumulated_token_usage": {"prompt_tokens": 9, "completion_tokens": 1}}
    record = {"instance_id": "i-1", "instruction": "Hi", "history": history, "metrics": usage}
    path = tmp_path / "output.jsonl"
    path.write_text(json.dumps(record) + "\n")
    run = read("openhands_output", path).run
    assert (run.task_id, tokens(run), len(calls(run))) == ("i-1", (9, 1), 1)


def test_sniff_and_refusal() -> None:
    assert sniff("openhands_events", [_act("1")])
    assert not sniff("openhands_events", [{"kind": "ActionEvent"}])
    with pytest.raises(RejectError, match="wrong_type"):
        _run(_act("1"), {"kind": 1})


def test_messages_without_a_source_or_words() -> None:
    """Who is not named is the user; an agent may say nothing."""
    at = "2026-05-04T12:00:00"
    run = _run(_said(None, "Hi"), {**_said("agent", "x", timestamp=at), "llm_message": None})  # fmt: skip
    assert told(run, "kind", "actor", "content", "started_at") == [
        ("message", "user", "Hi", None),
        ("llm_call", "agent", None, at),
    ]


def test_what_was_thought_and_a_finish_that_nothing_answers() -> None:
    for message, words in (("Done.", "Done."), ("", None), (5, None)):
        end = _act("2", "s", "finish", thought=[], action={"message": message})
        run = _run(_act("1", reasoning_content="Hm."), _saw("1", observation=_result()), end)
        assert (run.status, run.final_output) == ("ok", words)
        assert run.steps[0].labels == {"reasoning": "Hm."}


def test_a_failure_without_words_and_an_event_nobody_knows() -> None:
    run = _run(_said("user", "Hi"), {"kind": "ConversationErrorEvent"}, {"kind": "Odd"}, {"kind": "PauseEvent"})  # fmt: skip
    assert run.status == "error"
    assert labels(run) == {"kind": "Odd"}


def test_models_that_tell_tokens_alone_or_cost_alone() -> None:
    used = {
        "a": {"accumulated_token_usage": {"prompt_tokens": 7}},
        "b": {"accumulated_cost": 0.5},
        "c": {"accumulated_token_usage": {"completion_tokens": 2}},
    }
    state = {"kind": "ConversationStateUpdateEvent", "key": "stats", "value": {"usage_to_metrics": used}}  # fmt: skip
    run = _run(_said("agent", "Hi"), state)
    assert tokens(run) == (7, 2)
    assert [step.cost_usd for step in run.steps] == [0.5]
    del used["a"], used["c"]
    assert tokens(_run(_said("agent", "Hi"), state)) == (0, 0)
