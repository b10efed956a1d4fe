"""Codex rollouts land: running totals never summed, results read in every spelling.

No rollout is among the real files here; the shapes are those the format's description lists.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from reading import SAMPLES, args, claimed, kinds, labels, read, sniff
from sessions import Line, Session, session, tokens, told

from pipeline.landing.unknown.unmapped import with_unmapped

UUID = "0199a0b1-0000-7000-8000-000000000001"


def _line(kind: str, at: str | None = None, **payload: Any) -> dict[str, Any]:
    return {"timestamp": at, "type": kind, "payload": payload}


def _item(kind: str, **payload: Any) -> dict[str, Any]:
    return _line("response_item", type=kind, **payload)


def _said(role: str, text: str) -> dict[str, Any]:
    return _item("message", role=role, content=[{"type": "text", "text": text}])


def _call(call_id: str = "c", name: str = "shell", arguments: str = "{}") -> dict[str, Any]:
    return _item("function_call", name=name, arguments=arguments, call_id=call_id)


def _output(output: Any, call_id: str = "c") -> dict[str, Any]:
    return _item("function_call_output", call_id=call_id, output=output)


def _ended(code: int, output: str = "x", seconds: float | None = None) -> str:
    return json.dumps(
        {"output": output, "metadata": {"exit_code": code, "duration_seconds": seconds}}
    )


def _tokens(read: int, written: int, total: int | None = None) -> dict[str, Any]:
    info = {"last_token_usage": {"input_tokens": read, "output_tokens": written}}
    if total is not None:
        info["total_token_usage"] = {"input_tokens": total, "output_tokens": 0}
    return _line("event_msg", type="token_count", info=info)


def _read(*lines: Line) -> Session:
    return session("codex_rollout", *lines)


def test_message_thought_call_result_and_answer():
    meta = {"id": UUID, "cwd": "/x", "cli_version": "0.61", "git": {"branch": "b"}}
    run = _read(
        _line("session_meta", "2026-05-04T10:00:00Z", **meta),
        _line("turn_context", model="m"),
        _said("user", "Hi"),
        _item("reasoning", summary=[{"type": "summary_text", "text": "Hm."}]),
        _said("assistant", "I look."),
        _call("c1", arguments='{"command":["ls"]}'),
        _call("c2"),
        _output(_ended(0, "a", 0.5), "c1"),
        _output(_ended(2, "b"), "c2"),
        _line("event_msg", "2026-05-04T10:00:09Z", type="agent_message", message="Done."),
        _said("assistant", "Done."),
    ).run
    assert told(run, "kind", "response_index", "content") == [
        ("message", None, "Hi"),
        ("llm_call", 0, "I look."),
        ("tool_call", 0, None),
        ("tool_call", 0, None),
        ("final", 1, "Done."),
    ]
    first, second = run.steps[2:4]
    assert (args(first), first.output, first.is_error, first.duration_ms) == (
        '{"command":["ls"]}',
        "a",
        False,
        500.0,
    )
    assert (args(second), second.output, second.is_error, second.duration_ms) == (
        "{}",
        "b",
        True,
        None,
    )
    assert run.steps[1].labels == {"thoughts": "Hm."}
    assert (run.run_id, run.agent, run.agent_version, run.model) == (UUID, "codex", "0.61", "m")
    assert (run.started_at, run.ended_at) == ("2026-05-04T10:00:00Z", "2026-05-04T10:00:09Z")
    assert (run.labels, run.success, run.final_output) == (
        {"cwd": "/x", "git_branch": "b"},
        None,
        "Done.",
    )


def test_tokens_are_the_sum_of_what_each_request_used():
    """The running total restarts (here from 300 to 50); an event may be sent twice."""
    run = _read(
        _said("assistant", "a"),
        _tokens(100, 10, total=100),
        _said("assistant", "b"),
        _tokens(200, 20, total=300),
        _tokens(200, 20, total=300),
        _said("assistant", "c"),
        _tokens(50, 5, total=50),
        _line("event_msg", type="token_count", info=None),
    ).run
    assert told(run, "content", "input_tokens", "output_tokens") == [
        ("a", 100, 10),
        ("b", 200, 20),
        ("c", 50, 5),
    ]


@pytest.mark.parametrize("grows", ["input_tokens", "cached_input_tokens", "output_tokens"])
def test_a_total_that_differs_in_one_number_is_no_repetition(grows):
    used = {"input_tokens": 5, "cached_input_tokens": 2, "output_tokens": 1}
    totals = [used, {**used, grows: used[grows] + 1}]
    events = [
        _line(
            "event_msg",
            type="token_count",
            info={"last_token_usage": used, "total_token_usage": total},
        )
        for total in totals
    ]
    assert tokens(_read(_said("assistant", "a"), *events).run) == (10, 2)


def test_tokens_that_belong_to_no_response_are_passed_over():
    nothing = _line(
        "event_msg", type="token_count", info={"total_token_usage": {"input_tokens": 1}}
    )
    run = _read(_said("user", "a"), _tokens(1, 2), nothing).run
    assert told(run, "kind", "input_tokens") == [("message", None)]


def test_tokens_logged_before_their_response_are_its_own():
    run = _read(
        _tokens(100, 10),
        _call("c1"),
        _output("Plan updated", "c1"),
        _tokens(200, 20),
        _said("assistant", "b"),
    ).run
    assert told(run, "kind", "input_tokens") == [
        ("llm_call", 100),
        ("tool_call", None),
        ("final", 200),
    ]


def test_tokens_of_a_response_that_is_not_logged_are_not_lost():
    assert tokens(_read(_said("assistant", "a"), _tokens(1, 2), _tokens(10, 20)).run) == (11, 22)


def test_cached_tokens_are_part_of_the_input():
    usage = {"input_tokens": 100, "cached_input_tokens": 80, "output_tokens": 1}
    event = _line("event_msg", type="token_count", info={"last_token_usage": usage})
    (step,) = _read(_said("assistant", "a"), event).run.steps
    assert (step.input_tokens, step.labels) == (100, {"cached_input_tokens": 80})
    (step,) = _read(_said("assistant", "a"), event, event).run.steps
    assert (step.input_tokens, step.labels) == (200, {"cached_input_tokens": 160})
    (step,) = _read(_said("assistant", "a"), _tokens(1, 2)).run.steps
    assert step.labels is None


@pytest.mark.parametrize(
    ("output", "is_error", "labels"),
    [
        (_ended(0), False, None),
        (_ended(1), True, None),
        (_ended(-1), True, None),
        ("failed in sandbox MacosSeatbelt with execution error: denied", True, None),
        ("execution error: Io(NotFound)", True, None),
        ("failed to parse function arguments: EOF while parsing", True, None),
        ("unsupported call: fetch", True, None),
        ("unsupported custom tool call: fetch", True, None),
        ("apply_patch verification failed: no such file", True, None),
        ("exec_command failed: no such directory", True, None),
        ("write_stdin failed: unknown session", True, None),
        ("tool call error: timed out", True, None),
        ("Plan updated", False, None),
        ("patch rejected by user", False, {"rejected": True}),
        ("exec command rejected by user", False, {"rejected": True}),
        ("aborted by user after 2.1s", False, {"rejected": True}),
        ("aborted", False, {"rejected": True}),
        ("aborted the upload", False, None),
        ("Exit code: 0\nWall time: 1.5 seconds\nOutput:\nExit code: 7", False, None),
        ("Exit code: 7\nWall time: 1.5 seconds\nOutput:\nok", True, None),
        ("Wall time: 0.1 seconds\nProcess exited with code 2\nOutput:\n", True, None),
        ("Wall time: 1 second\nOutput:\nProcess exited with code 2\nOutput:\n", False, None),
        ('{"output":"x","metadata":{}}', False, None),
        ('{"output":"x","metadata":{"exit_code":0,"odd":1}}', False, {"result.metadata.odd": 1}),
        ('{"content":[],"isError":true}', True, None),
        ('{"status":"ok"}', False, None),
        ("{cut", False, None),
        ([{"type": "input_text", "text": "execution error"}], True, None),
        ([{"type": "input_image", "image_url": "data:"}], False, None),
    ],
)
def test_what_a_result_says_of_its_call(output, is_error, labels):
    """Exit codes tell, and so do the texts Codex writes for calls that failed.

    In five published rollouts 14 of 314 results have an exit code that is not 0, 15 more are such
    texts; 2 were rejected by the user, which is no fault of the tool's.
    """
    (call,) = _read(_call(), _output(output)).calls
    assert (call.is_error, with_unmapped(call.labels, call.unmapped)) == (is_error, labels)


def test_wall_time_is_the_duration():
    (call,) = _read(_call(), _output("Exit code: 0\nWall time: 1.5 seconds\nOutput:\n")).calls
    assert call.duration_ms == 1500
    (call,) = _read(_call(), _output("Exit code: 1\nOutput:\nWall time: 1.5 seconds")).calls
    assert (call.is_error, call.duration_ms) == (True, None)


def test_a_custom_tools_input_is_kept_byte_for_byte():
    patch = "*** Begin Patch\n*** End Patch"
    read = _read(
        _item("custom_tool_call", name="apply_patch", input=patch, call_id="c"),
        _item("custom_tool_call_output", call_id="c", output=_ended(0, "Done!")),
    )
    assert [(args(call), call.output) for call in read.calls] == [(patch, "Done!")]


def test_built_in_tools():
    read = _read(
        _item("local_shell_call", call_id="c", status="completed", action={"command": ["ls"]}),
        _output(_ended(0)),
        _item("web_search_call", status="completed", action={"type": "search", "query": "x"}),
    )
    assert [(call.tool_name, args(call), call.is_error) for call in read.calls] == [
        ("local_shell", '{"command":["ls"]}', False),
        ("web_search", '{"query":"x","type":"search"}', False),
    ]
    assert read.run.status == "ok"  # a search's result is never logged
    shell = _item("local_shell_call", call_id="c", status="failed", action={"command": ["ls"]})
    (call,) = _read(shell).calls
    assert (call.output, call.is_error) == (None, None)  # its result is to come
    (call,) = _read(_item("local_shell_call", status="failed", action={})).calls
    assert (call.output, call.is_error) == (None, None)


@pytest.mark.parametrize(
    ("status", "is_error"), [("failed", True), ("completed", False), (None, None)]
)
def test_a_vendors_tool_has_its_result_with_its_call(status, is_error):
    item = _item("mcp_call", name="roll", arguments="{}", status=status, result="6")
    run = _read(_said("assistant", "I roll."), item).run
    assert told(run, "tool_name", "response_index", "output", "is_error") == [
        (None, 0, None, None),
        ("roll", 0, "6", is_error),
    ]


def test_calls_without_ids_take_results_in_order():
    read = _read(_call(None), _output("a", None), _call(None), _output("b", None))
    assert [call.output for call in read.calls] == ["a", "b"]
    assert [step.response_index for step in read.run.steps] == [0, 0, 1, 1]


def test_words_after_a_call_are_another_response():
    """Its result is not logged yet: a session that is recorded as it goes on."""
    run = _read(_said("user", "x"), _said("assistant", "a"), _call(), _said("assistant", "b")).run
    assert told(run, "kind", "response_index", "content") == [
        ("message", None, "x"),
        ("llm_call", 0, "a"),
        ("tool_call", 0, None),
        ("final", 1, "b"),
    ]


def test_steps_begin_where_their_lines_were_written():
    at = "2026-05-04T10:00:0{}Z"
    lines = [
        _said("user", "Hi"),
        _call(),
        _item("web_search_call", action={}),
        _output("ok"),
        _said("assistant", "Done."),
    ]
    run = _read(*({**line, "timestamp": at.format(n)} for n, line in enumerate(lines))).run
    assert told(run, "kind", "started_at") == [
        ("message", at.format(0)),
        ("llm_call", at.format(1)),
        ("tool_call", at.format(1)),
        ("tool_call", at.format(2)),
        ("final", at.format(4)),
    ]


def test_what_is_not_known_of_an_item_stands_on_its_step():
    summary = [{"type": "summary_text", "text": "Hm.", "odd": 1}]
    run = _read(
        _item("reasoning", summary=summary, strange=2),
        _item("message", role="assistant", content=[{"type": "text", "text": "a", "mood": "calm"}]),
    ).run
    (step,) = run.steps
    assert labels(run) == {}
    assert labels(step) == {
        "thoughts": "Hm.", "summary.odd": 1, "strange": 2, "content.mood": "calm",
    }  # fmt: skip


def test_only_a_users_own_words_open_a_turn():
    run = _read(
        _said("developer", "Be brief."),
        _said("user", "<environment_context>\n</environment_context>"),
        _said("user", "# AGENTS.md instructions for /x"),
        _said("user", "a"),
        _line("event_msg", type="user_message", message="a"),
        _said("user", "b"),
    ).run
    assert told(run, "actor", "turn_index") == [
        ("system", 0),
        ("system", 0),
        ("system", 0),
        ("user", 0),
        ("user", 1),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "<environment_context>",
        "\n<user_instructions>",
        "<permissions instructions>",
        "<skills_instructions>",
        "<turn_aborted>",
        "# AGENTS.md instructions for /x",
    ],
)
def test_what_codex_says_in_a_users_words_is_the_systems(text):
    assert [step.actor for step in _read(_said("user", text)).run.steps] == ["system"]


@pytest.mark.parametrize(
    "kind", ["compaction", "compaction_summary", "context_compaction", "ghost_snapshot"]
)
def test_what_tells_of_no_step_is_passed_over(kind):
    run = _read(_said("user", "a"), _item(kind)).run
    assert (kinds(run), labels(run)) == (["message"], {})
    assert labels(_read(_said("user", "a"), _item("oddity")).run) == {"type": "oddity"}


def test_a_user_between_two_answers_parts_them():
    said = [_said("assistant", "a"), _said("assistant", "b")]
    run = _read(*said, _said("user", "x"), _said("assistant", "c")).run
    assert told(run, "kind", "content") == [
        ("llm_call", "a\nb"), ("message", "x"), ("final", "c"),
    ]  # fmt: skip


def test_result_without_a_call_stays_as_a_message():
    (step,) = _read(_output("late", "gone")).run.steps
    assert (step.kind, step.actor, step.content) == ("message", "tool", "late")
    assert step.labels == {"orphan_result": True}


def test_aborted_or_open_runs_are_incomplete():
    aborted = _line("event_msg", type="turn_aborted", reason="interrupted")
    assert _read(_said("assistant", "a"), aborted).run.status == "incomplete"
    assert _read(aborted, _said("user", "b"), _said("assistant", "c")).run.status == "ok"
    assert _read(aborted, _said("user", "<turn_aborted>")).run.status == "incomplete"
    assert _read(aborted, _said("user", "b")).run.status == "ok"
    assert _read(aborted, _said("assistant", "c")).run.status == "ok"
    assert _read(_call()).run.status == "incomplete"


def test_first_meta_names_the_run():
    """A forked session repeats its forerunner's meta after its own."""
    first = _line("session_meta", id=UUID, forked_from_id="old")
    run = _read(first, _line("session_meta", id="old"), _said("user", "a")).run
    assert (run.run_id, run.labels) == (UUID, {"forked_from": "old"})


def test_a_sub_agents_rollout_names_its_parent():
    source = {"subagent": {"thread_spawn": {"parent_thread_id": "p", "depth": 1}}}
    run = _read(_line("session_meta", id="s", source=source), _said("user", "a")).run
    assert (run.run_id, run.source_id, run.labels) == (None, "s", {"parent_session": "p"})
    for other in (
        "cli",
        {"subagent": "review"},
        {"subagent": {"thread_spawn": {"parent_thread_id": 3}}},
    ):
        assert _read(_line("session_meta", id="s", source=other)).run.labels == {}


def test_items_of_the_first_versions_have_no_payload():
    read = _read(
        {"id": UUID, "timestamp": "2025-05-01T00:00:00Z", "instructions": None},
        {"record_type": "state"},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hi"}]},
        {"type": "function_call", "name": "shell", "arguments": "{}", "call_id": "c", "id": None},
        {"type": "function_call_output", "call_id": "c", "output": _ended(0)},
    )
    assert (read.run.run_id, kinds(read.run)) == (UUID, ["message", "llm_call", "tool_call"])


def test_damaged_lines_are_reported_and_unknown_ones_passed_over():
    read = _read(
        _said("user", "a"),
        "{synthetic malformed json",
        "[1]",
        _line("response_item", type=1),
        _line("future_record", safe="ignored"),
        _line("compacted", message="x", replacement_history=[_said("user", "old")]),
        json.dumps(_said("user", "b")) + json.dumps(_said("user", "c")),
    )
    assert [step.content for step in read.run.steps] == ["a", "b", "c"]
    assert [(damage.line, damage.reason) for damage in read.damaged] == [
        (2, "not_json"),
        (3, "not_an_object"),
        (4, "wrong_type"),
    ]


def test_nothing_but_damage_is_no_run():
    assert _read("{")[0] == []


def test_sniff():
    assert sniff("codex_rollout", _line("session_meta", id="1"))
    assert sniff("codex_rollout", {"silly": 1}, _said("user", "a"))
    assert sniff("codex_rollout", {"id": "1", "timestamp": "t", "instructions": None})
    assert sniff("codex_rollout", {"type": "session_meta"}) is None
    assert sniff("codex_rollout", {"type": [], "payload": {}}) is None
    bare = {"id": "1", "timestamp": "t", "instructions": None}
    assert sniff("codex_rollout", {**bare, "type": "x"}) is None
    assert sniff("codex_rollout", {"type": "turn.started", "payload": {}}) is None


def test_claims_no_file_of_another_format(real_data):
    assert claimed("codex_rollout", real_data("")) == set()


def test_sample():
    (path,) = SAMPLES.glob("codex_rollout/*.jsonl")
    run = read("codex_rollout", path).run
    assert [(s.tool_name, s.is_error) for s in run.steps if s.kind == "tool_call"] == [
        ("shell", False),
        ("shell", True),
        ("apply_patch", False),
    ]
    # By hand: 2100 + 2300 (told twice) + 1200 + 1300 read, 80 + 40 + 60 + 30 written.
    assert tokens(run) == (6900, 210)


def test_what_is_told_of_the_session_and_its_turns():
    """The session's own time counts, too; one model is no list of models."""
    at = "2026-05-04T10:00:0{}Z"
    meta = _line("session_meta", at.format(5), id=UUID, timestamp=at.format(1))
    model = _line("turn_context", model="m")
    run = _read(meta, model, _line("event_msg", at.format(9), type="agent_message"), model).run
    assert (run.started_at, run.ended_at, run.status) == (at.format(1), at.format(9), "ok")
    assert (run.run_id, run.source_id, run.labels) == (UUID, None, {})
    none = _line("turn_context", model=None)
    other = _read(meta, none, model, _line("turn_context", model="n"), _said("assistant", "Hi")).run
    assert (other.model, other.labels) == ("m", {"models": ["m", "n"]})
    told_of = {"cwd": "/x", "originator": "codex_vscode", "git": {}}
    assert _read(_line("session_meta", id=UUID, **told_of)).run.labels == {
        "cwd": "/x",
        "originator": "codex_vscode",
    }


def test_fields_and_lines_nobody_knows():
    run = _read(
        {"id": UUID, "timestamp": None, "odd": 1},
        _line("compacted", message="x"),
        _line("event_msg", type="turn_aborted", strange=2),
        _line("event_msg", type="agent_message", message="Hi"),
    ).run
    assert labels(run) == {"session_meta.odd": 1, "event_msg.strange": 2}
    assert run.status == "incomplete"
    assert not labels(_read(_said("user", "Hi"), {"record_type": "state"}).run)
    beside = [{**_said("user", "Hi"), "odd": 1}, {"record_type": "state", "strange": 2}]
    assert labels(_read(*beside, _line("future")).run) == {"odd": 1, "strange": 2, "type": "future"}
