"""ADK eval results land: a run per case result, its references beside it, ADK's scores kept."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from reading import (
    SAMPLES,
    Items,
    args,
    calls,
    claimed,
    decode,
    expectation,
    kinds,
    labels,
    read,
    sniff,
)

from pipeline.landing.values.canonical import Keyer

if TYPE_CHECKING:
    from pipeline.landing.model import Run

FOLDER = "adk_evalset_result"
UUID = "dd60922c-09e1-4e93-ac34-4aaa4b412da0"
# Their criteria leave out arguments (time; command and other options), so ADK's score is 1.
LENIENT = {"travel_alerts", "shanghai_travel_case", "write_ok"}


def _ported(ask: str, reply: str | None = None, *tools: dict[str, Any]) -> dict[str, Any]:
    """Return an invocation as the Go port writes it: what is empty is left out."""
    told = {"role": "assistant", "content": reply}
    answer = {} if reply is None else {"finalResponse": told}
    used = {"tools": list(tools)} if tools else {}
    return {"userContent": {"role": "user", "content": ask}, **answer, **used}


def _turn(actual: Any, expected: Any, *metrics: dict[str, Any]) -> dict[str, Any]:
    return {
        "actualInvocation": actual,
        "expectedInvocation": expected,
        "evalMetricResults": metrics,
    }


def _case(*turns: dict[str, Any], **more: Any) -> dict[str, Any]:
    case = {"evalId": "c", "evalSetId": "s", "finalEvalStatus": "passed", "sessionId": UUID}
    return {**case, "evalMetricResultPerInvocation": list(turns), **more}


def _result(*cases: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"evalSetResultId": "app_s_17", "evalSetId": "s", "evalCaseResults": list(cases), **more}


def _run(*turns: dict[str, Any], **case: Any) -> Run:
    return decode(FOLDER, _result(_case(*turns, **case))).run


TOOL = {"id": "t1", "name": "f", "arguments": {"userId": 1.0}, "result": {"tempC": 3}}
PLAIN = _turn(_ported("Hi", "Hello"), _ported("Hi"))


def test_ported_case():
    actual, wanted = (
        _ported("Hi", "Yes", TOOL),
        _ported("Hi", "Yes!", {"name": "f", "arguments": {"userId": 1}}),
    )
    items = decode(FOLDER, _result(_case(_turn(actual, wanted))))
    run, task = items.run, items.task
    assert kinds(run) == ["message", "tool_call", "final"]
    (call,) = calls(run)
    assert (args(call), call.call_id, call.output) == ('{"userId":1.0}', "t1", {"tempC": 3})
    assert expectation(run) == expectation(task) == [[("f", '{"userId":1}', 0)]]
    assert (run.task_id, run.suite, run.agent, run.run_id) == ("c", "s", "app", UUID)
    assert (run.final_output, task.prompt, task.reference_outputs) == ("Yes", "Hi", ["Yes!"])
    assert [step.response_index for step in run.steps] == [None] * 3


def test_older_port_and_adk_itself_say_the_same():
    call = {"a": 2, "isExact": True}
    ported = {
        "toolCalls": [
            {"id": "1", "type": "function", "function": {"name": "f", "arguments": call}}
        ],
        "toolResponses": [
            {"role": "tool", "toolId": "1", "toolName": "f", "content": {"tempC": 3}}
        ],
    }
    own = {
        "tool_uses": [{"id": "1", "name": "f", "args": call}],
        "tool_responses": [{"id": "1", "name": "f", "response": {"tempC": 3}}],
    }
    part = {"parts": [{"text": "Hi"}]}
    for data in (
        {"intermediateData": ported, "userContent": part},
        {"intermediate_data": own, "user_content": part},
    ):
        (step,) = calls(_run(_turn(data, None)))
        assert (step.tool_name, args(step), step.output) == (
            "f",
            '{"a":2,"isExact":true}',
            {"tempC": 3},
        )
        assert step.is_error is False


def test_invocation_events_keep_model_responses():
    events = [
        {
            "author": "bot",
            "content": {"parts": [{"text": "Wait"}, {"function_call": {"name": "f"}}]},
        },
        {
            "author": "bot",
            "content": {"parts": [{"function_response": {"name": "f", "response": {}}}]},
        },
    ]
    actual = {
        "user_content": {"parts": [{"text": "Hi"}]},
        "intermediate_data": {"invocation_events": events},
        "final_response": {"parts": [{"text": "Done"}]},
    }
    run = _run(_turn(actual, actual))
    assert kinds(run) == ["message", "llm_call", "tool_call", "final"]
    assert [step.response_index for step in run.steps] == [None, 0, 0, None]
    assert [step.actor for step in run.steps] == ["user", "agent", "agent", "agent"]
    assert expectation(run) == [[("f", "any", 0)]]


def test_an_answer_that_the_last_event_says_already_is_one_response():
    """ADK leaves the final response out of the events; others log it in both places."""
    words = {"parts": [{"text": "Done"}]}
    said = {"author": "bot", "content": words}
    asked = {"user_content": {"parts": [{"text": "Hi"}]}, "final_response": words}

    def ran(*events: dict[str, Any]) -> list[str]:
        return kinds(
            _run(_turn({**asked, "intermediate_data": {"invocation_events": events}}, None))
        )

    assert ran(said) == ["message", "final"]
    assert ran({**said, "content": {"parts": [{"text": "Wait"}]}}) == [
        "message",
        "llm_call",
        "final",
    ]
    called = {**said, "content": {"parts": [{"function_call": {"name": "f"}}]}}
    assert ran(said, called) == ["message", "llm_call", "llm_call", "tool_call", "final"]


def test_an_agent_may_say_what_the_user_said_and_speak_first():
    assert kinds(_run(_turn(_ported("Hi", "Hi"), None))) == ["message", "final"]
    alone = {"finalResponse": {"content": "Hello"}}
    assert kinds(_run(_turn(alone, None))) == ["final"]


@pytest.mark.parametrize(
    ("ids", "names", "told"),
    [
        (("1", "2"), ("f", "f"), ({"toolId": "2"}, {"toolId": "1"})),
        ((None, None), ("f", "g"), ({"toolName": "g"}, {"toolName": "f"})),
    ],
)
def test_results_of_the_older_port_join_by_id_else_by_name(ids, names, told):
    asked = [
        {"id": call_id, "function": {"name": name, "arguments": {}}}
        for call_id, name in zip(ids, names, strict=True)
    ]
    answers = [{**one, "content": n} for one, n in zip(told, (2, 1), strict=True)]
    data = {"toolCalls": asked, "toolResponses": answers}
    assert [call.output for call in calls(_run(_turn({"intermediateData": data}, None)))] == [1, 2]


def test_a_turn_without_an_answer_has_none():
    run = _run(_turn(_ported("Hi", None, TOOL), None))
    assert (kinds(run), run.final_output) == (["message", "tool_call"], None)
    assert kinds(_run(_turn({"tools": [TOOL]}, None))) == ["tool_call"]


def test_a_result_answers_the_call_of_its_own_turn():
    """Neither has an id: the turn before broke off after its call."""
    call = {"name": "f", "arguments": {}}
    run = _run(*(_turn(_ported("x", None, tool), None) for tool in (call, {**call, "result": 1})))
    assert [step.output for step in calls(run)] == [None, 1]


def test_turns_are_numbered_on_both_sides():
    one = _turn(_ported("a", "1", TOOL), _ported("a", "1"))
    two = _turn(_ported("b", "2"), _ported("b", "2", {"name": "g", "arguments": {}}))
    run = _run(one, two)
    assert [(step.kind, step.turn_index) for step in run.steps] == [
        ("message", 0), ("tool_call", 0), ("llm_call", 0), ("message", 1), ("final", 1),
    ]  # fmt: skip
    assert expectation(run) == [[("g", "{}", 1)]]


def test_a_turn_may_be_without_an_expectation():
    wanted = _ported("b", "2", {"name": "g", "arguments": {}})
    run = _run(_turn(_ported("a", "1"), None), _turn(_ported("b", "2"), wanted))
    assert expectation(run) == [[("g", "{}", 1)]]


def test_what_is_not_known_of_a_call_given_twice_is_of_the_run():
    def said(**more: Any) -> dict[str, Any]:
        return {"parts": [{"function_call": {"name": "f", **more}}]}

    run = _run(_turn({"agent_content": said(a=1), "intermediate_data": said(b=2)}, None))
    (call,) = calls(run)
    assert (labels(call), labels(run)["actual_invocation.calls.b"]) == ({"a": 1}, 2)
    asked = {"toolCalls": [{"id": "1", "function": {"name": "f"}, "odd": 3}]}
    (call,) = calls(_run(_turn({"intermediateData": asked}, None)))
    assert labels(call) == {"odd": 3}
    (call,) = calls(_run(_turn(_ported("Hi", None, {**TOOL, "odd": 4}), None)))
    assert labels(call) == {"odd": 4}


def test_what_is_not_known_of_a_turn_is_of_the_run():
    silent = {"author": "bot", "odd": 1}
    answered = {"author": "bot", "content": {"parts": [
        {"function_response": {"name": "f", "response": {}, "tint": 2}},
    ]}}  # fmt: skip
    called = {"author": "bot", "content": {"parts": [{"function_call": {"name": "f"}}]}}
    data = {"intermediate_data": {"invocation_events": [silent, called, answered]}}
    run = _run({**_turn(data, {**_ported("Hi"), "odd": 3}), "odd": 4})
    assert [labels(call) for call in calls(run)] == [{"result.tint": 2}]
    found = labels(run)
    assert {name: found[name] for name in found if name.endswith("odd")} == {
        "events.odd": 1,
        "expected_invocation.odd": 3,
        "eval_metric_result_per_invocation.odd": 4,
    }


def test_an_expected_call_may_be_without_a_name():
    assert expectation(_run(_turn(None, {"tools": [{"arguments": {}}]}))) == [[("", "{}", 0)]]


def test_expectation_without_calls_and_none_at_all():
    assert expectation(_run(PLAIN)) == [[]]
    items = decode(FOLDER, _result(_case(_turn(_ported("Hi", "Hello"), None))))
    assert (items.run.references, items.tasks) == (None, [])


@pytest.mark.parametrize(
    ("status", "success"),
    [
        (1, True),
        ("passed", True),
        ("PASSED", True),
        (2, False),
        ("failed", False),
        (3, None),
        ("unknown", None),
        (None, None),
    ],
)
def test_success_is_the_final_status(status, success):
    assert _run(PLAIN, finalEvalStatus=status).success is success


def test_recorded_scores_are_kept_and_left_out_zeros_restored():
    metrics = [
        {"metricName": "m1", "score": 0.5, "evalStatus": "failed"},
        {"metricName": "m2", "evalStatus": "failed"},
        {"metricName": "m3", "score": None, "evalStatus": 2},
        {"metricName": "m4", "evalStatus": "not_evaluated"},
    ]
    turn = _turn(_ported("Hi"), _ported("Hi"), metrics[0])
    labels = _run(turn, overallEvalMetricResults=metrics).labels
    assert labels["recorded_metrics"] == {"m1": 0.5, "m2": 0.0, "m3": None, "m4": None}
    assert labels["recorded_metrics_per_turn"] == [{"m1": 0.5}]


def test_case_run_several_times_has_trials():
    cases = [_case(PLAIN, sessionId=f"x{n}") for n in range(2)] + [_case(PLAIN, evalId="once")]
    assert [run.trial for run in decode(FOLDER, _result(*cases)).runs] == [0, 1, None]
    numbered = [_case(PLAIN, runId=n, sessionId=f"x{n}") for n in (2, 1)]
    items = decode(FOLDER, _result(*numbered))
    assert [run.trial for run in items.runs] == [0, 1]
    assert [run.labels["run_number"] for run in items.runs] == [2, 1]
    assert len(items.tasks) == 1


def test_session_ids_that_are_not_unique_name_no_run():
    assert _run(PLAIN).source_id is None
    shared = decode(FOLDER, _result(_case(PLAIN), _case(PLAIN, evalId="d"))).runs
    assert [(run.run_id, run.source_id) for run in shared] == [(None, UUID)] * 2
    plain, absent = _run(PLAIN, sessionId="7"), _run(PLAIN, sessionId=None)
    assert [(run.run_id, run.source_id) for run in (plain, absent)] == [(None, "7"), (None, "c")]


def test_case_that_broke_is_an_error_without_steps():
    run = _run(errorMessage="judge timed out", finalEvalStatus="failed")
    assert (run.status, run.steps, run.references) == ("error", [], None)
    assert run.labels["error"] == "judge timed out"


def test_agent_is_the_sessions_word_before_the_results_id():
    case = _case(PLAIN, sessionDetails={"appName": "desk", "state": {"isOpen": True}})
    run = decode(FOLDER, _result(case)).run
    assert (run.agent, run.final_state) == ("desk", {"isOpen": True})
    assert decode(FOLDER, _result(_case(PLAIN), evalSetResultId="17")).run.agent is None
    assert _run(PLAIN, sessionDetails={"appName": ""}).agent == "app"
    assert decode(FOLDER, _result(_case(PLAIN), evalSetResultId="_s_17")).run.agent is None
    assert decode(FOLDER, _result(_case(PLAIN), evalSetResultId=None)).run.agent is None


@pytest.mark.parametrize(("case", "whole"), [("a", "b"), ("a", None), (None, "a")])
def test_the_cases_eval_set_is_the_suite_else_the_files(case, whole):
    items = decode(FOLDER, _result(_case(PLAIN, evalSetId=case), evalSetId=whole))
    assert (items.run.suite, items.task.suite) == ("a", "a")


def test_the_first_who_speaks_and_is_named_is_the_agent():
    def event(author: str | None, text: str) -> dict[str, Any]:
        return {"author": author, "content": {"parts": [{"text": text}]}}

    said = [event("user", "Hi"), event(None, "a"), event("root", "b"), event("booker", "c")]
    run = _run(_turn({"intermediate_data": {"invocation_events": said}}, None))
    assert [step.actor for step in run.steps] == ["user", "agent", "agent", "booker"]


def test_what_is_told_of_the_result_is_kept_as_labels():
    case = _case(PLAIN, userId="u", score=0.5, runId=1)
    assert decode(FOLDER, _result(case, creationTimestamp=1.5)).run.labels == {
        "eval_set_result_id": "app_s_17",
        "evaluated_at": 1.5,
        "recorded_metrics_per_turn": [{}],
        "recorded_score": 0.5,
        "run_number": 1,
        "user_id": "u",
    }


def test_a_run_begins_with_its_first_turn():
    one, two = ({**_ported("Hi", "Yes"), "creationTimestamp": at} for at in (1.5, 2.5))
    run = _run(_turn(None, None), _turn(one, None), _turn(two, None))
    assert (run.started_at, run.ended_at) == (1.5, None)
    assert [step.started_at for step in run.steps] == [1.5, None, 2.5, None]
    never = _run(_turn({**one, "creationTimestamp": 0}, None))
    assert (never.started_at, never.steps[0].started_at) == (None, None)


def test_trace_gives_times_and_tokens():
    trace = {
        "StartedAt": "2026-01-01T00:00:00Z",
        "EndedAt": "2026-01-01T00:00:02Z",
        "Usage": {"prompt_tokens": 5, "completion_tokens": 2},
    }
    run = _run(_turn({**_ported("Hi", "Hello"), "executionTrace": trace}, None))
    assert (run.started_at, run.ended_at) == ("2026-01-01T00:00:00Z", "2026-01-01T00:00:02Z")
    assert (run.steps[-1].input_tokens, run.steps[-1].output_tokens) == (5, 2)


def test_document_encoded_twice():
    once = _result(_case(PLAIN))
    items = decode(FOLDER, json.dumps(json.dumps(once)))
    assert (items.run.steps, items.run.labels) == (
        decode(FOLDER, once).run.steps,
        decode(FOLDER, once).run.labels,
    )
    assert sniff(FOLDER, json.dumps(once))


def test_sniff():
    assert sniff(FOLDER, {"eval_case_results": []})
    assert sniff(FOLDER, json.dumps({"eval_case_results": []}))
    assert sniff(FOLDER, {"eval_cases": []}) is None
    assert sniff(FOLDER, "free text") is None


def _real(real_data) -> dict[str, Items]:
    return {path.name: read(FOLDER, path) for path in sorted(real_data(FOLDER).iterdir())}


def test_real_results_give_their_figures(real_data, expected_figures):
    for name, items in _real(real_data).items():
        figures = expected_figures[f"{FOLDER}/{name}"]
        # The figures count what was recorded: cases that broke have no invocation.
        runs = [run for run in items.runs if run.status == "ok"]
        turns = sum(len(run.labels["recorded_metrics_per_turn"]) for run in runs)
        assert turns == figures["runs"], name
        assert len({run.task_id for run in runs}) == len(items.tasks) == figures["distinct_cases"]
        assert sum(run.success is True for run in runs) == figures.get("success", 0), name
        assert (
            len({run.labels["run_number"] for run in runs if "run_number" in run.labels})
            == figures["trials"]
        )
        made = [call for run in runs for call in calls(run)]
        assert len(made) == figures["tool_calls"], name
        assert len({call.tool_name for call in made}) == figures["distinct_tools"]
        assert sum(call.is_error is True for call in made) == figures["tool_errors"] == 0
        if runs:
            sums = figures["scores"]["mean_all_runs"]
            expected = sum(len((expectation(run) or [[]])[0]) for run in runs)
            assert (len(made), expected) == (sums["sum_n_act"], sums["sum_n_exp"]), name


def test_real_cases_that_broke_are_errors(real_data):
    broken = [
        run for items in _real(real_data).values() for run in items.runs if run.status == "error"
    ]
    assert len(broken) == 16
    assert all("i/o timeout" in run.labels["error"] and not run.steps for run in broken)


def _exact_per_turn(run: Run) -> float:
    """Return ADK's EXACT score: per turn 1 if all calls are equal in order, then the mean."""
    assert run.references is not None
    (alternative,) = run.references.alternatives
    actual, wanted = Keyer(), Keyer(expected=True)
    turns = range(len(run.labels["recorded_metrics_per_turn"]))
    passed = 0
    for turn in turns:
        made = [actual(c.tool_name or "", c.tool_args) for c in calls(run) if c.turn_index == turn]
        asked = [wanted(e.tool_name, e.tool_args) for e in alternative if e.turn_index == turn]
        passed += len(made) == len(asked) and all(
            a.name_key == e.name_key and e.call_key in {None, a.call_key}
            for a, e in zip(made, asked, strict=True)
        )
    return passed / len(turns)


def test_real_recorded_trajectory_scores_agree(real_data):
    """Of 41 recorded scores 37 are exact equality; the other 4 ignore arguments and are 1."""
    recorded = [
        (run, run.labels["recorded_metrics"]["tool_trajectory_avg_score"])
        for items in _real(real_data).values()
        for run in items.runs
        if "tool_trajectory_avg_score" in run.labels.get("recorded_metrics", {})
    ]
    assert len(recorded) == 41
    strict = [(run, score) for run, score in recorded if run.task_id not in LENIENT]
    assert len(strict) == 37
    assert all(_exact_per_turn(run) == score for run, score in strict)
    assert {score for _, score in strict} == {0.0, 1.0}
    lenient = [(run, score) for run, score in recorded if run.task_id in LENIENT]
    assert [(_exact_per_turn(run), score) for run, score in lenient] == [(0.0, 1.0)] * 4


def test_real_document_encoded_twice(real_data):
    name = "local__math-eval-app_math-basic_76798060-dcc3-41e9-b20e-06f23aa3cdbc__21454b.evalset_result.json"
    items = read(FOLDER, real_data(f"{FOLDER}/{name}"))
    assert [(run.task_id, run.success, run.agent) for run in items.runs] == [
        ("calc_add", True, "math-eval-app"),
        ("calc_multiply", True, "math-eval-app"),
    ]
    assert [args(call) for run in items.runs for call in calls(run)] == [
        '{"a":2,"b":3,"operation":"add"}',
        '{"a":6,"b":7,"operation":"multiply"}',
    ]


def test_claims_no_other_file(real_data):
    own = {f"{FOLDER}/{path.name}" for path in real_data(FOLDER).iterdir()}
    assert claimed(FOLDER, real_data("")) == own


def test_sample():
    items = read(FOLDER, SAMPLES / FOLDER / "helpdesk.evalset_result.json")
    assert [(run.task_id, run.trial, run.success) for run in items.runs] == [
        ("restart_printer", 0, True),
        ("restart_printer", 1, False),
        ("opening_hours", None, True),
    ]
    scores = [run.labels["recorded_metrics"]["tool_trajectory_avg_score"] for run in items.runs]
    assert [_exact_per_turn(run) for run in items.runs] == scores == [1.0, 0.5, 1.0]
    assert [sum(call.is_error is True for call in calls(run)) for run in items.runs] == [0, 1, 0]
    assert expectation(items.runs[2]) == [[]]
