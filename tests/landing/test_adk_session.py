"""ADK sessions land: who spoke, which result answers which call, which turn it was."""

from __future__ import annotations

from typing import Any

import pytest
from reading import SAMPLES, args, calls, claimed, decode, kinds, labels, read, sniff

from pipeline.landing.model import RejectError

UUID = "9056575a-70ad-410e-84ea-a2af3aa7dbed"


def _said(text: str, author: str = "bot", invocation: str = "i", **more: Any) -> dict[str, Any]:
    return _event({"text": text}, author=author, invocation=invocation, **more)


def _event(
    *parts: dict[str, Any], author: str = "bot", invocation: str = "i", **more: Any
) -> dict[str, Any]:
    content = {"role": "user" if author == "user" else "model", "parts": list(parts)}
    return {"invocation_id": invocation, "author": author, "content": content, **more}


def _call(name: str, call_id: str | None = None, **arguments: Any) -> dict[str, Any]:
    return {"function_call": {"id": call_id, "name": name, "args": arguments}}


def _result(name: str, response: Any, call_id: str | None = None) -> dict[str, Any]:
    return {"function_response": {"id": call_id, "name": name, "response": response}}


def _run(*events: dict[str, Any], **session: Any) -> Any:
    return decode("adk_session", {"id": UUID, "events": list(events), **session}).run


def test_message_call_result_and_answer():
    run = _run(
        _said("Hi", author="user", timestamp=1.5),
        _event({"text": "Wait"}, _call("f", "c", x=1), timestamp=2.5),
        _event(_result("f", {"result": [1]}, "c")),
        _said("Done"),
    )
    assert kinds(run) == ["message", "llm_call", "tool_call", "final"]
    assert [step.actor for step in run.steps] == ["user", "agent", "agent", "agent"]
    assert [step.response_index for step in run.steps] == [None, 0, 0, 1]
    assert [step.started_at for step in run.steps] == [1.5, 2.5, 2.5, None]
    (call,) = calls(run)
    assert (args(call), call.output, call.is_error) == ('{"x":1}', {"result": [1]}, False)
    assert run.final_output == "Done"


def test_camel_case_session():
    event = {
        "invocationId": "i",
        "author": "bot",
        "content": {"parts": [{"functionCall": {"id": "c", "name": "f", "args": {"userId": 1}}}]},
        "usageMetadata": {
            "promptTokenCount": 9,
            "candidatesTokenCount": 2,
            "thoughtsTokenCount": 3,
        },
        "modelVersion": "gemini",
    }
    run = decode(
        "adk_session", {"id": UUID, "appName": "app", "userId": "u", "events": [event]}
    ).run
    assert (run.agent, run.model, run.labels) == ("app", "gemini", {"user_id": "u"})
    assert [args(call) for call in calls(run)] == ['{"userId":1}']
    assert (run.steps[0].input_tokens, run.steps[0].output_tokens) == (9, 5)


@pytest.mark.parametrize("call", [{"name": "f"}, {"name": "f", "args": None}])
def test_absent_arguments_are_none_not_unknown(call):
    assert [args(step) for step in calls(_run(_event({"function_call": call})))] == ["{}"]


def test_results_without_ids_join_by_name_and_order():
    run = _run(
        _event(_call("f", x=1), _call("g"), _call("f", x=2)),
        _event(_result("f", {"n": 1}), _result("f", {"n": 2}), _result("g", {"n": 3})),
    )
    assert [call.output["n"] for call in calls(run)] == [1, 3, 2]


def test_result_answers_the_nearest_open_call_of_its_name():
    run = _run(
        _event(_call("f", x=1)),
        _event(_call("f", x=2)),
        _event(_result("f", {"n": 2})),
        _event(_result("f", {"n": 1})),
    )
    assert [call.output["n"] for call in calls(run)] == [1, 2]


def test_repeated_ids_join_to_the_nearest_open_call():
    run = _run(
        _event(_call("f", "c", x=1)),
        _event(_result("f", {"n": 1}, "c")),
        _event(_call("f", "c", x=2)),
        _event(_result("f", {"n": 2}, "c")),
    )
    assert [call.output["n"] for call in calls(run)] == [1, 2]


def test_identical_calls_each_get_their_result():
    run = _run(
        _event(_call("f", "c"), _call("f", "c")),
        _event(_result("f", {"n": 1}, "c"), _result("f", {"n": 2}, "c")),
    )
    assert [call.output["n"] for call in calls(run)] == [1, 2]


@pytest.mark.parametrize(("asked", "answered"), [("c", None), (None, "c")])
def test_an_id_on_one_side_alone_joins_by_name(asked, answered):
    run = _run(
        _event(_call("g", asked), _call("f", asked)), _event(_result("f", {"n": 1}, answered))
    )
    assert [call.output for call in calls(run)] == [None, {"n": 1}]


def test_a_result_without_a_name_answers_the_first_open_call():
    unnamed = {"function_response": {"response": {"n": 1}}}
    run = _run(_event(_call("f"), _call("g")), _event(unnamed))
    assert [call.output for call in calls(run)] == [{"n": 1}, None]


def test_a_result_answers_no_call_of_another_id():
    run = _run(_event(_call("f", "c")), _event(_result("f", {"n": 1}, "d")))
    assert kinds(run) == ["llm_call", "tool_call", "message"]
    assert (calls(run)[0].output, run.steps[-1].call_id) == (None, "d")


def test_an_event_may_bring_a_result_and_speak():
    run = _run(_event(_call("f")), _event(_result("f", {"n": 1}), {"text": "One."}))
    assert kinds(run) == ["llm_call", "tool_call", "final"]
    assert (calls(run)[0].output, run.final_output) == ({"n": 1}, "One.")


def test_a_call_without_a_name_is_one_all_the_same():
    (call,) = calls(_run(_event({"function_call": {"args": {"x": 1}}})))
    assert (call.tool_name, args(call)) == ("", '{"x":1}')


def test_ids_that_are_empty_text_are_no_ids():
    run = _run(_event(_call("f", ""), _call("g", "")), _event(_result("g", {"n": 1}, "")))
    assert [call.call_id for call in calls(run)] == [None, None]
    assert [call.output for call in calls(run)] == [None, {"n": 1}]


def test_result_without_a_call_stays_as_a_message():
    asked = _said("Hi", author="user", invocation="h")
    run = _run(asked, _event(_result("f", {"n": 1}, "unknown"), timestamp=1.5))
    _, step = run.steps
    assert (step.turn_index, step.started_at) == (1, 1.5)
    assert (step.kind, step.actor, step.content, step.call_id) == (
        "message",
        "tool",
        {"n": 1},
        "unknown",
    )
    assert step.labels == {"orphan_result": True, "tool_name": "f"}


def test_a_result_that_the_user_gives_is_no_message():
    """Who waits for a person has the person's answer logged as the user's."""
    answered = _event(_result("ask", {"ok": True}, "c"), author="user")
    run = _run(_said("Hi", author="user"), _event(_call("ask", "c")), answered)
    assert kinds(run) == ["message", "llm_call", "tool_call"]
    assert calls(run)[0].output == {"ok": True}


def test_what_is_not_known_of_an_event_stands_on_what_it_makes():
    mood = {"mood": "calm"}
    orphan = {"function_response": {"name": "g", "response": {}, "tint": 1}}
    silent = {"invocation_id": "i", "author": "bot"}
    run = _run(
        _said("Hi", author="user", mood="glad"),
        _event(_call("f"), **mood),
        _event(_result("f", {"n": 1}), **mood),
        _event(orphan),
        {**silent, **mood},
    )
    assert [labels(step) for step in run.steps] == [
        {"mood": "glad"},
        mood,
        {"result.mood": "calm"},
        {"orphan_result": True, "tool_name": "g", "tint": 1},
    ]
    assert labels(run) == {"events.mood": "calm"}
    assert labels(_run({**silent, "partial": True, **mood})) == {"events.mood": "calm"}


@pytest.mark.parametrize(
    ("response", "is_error", "error"),
    [
        ({"error": "no such tool"}, True, "no such tool"),
        ({"status": "error", "error_message": "bad city"}, True, "bad city"),
        ({"status": "error"}, True, None),
        ({"isError": True, "message": "refused"}, True, "refused"),
        ({"error": True, "message": "refused"}, True, "refused"),
        ({"error": None, "status": "success"}, False, None),
        ({"result": "Error: only text"}, False, None),
        ({}, False, None),
    ],
)
def test_error_is_what_the_response_says(response, is_error, error):
    (call,) = calls(_run(_event(_call("f")), _event(_result("f", response))))
    assert (call.is_error, call.error) == (is_error, error)


def test_call_without_a_result_has_no_error_signal_and_leaves_the_run_open():
    run = _run(_said("Hi", author="user"), _event(_call("f")))
    assert [call.is_error for call in calls(run)] == [None]
    assert run.status == "incomplete"


def test_turns_follow_invocations_and_state_events_open_none():
    state_only = {"invocation_id": "s", "author": "model", "actions": {"state_delta": {"x": 1}}}
    run = _run(
        state_only,
        _said("a", author="user", invocation="i1"),
        _said("b", invocation="i1"),
        state_only,
        _said("c", author="user", invocation="i2"),
        _said("d", invocation="i2"),
    )
    assert [(step.content, step.turn_index) for step in run.steps] == [
        ("a", 0),
        ("b", 0),
        ("c", 1),
        ("d", 1),
    ]


def test_an_invocation_is_a_turn_whoever_speaks_in_it():
    run = _run(
        _said("a", author="user", invocation="i1"),
        _said("b", author="user", invocation="i1"),
        _said("c", invocation="i2"),
        _said("d", invocation="i1"),
    )
    assert [step.turn_index for step in run.steps] == [0, 0, 1, 0]


def test_turns_follow_user_messages_where_no_invocation_is_named():
    said = [("Welcome", "bot"), ("a", "user"), ("b", "bot"), ("c", "user"), ("d", "bot")]
    run = _run(*(_said(text, author=author, invocation="") for text, author in said))
    assert [step.turn_index for step in run.steps] == [0, 0, 0, 1, 1]


def test_a_result_that_the_user_gives_opens_no_turn():
    given = _event(_result("ask", {"ok": True}), author="user", invocation="")
    said = [_said("a", author="user", invocation=""), _event(_call("ask"), invocation=""), given]
    run = _run(*said, _said("b", invocation=""), _said("c", author="user", invocation=""))
    assert [step.turn_index for step in run.steps] == [0, 0, 0, 0, 1]


def test_a_response_with_calls_is_no_final():
    assert kinds(_run(_event({"text": "Wait"}, _call("f")))) == ["llm_call", "tool_call"]


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ([], [], [None, "code_execution"]),
        ([{"text": "So."}], [], ["code_execution", None]),
        ([{"text": "So."}], [_call("f")], [None, "code_execution", "f"]),
    ],
)
def test_code_stands_before_what_is_said_of_its_output(before, after, told):
    """A response with calls, or without words, is what asked for the code."""
    code = {"executable_code": {"code": "1", "language": "PYTHON", "id": "x"}}
    ran = {"code_execution_result": {"outcome": "OUTCOME_OK", "output": "1", "id": "x"}}
    run = _run(_event(*before, code, ran, *after, timestamp=1.5, invocation="i"))
    assert [step.tool_name for step in run.steps] == told
    made = next(step for step in run.steps if step.tool_name == "code_execution")
    assert (made.output, made.is_error, made.call_id) == ("1", False, "x")
    assert {(step.turn_index, step.response_index, step.actor) for step in run.steps} == {
        (0, 0, "agent")
    }
    assert {step.started_at for step in run.steps} == {1.5}


@pytest.mark.parametrize(
    ("outcome", "failed"),
    [
        (None, False),
        ("OUTCOME_UNSPECIFIED", False),
        ("OUTCOME_FAILED", True),
        ("OUTCOME_DEADLINE_EXCEEDED", True),
    ],
)
def test_the_outcome_of_code(outcome, failed):
    (call,) = calls(
        _run(
            _event(
                {"executable_code": {"code": "1"}}, {"code_execution_result": {"outcome": outcome}}
            )
        )
    )
    assert call.is_error is failed


@pytest.mark.parametrize(
    ("usage", "read", "written"),
    [
        ({"prompt_token_count": 3}, 3, None),
        ({"tool_use_prompt_token_count": 5}, 5, None),
        ({"thoughts_token_count": 2}, None, 2),
        ({}, None, None),
    ],
)
def test_tokens_that_are_not_told_are_not_0(usage, read, written):
    (step,) = _run(_said("Hi", usage_metadata=usage)).steps
    assert (step.input_tokens, step.output_tokens) == (read, written)


def test_content_that_is_plain_text_or_empty():
    """Plain text, which ports write, was passed over in silence."""
    asked, plain, empty = (
        {"invocation_id": "i", "author": name} for name in ("user", "bot", "bot")
    )
    asked["content"], plain["content"] = {"content": "Hi"}, {"content": "Hello"}
    run = _run(asked, plain, {**empty, "content": {"role": "model"}, "error_code": 500})
    assert [(step.kind, step.content, step.error, step.labels) for step in run.steps] == [
        ("message", "Hi", None, None),
        ("final", "Hello", None, None),
        ("llm_call", None, "500", None),
    ]


def test_what_code_put_out_without_the_code_is_passed_over():
    run = _run(_event({"code_execution_result": {"outcome": "OUTCOME_OK"}}, {"text": "One."}))
    assert (kinds(run), run.final_output) == (["final"], "One.")


def test_last_response_without_calls_is_the_final():
    run = _run(_said("a"), _said("b"), _event(_call("f")), _said("c", author="user"))
    assert kinds(run) == ["llm_call", "final", "llm_call", "tool_call", "message"]


def test_partial_events_are_passed_over_and_thoughts_kept_apart():
    run = _run(
        _said("Do", partial=True),
        _event({"text": "think", "thought": True}, {"text": "Done"}, partial=False),
    )
    (step,) = run.steps
    assert (step.kind, step.content, step.labels) == ("final", "Done", {"thoughts": "think"})
    assert _run(_said("Done")).steps[0].labels is None


def test_sub_agents_are_named():
    run = _run(
        _said("to you", author="root"),
        _said("thanks", author="booker"),
        _said("bye", author="root"),
    )
    assert [step.actor for step in run.steps] == ["agent", "booker", "agent"]
    assert run.agent == "root"
    run = _run(_said("to you", author="root"), _event(_call("f"), author="booker"))
    assert [step.actor for step in run.steps] == ["agent", "booker", "booker"]


@pytest.mark.parametrize("author", [None, "model"])
def test_who_is_not_named_is_the_agent(author):
    run = _run(_event(_call("f"), author=author), _said("a", author="root"))
    assert [step.actor for step in run.steps] == ["agent"] * 3
    assert run.agent == "root"


def test_failed_model_response_is_told():
    failed = {"invocation_id": "i", "author": "bot", "error_code": "500", "error_message": "down"}
    run = _run(_said("Hi", author="user"), failed)
    assert (run.steps[-1].kind, run.steps[-1].error) == ("llm_call", "500: down")
    assert (run.status, run.final_output) == ("error", None)


@pytest.mark.parametrize(
    ("session_id", "run_id", "source_id"),
    [
        (UUID, UUID, None),
        (f"___eval___session___{UUID}", f"___eval___session___{UUID}", None),
        ("123", None, "123"),
    ],
)
def test_run_id_only_where_unique(session_id, run_id, source_id):
    run = decode("adk_session", {"id": session_id, "events": []}).run
    assert (run.run_id, run.source_id) == (run_id, source_id)


def test_state_of_any_age():
    assert _run(state={"isOpen": 1}).final_state == {"isOpen": 1}
    assert _run(context={"isOpen": 1}, past_events=[], pending_events={}).final_state == {
        "isOpen": 1
    }
    assert _run().final_state is None


def test_past_events_come_first_and_count_once():
    first = _said("a", id="e1")
    run = _run(first, _said("b", id="e2"), past_events=[_said("0", id="e0"), first])
    assert [step.content for step in run.steps] == ["0", "a", "b"]
    run = _run(_said("b"), _said("c"), past_events=[_said("0"), _said("a")])
    assert [step.content for step in run.steps] == ["0", "a", "b", "c"]  # none has an id


def test_logs_tell_of_their_event_what_it_does_not():
    def log(**more):
        usage = {"prompt_token_count": 1, "candidates_token_count": 2}
        return {"model_response": {"model_version": "old", "usage_metadata": usage}, **more}

    own = {"usage_metadata": {"prompt_token_count": 9}, "model_version": "new"}
    logs = [log(event_id="e1"), log(event_id="e2"), log(event_id="gone"), log(), {"event_id": "e3"}]
    events = [_said("a", id="e1"), _said("b", id="e2", **own), _said("c", id="e3"), _said("d")]
    run = _run(*events, event_logs=logs)
    assert [(step.input_tokens, step.output_tokens) for step in run.steps] == [
        (1, 2),
        (9, None),
        (None, None),
        (None, None),
    ]
    assert run.model == "old"
    assert _run(*events[1:], event_logs=logs).model == "new"


def test_how_a_session_ended():
    assert _run(_said("a", timestamp=1.5)).status == "ok"
    assert _run(_event(_call("f")), _event(_result("f", {}))).status == "ok"
    assert _run(_said("cut off", error_code="MAX_TOKENS")).status == "ok"
    assert _run(_said("a", timestamp=1.5), _said("b", timestamp=2.5)).ended_at == 2.5
    assert _run(_said("a", timestamp=1.5), last_update_time=9.5).ended_at == 9.5
    assert _run().ended_at is None


def test_empty_session_is_a_run_without_steps():
    run = _run(app_name="app", user_id="u")
    assert (run.steps, run.status, run.started_at) == ([], "ok", None)
    with pytest.raises(RejectError, match="missing_field"):
        decode("adk_session", {"events": []})


def test_sniff():
    assert sniff("adk_session", {"id": "1", "events": [{"invocationId": "i"}]})
    assert sniff("adk_session", {"id": "1", "appName": "a", "userId": "u", "events": []})
    assert (
        sniff("adk_session", {"id": "1", "events": [{"source": "agent", "action": "run"}]}) is None
    )
    assert sniff("adk_session", {"id": "1", "app_name": "a", "user_id": "u", "events": []})
    assert sniff("adk_session", {"id": "1", "events": []}) is None
    assert sniff("adk_session", {"id": "1", "events": [3]}) is None
    assert sniff("adk_session", {"id": "1", "app_name": "a", "user_id": "u", "events": {}}) is None


def test_real_sessions_give_their_figures(real_data, expected_figures):
    for path in sorted(real_data("adk_session").iterdir()):
        run = read("adk_session", path).run
        figures = expected_figures[f"adk_session/{path.name}"]
        made = calls(run)
        assert len(made) == figures["tool_calls"], path.name
        assert sum(call.is_error is True for call in made) == figures["tool_errors"] == 0
        assert len({call.tool_name for call in made}) == figures["distinct_tools"]
        missing = sum(call.call_id is None for call in made)
        assert missing == figures["oddities"].get("call_without_id", 0)
        assert all(call.output is not None for call in made), path.name
        assert run.run_id is not None
        assert kinds(run)[-1] == "final"


def test_real_session_without_ids_joins_names_in_order(real_data):
    run = read(
        "adk_session", real_data("adk_session/customer-service__sessions__123.session.json")
    ).run
    assert [(call.tool_name, call.turn_index) for call in calls(run)] == [
        ("modify_cart", 5),
        ("access_cart_information", 5),
        ("check_product_availability", 5),
        ("access_cart_information", 10),
        ("modify_cart", 10),
        ("access_cart_information", 10),
    ]
    outputs = [call.output for call in calls(run)]
    assert outputs[2] == {"available": True, "quantity": 10, "store": "Las Vegas"}
    assert [sorted(output) for output in (outputs[0], outputs[4])] == [
        ["items_added", "items_removed", "message", "status"]
    ] * 2
    assert (run.agent, run.started_at, run.labels) == (
        "customer_service_agent",
        1741218414.968405,
        {"user_id": "test_user"},
    )


def test_real_old_session_takes_tokens_and_model_from_its_logs(real_data):
    run = read(
        "adk_session", real_data("adk_session/context_update_test__successful_test.session.json")
    ).run
    assert run.model == "gemini-1.5-flash-001"
    tokens = [(step.input_tokens, step.output_tokens) for step in run.steps if step.input_tokens]
    assert tokens == [(32, 13), (94, 32), (129, 14)]
    assert run.final_state["data_one"] == "RRRR"


def test_claims_no_other_file(real_data):
    own = {f"adk_session/{path.name}" for path in real_data("adk_session").iterdir()}
    assert claimed("adk_session", real_data("")) == own


def test_sample():
    run = read("adk_session", SAMPLES / "adk_session/printer.session.json").run
    assert [(call.tool_name, call.is_error, call.response_index) for call in calls(run)] == [
        ("find_device", True, 0),
        ("find_device", False, 1),
        ("open_ticket", False, 3),
        ("restart_device", False, 3),
    ]
