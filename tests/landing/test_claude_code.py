"""Claude Code sessions land: responses put together, tokens once, faults told from refusals."""

from __future__ import annotations

import json
from typing import Any

import pytest
from reading import SAMPLES, args, claimed, kinds, read, sniff
from sessions import Line, Session, session, tokens, told

UUID = "7b7f3a9e-0b0f-4b36-8f6f-3f5a5d0c1e2a"
REFUSED = "The user doesn't want to proceed with this tool use. The tool use was rejected."


def _line(kind: str, message: Any, uuid: str, parent: str | None = None, **more: Any) -> Any:
    return {
        "type": kind,
        "sessionId": UUID,
        "uuid": uuid,
        "parentUuid": parent,
        "message": message,
        **more,
    }


def _user(content: Any, uuid: str = "u", parent: str | None = None, **more: Any) -> Any:
    return _line("user", {"role": "user", "content": content}, uuid, parent, **more)


def _agent(*blocks: Any, message_id: str | None = "m", uuid: str = "a", **more: Any) -> Any:
    said = {"role": "assistant", "id": message_id, "model": "claude", "content": list(blocks)}
    if "usage" in more:
        said["usage"] = more.pop("usage")
    if "model" in more:
        said["model"] = more.pop("model")
    return _line("assistant", said, uuid, **more)


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _use(call_id: str, name: str = "Read", **arguments: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": name, "input": arguments}


def _result(call_id: str, content: Any = "ok", **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call_id, "content": content, **more}


def _read(*lines: Line) -> Session:
    return session("claude_code", *lines)


def test_message_call_result_and_answer():
    run = _read(
        _user("Hi", "1", timestamp="2026-05-04T09:00:00Z", version="2.1", cwd="/x", gitBranch="b"),
        _agent(_text("I look."), message_id="m1", uuid="2"),
        _agent(_use("c", x=1), message_id="m1", uuid="3"),
        _user([_result("c")], "4"),
        _agent(_text("Done."), message_id="m2", uuid="5", timestamp="2026-05-04T09:00:05Z"),
    ).run
    assert told(run, "kind", "actor", "response_index", "turn_index") == [
        ("message", "user", None, 0),
        ("llm_call", "agent", 0, 0),
        ("tool_call", "agent", 0, 0),
        ("final", "agent", 1, 0),
    ]
    call = run.steps[2]
    assert (call.tool_name, args(call), call.output, call.is_error) == (
        "Read",
        '{"x":1}',
        "ok",
        False,
    )
    assert (run.run_id, run.source_id, run.final_output) == (UUID, None, "Done.")
    assert (run.agent, run.agent_version, run.model) == ("claude-code", "2.1", "claude")
    assert (run.started_at, run.ended_at) == ("2026-05-04T09:00:00Z", "2026-05-04T09:00:05Z")
    assert (run.labels, run.status, run.success) == ({"cwd": "/x", "git_branch": "b"}, "ok", None)


def test_lines_of_one_response_are_one_step_and_its_tokens_count_once():
    """Each line repeats the usage; the last one has the whole of it. Cached input was read too."""
    early = {"input_tokens": 3, "cache_creation_input_tokens": 100, "output_tokens": 1}
    whole = {**early, "cache_read_input_tokens": 20, "output_tokens": 50}
    run = _read(
        _agent({"type": "thinking", "thinking": "Hm."}, uuid="1", usage=early),
        _agent(_text("First."), uuid="2", usage=early),
        _agent(_use("c1"), uuid="3", usage=early),
        _user([_result("c1")], "4"),
        _agent(_use("c2"), uuid="5", usage=whole),
        _agent(_text("More."), message_id="m2", uuid="6", usage=early),
    ).run
    assert kinds(run) == ["llm_call", "tool_call", "tool_call", "final"]
    assert tokens(run) == (123 + 103, 50 + 1)
    step = run.steps[0]
    assert step.content == "First."
    assert step.labels == {
        "thoughts": "Hm.",
        "cache_creation_input_tokens": 100,
        "cache_read_input_tokens": 20,
    }
    assert [s.response_index for s in run.steps] == [0, 0, 0, 1]


def test_responses_without_an_id_are_each_their_own():
    run = _read(
        _agent(_text("a"), message_id=None, uuid="1", usage={"output_tokens": 1}),
        _agent(_text("b"), message_id=None, uuid="2", usage={"output_tokens": 2}),
    ).run
    assert (kinds(run), tokens(run)) == (["llm_call", "final"], (0, 3))


@pytest.mark.parametrize(
    ("content", "is_error", "labels"),
    [
        ("no such file", True, None),
        (REFUSED, False, {"rejected": True}),
        ("User rejected tool use", False, {"rejected": True}),
        ("[Request interrupted by user for tool use]", False, {"rejected": True}),
        ("Sibling tool call errored", False, {"cancelled": True}),
        (
            "<tool_use_error>Sibling tool call errored</tool_use_error>",
            False,
            {"cancelled": True},
        ),
        ("<tool_use_error>InputValidationError</tool_use_error>", True, None),
        ([_text(REFUSED)], False, {"rejected": True}),
        (None, True, None),
    ],
)
def test_what_never_ran_did_not_fail(content, is_error, labels):
    """A tool's faults are counted, refusals and cancellations are labelled.

    Of 87 results marked is_error in 31 published sessions, 18 are a user's refusal and 16 fell
    with a parallel call: 53 are errors of a tool.
    """
    (call,) = _read(
        _agent(_use("c"), uuid="1"), _user([_result("c", content, is_error=True)], "2")
    ).calls
    assert (call.is_error, call.labels, call.error) == (is_error, labels, None)


@pytest.mark.parametrize("more", [{}, {"is_error": False}, {"is_error": None}])
def test_a_result_that_does_not_say_so_is_no_error(more):
    (call,) = _read(_agent(_use("c"), uuid="1"), _user([_result("c", REFUSED, **more)], "2")).calls
    assert (call.is_error, call.labels) == (False, None)


def test_output_is_the_text_of_its_parts():
    parts = [_text("a"), {"type": "image", "source": {}}, _text("b")]
    picture = [{"type": "image", "source": {}}]
    read = _read(
        _agent(_use("c1"), _use("c2"), uuid="1"),
        _user([_result("c1", parts)], "2"),
        _user([_result("c2", picture)], "3"),
    )
    assert [(call.output, call.is_error) for call in read.calls] == [("a\nb", False), (None, False)]
    assert read.run.status == "ok"


def test_a_server_tools_result_stands_in_the_response():
    found = [{"type": "web_search_result", "url": "https://example.org"}]
    search = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"q": "x"}}
    result = {"type": "web_search_tool_result", "tool_use_id": "s", "content": found}
    run = _read(_agent(search, result, _text("Found."), uuid="1")).run
    assert told(run, "kind", "tool_name", "output") == [
        ("llm_call", None, None),
        ("tool_call", "web_search", found),
    ]


def test_call_without_a_result_leaves_the_run_open():
    read = _read(_user("Hi", "1"), _agent(_use("c1"), _use("c2"), uuid="2"))
    assert [(call.is_error, call.output) for call in read.calls] == [(None, None)] * 2
    assert read.run.status == "incomplete"
    answered = _read(_agent(_use("c"), uuid="1"), _user([_result("c")], "2"))
    assert answered.run.status == "ok"


def test_result_without_a_call_stays_as_a_message():
    (step,) = _read(_user([_result("gone", "late")], "1")).run.steps
    assert (step.kind, step.actor, step.content, step.call_id) == (
        "message",
        "tool",
        "late",
        "gone",
    )
    assert step.labels == {"orphan_result": True}


def test_a_result_logged_before_its_call_waits_for_it_if_the_chain_says_so():
    read = _read(
        _user("Hi", "1"),
        _user([_result("c")], "3", parent="2"),
        _agent(_use("c"), uuid="2", parentUuid="1"),
    )
    assert kinds(read.run) == ["message", "llm_call", "tool_call"]
    assert [call.output for call in read.calls] == ["ok"]


def test_times_that_run_backwards_leave_the_order_alone():
    run = _read(
        _user("a", "1", timestamp="2026-05-04T09:00:09Z"),
        _user("b", "2", "1", timestamp="2026-05-04T09:00:01Z"),
    ).run
    assert [step.content for step in run.steps] == ["a", "b"]
    assert (run.started_at, run.ended_at) == ("2026-05-04T09:00:01Z", "2026-05-04T09:00:09Z")


def test_only_a_users_own_words_open_a_turn():
    run = _read(
        _user("a", "1"),
        _user("Caveat", "2", isMeta=True),
        _user([_text("b")], "3"),
        _user("[Request interrupted by user]", "4"),
        _user("Summary of what came before", "5", isCompactSummary=True),
        _user([{"type": "image", "source": {}}], "6"),
        _user(["c"], "7"),
    ).run
    assert told(run, "actor", "turn_index", "content") == [
        ("user", 0, "a"),
        ("system", 0, "Caveat"),
        ("user", 1, "b"),
        ("user", 1, "[Request interrupted by user]"),
        ("system", 1, "Summary of what came before"),
        ("user", 2, None),
        ("user", 3, "c"),
    ]


def test_an_interruption_at_the_end_cuts_the_run_off():
    assert _read(_agent(_text("a")), _user("[Request interrupted by user]")).run.status == (
        "incomplete"
    )


def test_texts_the_program_wrote_are_no_responses():
    failed = _agent(
        _text("API Error: 529"), message_id="x", uuid="2", model="<synthetic>", usage={}
    )
    notice = _agent(_text("No response requested."), message_id="y", uuid="3", model="<synthetic>")
    run = _read(_user("Hi", "1"), failed).run
    assert told(run, "kind", "actor", "error")[1] == ("message", "system", "API Error: 529")
    assert (run.status, run.model, run.final_output) == ("error", None, None)
    assert _read(_user("Hi", "1"), failed, _agent(_text("ok"), uuid="4")).run.status == "ok"
    assert _read(_agent(_text("ok")), notice).run.status == "ok"


def test_first_version_and_model_name_the_run():
    """A longer export of the session must still be the same run."""
    run = _read(
        _agent(_text("a"), message_id="1", uuid="1", version="2.0"),
        _agent(_text("b"), message_id="2", uuid="2", version="2.1", model="other"),
    ).run
    assert (run.agent_version, run.model) == ("2.0", "claude")
    assert run.labels == {"models": ["claude", "other"]}


def test_repeated_lines_count_once():
    lines = [_user("Hi", "1"), _agent(_use("c"), uuid="2", usage={"output_tokens": 5})]
    read = _read(*lines, *lines)
    assert (kinds(read.run), tokens(read.run)) == (["message", "llm_call", "tool_call"], (0, 5))


def test_two_sessions_in_one_file_are_two_runs():
    other = {**_user("b", "2"), "sessionId": "other"}
    runs = _read(_user("a", "1"), other, {"type": "summary", "summary": "s", "leafUuid": "2"}).runs
    assert [(run.run_id, run.source_id) for run in runs] == [(UUID, None), (None, "other")]
    assert [run.labels for run in runs] == [{}, {"summary": "s"}]


def _side(line: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {**line, "isSidechain": True, **more}


def _delegated(**side: Any) -> list[dict[str, Any]]:
    return [
        _user("Hi", "1"),
        _agent(_use("t", "Task", prompt="Look.", subagent_type="scout"), uuid="2", message_id="m1"),
        _side(_user("Look.", "s1"), **side),
        _side(_agent(_use("g", "Grep"), uuid="s2", message_id="s", parentUuid="s1"), **side),
        _side(_user([_result("g")], "s3", "s2"), **side),
        _side(_agent(_text("Seen."), uuid="s4", message_id="s'", parentUuid="s3"), **side),
        _user([_result("t", "Seen.")], "3", toolUseResult={"agentId": "ag1"}),
    ]


@pytest.mark.parametrize("side", [{}, {"agentId": "ag1"}])
def test_a_sub_agents_steps_stand_under_the_call_that_started_it(side):
    run = _read(*_delegated(**side), _agent(_text("Done."), uuid="4", message_id="m2")).run
    assert told(run, "kind", "actor", "parent_step", "turn_index") == [
        ("message", "user", None, 0),
        ("llm_call", "agent", None, 0),
        ("tool_call", "agent", None, 0),
        ("message", "agent", 2, 0),
        ("llm_call", "scout", 2, 0),
        ("tool_call", "scout", 2, 0),
        ("llm_call", "scout", 2, 0),
        ("final", "agent", None, 0),
    ]
    assert run.final_output == "Done."


def test_two_sub_agents_are_told_apart_by_their_chains():
    def asks(at: int) -> dict[str, Any]:
        return _agent(
            _use(f"t{at}", "Task", prompt=f"{at}", subagent_type=f"scout{at}"), uuid=f"t{at}"
        )

    def side(at: int) -> list[dict[str, Any]]:
        said = _agent(_text("x"), uuid=f"b{at}", parentUuid=f"a{at}", message_id=f"s{at}")
        return [_side(_user(f"{at}", f"a{at}")), _side(said)]

    (a1, b1), (a2, b2) = side(1), side(2)
    run = _read(asks(1), asks(2), a2, a1, b1, b2).run
    responses = [step for step in run.steps if step.kind == "llm_call" and step.parent_step]
    assert [(step.actor, step.parent_step) for step in responses] == [("scout1", 1), ("scout2", 2)]


def test_a_sub_agent_nobody_is_known_to_have_started():
    run = _read(_user("Hi", "1"), _side(_agent(_text("x"), uuid="s"))).run
    assert told(run, "actor", "parent_step") == [("user", None), ("subagent", None)]


def test_a_sub_agents_own_file_is_a_run_of_its_own():
    lines = [line for line in _delegated(agentId="ag1") if line.get("isSidechain")]
    run = _read(*lines).run
    assert (run.run_id, run.labels) == (
        f"{UUID}/ag1",
        {"parent_session": UUID, "agent_id": "ag1"},
    )
    assert told(run, "kind", "actor") == [
        ("message", "user"),
        ("llm_call", "agent"),
        ("tool_call", "agent"),
        ("final", "agent"),
    ]


def test_cost_is_kept_where_old_versions_log_it():
    run = _read(
        _agent(_text("a"), uuid="1", costUSD=0.5), _agent(_use("c"), uuid="2", costUSD=0.5)
    ).run
    assert told(run, "cost_usd") == [(0.5,), (None,)]


def test_damaged_lines_are_reported_and_the_session_lands():
    read = _read(
        _user("a", "1"),
        '"massive error"',
        "42",
        {"silly": "this"},
        _line("user", "error", "2"),
        _line("user", {"role": "user"}, "3"),
        {"type": "user", "sessionId": UUID},
        '{"type":"user","sess',
        b'{"type":"summary","summary":"\xff"}',
        _user("b", "4"),
    )
    assert [step.content for step in read.run.steps] == ["a", "b"]
    assert [(damage.line, damage.reason) for damage in read.damaged] == [
        (2, "not_an_object"),
        (3, "not_an_object"),
        (4, "missing_field"),
        (5, "wrong_type"),
        (6, "missing_field"),
        (7, "missing_field"),
        (8, "truncated"),
        (9, "invalid_utf8"),
    ]


def test_glued_lines_are_both_kept():
    glued = json.dumps(_user("a", "1")) + json.dumps(_user("b", "2"))
    read = _read(glued)
    assert ([step.content for step in read.run.steps], read.damaged) == (["a", "b"], [])


def test_bookkeeping_is_no_run():
    lines = [
        {"type": "file-history-snapshot", "messageId": "m", "snapshot": {}},
        {"type": "progress", "sessionId": UUID, "data": {"type": "agent_progress"}},
        {"type": "queue-operation", "sessionId": UUID, "content": "x"},
    ]
    assert _read(*lines) == Session([], [])


def test_sniff():
    assert sniff("claude_code", _user("a"))
    assert sniff("claude_code", {"type": "summary", "summary": "s", "leafUuid": "1"})
    assert sniff("claude_code", {"type": "file-history-snapshot", "snapshot": {}})
    assert sniff("claude_code", {"silly": 1}, _user("a"))
    assert sniff("claude_code", {"sessionId": "1", "messages": [], "type": "x"}) is None
    assert sniff("claude_code", {"type": "message", "role": "user"}) is None


# Two session ids are two runs here; the figures count files.
RUNS = {"ccl__edge_cases.jsonl": 2, "ccl__session_b.jsonl": 1, "ccl__todowrite_examples.jsonl": 1}


def _items(path: Any) -> Session:
    items = read("claude_code", path)
    return Session(items.runs, [])


@pytest.mark.parametrize("name", RUNS)
def test_figures_of_the_real_files(real_data, expected_figures, name):
    path = f"claude_code_jsonl/{name}"
    figures = expected_figures[path]
    runs = _items(real_data(path)).runs
    calls = [step for run in runs for step in run.steps if step.kind == "tool_call"]
    assert len(runs) == RUNS[name]
    assert len(calls) == figures["tool_calls"]
    assert sum(call.is_error is True for call in calls) == figures["tool_errors"]
    assert len({call.tool_name for call in calls}) == figures["distinct_tools"]
    used = [tokens(run) for run in runs]
    assert sum(read for read, _ in used) == figures["tokens_in"]
    assert sum(written for _, written in used) == figures["tokens_out"]


def test_real_edge_cases_lose_only_their_damaged_lines(real_data):
    path = real_data("claude_code_jsonl/ccl__edge_cases.jsonl")
    read = session("claude_code", path.read_bytes())
    assert [(damage.line, damage.reason) for damage in read.damaged] == [
        (10, "missing_field"),
        (11, "wrong_type"),
        (13, "not_an_object"),
        (14, "missing_field"),
        (15, "not_an_object"),
        (16, "not_an_object"),
    ]
    for damage in read.damaged:
        assert path.read_bytes()[damage.offset :].startswith(damage.data)
    edge, other = read.runs
    assert (edge.source_id, other.source_id) == ("edge_cases", "todowrite_session")
    assert edge.labels["summary"].startswith("Tested various edge cases")
    # The line with the second call's result is damaged.
    assert [(s.tool_name, s.is_error) for s in edge.steps if s.kind == "tool_call"] == [
        ("FailingTool", True),
        ("MultiEdit", None),
    ]


def test_claims_no_other_file(real_data):
    own = {f"claude_code_jsonl/{path.name}" for path in real_data("claude_code_jsonl").iterdir()}
    assert claimed("claude_code", real_data("")) == own


def test_sample():
    (main,) = SAMPLES.glob("claude_code/*.jsonl")
    (side,) = SAMPLES.glob("claude_code/*/subagents/*.jsonl")
    run = read("claude_code", main).run
    assert [(s.tool_name, s.is_error, s.actor) for s in run.steps if s.kind == "tool_call"] == [
        ("Read", False, "agent"),
        ("Bash", True, "agent"),
        ("Task", False, "agent"),
        ("Glob", False, "explorer"),
        ("Bash", False, "agent"),
        ("Edit", False, "agent"),
    ]
    # By hand: 5204 + 5516 + 900 + 960 + 5636 + 5636 + 5726 read, 61 + 48 + 20 + 18 + 35 + 35 + 27.
    assert tokens(run) == (29578, 244)
    assert read("claude_code", side).run.labels["parent_session"] == run.run_id
