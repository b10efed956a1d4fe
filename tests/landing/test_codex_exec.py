"""The stream of `codex exec --json` lands: items become calls and responses, totals differences."""

from __future__ import annotations

from typing import Any

import pytest
from reading import SAMPLES, args, calls, claimed, kinds, labels, read, sniff
from sessions import Line, Session, session, tokens, told

UUID = "019a2d7a-0000-7000-8000-000000000001"
STARTED = {"type": "thread.started", "thread_id": UUID}
TURN = {"type": "turn.started"}


def _item(kind: str, item_id: str = "item_0", at: str = "completed", **more: Any) -> dict[str, Any]:
    return {"type": f"item.{at}", "item": {"id": item_id, "type": kind, **more}}


def _command(
    item_id: str = "item_0", code: int | None = 0, status: str = "completed"
) -> dict[str, Any]:
    told = {"command": "ls", "aggregated_output": "x", "exit_code": code, "status": status}
    return _item("command_execution", item_id, **told)


def _used(read: int, written: int) -> dict[str, Any]:
    return {"type": "turn.completed", "usage": {"input_tokens": read, "output_tokens": written}}


def _read(*lines: Line) -> Session:
    return session("codex_exec", STARTED, TURN, *lines)


def test_thought_call_and_answer():
    run = _read(
        _item("reasoning", text="Hm."),
        _item(
            "command_execution",
            "item_1",
            "started",
            command="ls",
            aggregated_output="",
            status="in_progress",
        ),
        _command("item_1"),
        _item("agent_message", "item_2", text="Done."),
        _used(100, 10),
    ).run
    assert told(run, "kind", "response_index", "content", "labels") == [
        ("llm_call", 0, None, {"thoughts": "Hm."}),
        ("tool_call", 0, None, None),
        ("final", 1, "Done.", None),
    ]
    (call,) = calls(run)
    assert (call.tool_name, args(call), call.output, call.is_error) == (
        "command_execution",
        '{"command":"ls"}',
        "x",
        False,
    )
    assert (run.run_id, run.agent, run.model, run.status) == (UUID, "codex", None, "ok")
    assert (tokens(run), run.final_output) == ((100, 10), "Done.")


def test_parallel_items_are_calls_of_one_response():
    started = [_item("web_search", f"item_{n}", "started", query=f"{n}") for n in (1, 2)]
    ended = [_item("web_search", f"item_{n}", query=f"{n}") for n in (2, 1)]
    read = _read(*started, *ended)
    assert told(read.run, "kind", "response_index") == [
        ("llm_call", 0),
        ("tool_call", 0),
        ("tool_call", 0),
    ]
    assert [args(call) for call in read.calls] == ['{"query":"1"}', '{"query":"2"}']


def test_words_after_words_are_another_response():
    run = _read(
        _item("agent_message", "1", text="a"),
        _item("agent_message", "2", text="b"),
        _item("reasoning", "3", text="Hm."),
        _item("agent_message", "4", text="c"),
    ).run
    assert told(run, "kind", "content", "labels") == [
        ("llm_call", "a", None),
        ("llm_call", "b", None),
        ("final", "c", {"thoughts": "Hm."}),
    ]


def test_words_while_a_command_runs_are_another_response():
    started = _item("command_execution", "1", "started", command="ls", status="in_progress")
    run = _read(started, _item("agent_message", "2", text="Wait."), _command("1")).run
    assert told(run, "kind", "response_index", "call_id") == [
        ("llm_call", 0, None),
        ("tool_call", 0, "1"),
        ("final", 1, None),
    ]


@pytest.mark.parametrize(
    ("item", "name", "arguments", "output", "is_error", "error"),
    [
        (_command(), "command_execution", '{"command":"ls"}', "x", False, None),
        (_command(code=2, status="failed"), "command_execution", '{"command":"ls"}', "x", True, None),
        (_command(code=None, status="declined"), "command_execution", '{"command":"ls"}', "x", False, None),
        (
            _item("mcp_tool_call", server="s", tool="t", arguments={"a": 1}, status="completed",
                  result={"content": [{"type": "text", "text": "ok"}]}),
            "mcp__s__t", '{"a":1}', "ok", False, None,
        ),
        (
            _item("mcp_tool_call", server="s", tool="t", arguments={}, status="failed",
                  error={"message": "no"}),
            "mcp__s__t", "{}", None, True, "no",
        ),
        (
            _item("mcp_tool_call", server="s", tool="t", status="completed",
                  result={"content": [], "structured_content": {"n": 1}}),
            "mcp__s__t", "not_captured", {"n": 1}, False, None,
        ),
        (
            _item("file_change", changes=[{"path": "a", "kind": "add"}], status="completed"),
            "file_change", '{"changes":[{"kind":"add","path":"a"}]}', None, False, None,
        ),
        (
            _item("file_change", changes=[], status="failed"),
            "file_change", '{"changes":[]}', None, True, None,
        ),
        (
            _item("mcp_tool_call", server="s", tool="t", arguments={}, error={"message": "no"}),
            "mcp__s__t", "{}", None, True, "no",
        ),
        (_item("collab_tool_call", prompt="Look."), "collab_tool_call", '{"prompt":"Look."}', None, False, None),
        (
            _item("todo_list", items=[{"text": "a", "completed": True}]),
            "todo_list", '{"items":[{"completed":true,"text":"a"}]}', None, False, None,
        ),
        (
            _item("collab_tool_call", tool="spawn_agent", prompt="Look.", status="completed"),
            "spawn_agent", '{"prompt":"Look."}', None, False, None,
        ),
    ],
)  # fmt: skip
def test_every_kind_of_call(item, name, arguments, output, is_error, error):
    (call,) = _read(item).calls
    assert (call.tool_name, args(call), call.output) == (name, arguments, output)
    assert (call.is_error, call.error) == (is_error, error)


def test_a_declined_command_is_labelled():
    (call,) = _read(_command(code=None, status="declined")).calls
    assert call.labels == {"rejected": True}


def test_a_list_that_is_updated_is_one_call_with_its_last_items():
    read = _read(
        _item("todo_list", at="started", items=[]),
        _item("todo_list", at="updated", items=[{"text": "a"}]),
    )
    assert [(args(call), call.is_error) for call in read.calls] == [
        ('{"items":[{"text":"a"}]}', None)
    ]


def test_ids_that_begin_again_in_a_resumed_thread():
    run = session("codex_exec", STARTED, TURN, _command(), STARTED, TURN, _command(code=1)).run
    assert [(call.is_error, call.turn_index) for call in calls(run)] == [(False, 0), (True, 1)]


def test_usage_is_a_running_total_that_may_restart():
    answer = _item("agent_message", text="a")
    run = _read(
        answer, _used(100, 10), TURN, answer, _used(250, 30), TURN, answer, _used(40, 4)
    ).run
    assert told(run, "input_tokens", "output_tokens") == [(100, 10), (150, 20), (40, 4)]


def test_a_total_that_is_told_again_used_nothing():
    answer, ended = _item("agent_message", text="a"), {"type": "turn.completed"}
    run = _read(answer, _used(100, 10), TURN, answer, _used(100, 10)).run
    assert told(run, "input_tokens", "output_tokens") == [(100, 10), (0, 0)]
    assert _read(answer, ended).run.status == "ok"


def test_a_total_that_shrinks_in_one_number_begins_again():
    answer = _item("agent_message", text="a")
    for used, told_of in ((_used(150, 4), (150, 4)), (_used(40, 30), (40, 30))):
        run = _read(answer, _used(100, 10), TURN, answer, used).run
        assert told(run, "input_tokens", "output_tokens") == [(100, 10), told_of]
    assert kinds(_read(_used(1, 2)).run) == []  # a turn without a response


def test_a_call_or_a_turn_that_has_ended_ends_its_response():
    run = _read(_command("1"), _command("2")).run
    assert told(run, "kind", "response_index") == [
        ("llm_call", 0), ("tool_call", 0), ("llm_call", 1), ("tool_call", 1),
    ]  # fmt: skip
    thought, answer = _item("reasoning", text="Hm."), _item("agent_message", text="a")
    run = _read(thought, _used(1, 1), TURN, answer).run
    assert told(run, "kind", "content") == [("llm_call", None), ("final", "a")]


def test_what_is_not_known_stands_on_the_step_it_tells_of():
    answer, command = _item("agent_message", text="a", odd=1), _command()
    command["item"]["odd"] = 2
    run = _read({**answer, "mood": "calm"}, {**command, "mood": "glad"}).run
    assert [labels(step) for step in run.steps] == [
        {"mood": "calm", "item.odd": 1},
        {"result.mood": "glad", "result.item.odd": 2},
    ]
    assert labels(run) == {}
    (call,) = _read({**_item("web_search", at="started", query="x"), "mood": "calm"}).calls
    assert labels(call) == {"mood": "calm"}
    assert labels(_read({"type": "turn.odd"}, _item("future_item")).run) == {
        "type": "turn.odd",
        "item.type": "future_item",
    }


def test_status():
    answer = _item("agent_message", text="a")
    failed = {"type": "turn.failed", "error": {"message": "down"}}
    assert _read().run.status == "incomplete"  # a stream that ends right after turn.started
    assert _read(answer).run.status == "incomplete"
    assert _read(answer, _used(1, 1)).run.status == "ok"
    assert _read(answer, _used(1, 1), TURN).run.status == "incomplete"
    assert session("codex_exec", STARTED, answer).run.status == "incomplete"
    assert (
        _read({"type": "error", "message": "Reconnecting"}, answer, _used(1, 1)).run.status == "ok"
    )
    assert _read(answer, {"type": "error", "message": "down"}).run.status == "error"
    run = _read(answer, failed).run
    assert (run.status, run.steps[-1].error, run.steps[-1].actor) == ("error", "down", "system")


def test_two_threads_are_two_runs():
    other = {"type": "thread.started", "thread_id": "t2"}
    runs = _read(_command(), other, TURN, _item("agent_message", text="b")).runs
    assert [(run.run_id, run.source_id, kinds(run)) for run in runs] == [
        (UUID, None, ["llm_call", "tool_call"]),
        (None, "t2", ["final"]),
    ]


def test_an_error_item_is_a_message_and_damage_is_reported():
    read = _read(_item("error", message="slow"), '{"type":', {"item": {}}, _item("future_item"))
    assert told(read.run, "kind", "actor", "error") == [("message", "system", "slow")]
    assert [(damage.line, damage.reason) for damage in read.damaged] == [
        (4, "truncated"),
        (5, "missing_field"),
    ]


def test_sniff():
    assert sniff("codex_exec", STARTED)
    assert sniff("codex_exec", TURN)
    assert sniff("codex_exec", _command())
    assert sniff("codex_exec", {"type": "thread.started"}) is None
    assert sniff("codex_exec", {"type": "item.completed"}) is None
    assert sniff("codex_exec", {"type": "session_meta", "payload": {}}) is None


def test_figures_of_the_real_files(real_data, expected_figures):
    for path in sorted(real_data("codex_exec_json_stream").iterdir()):
        figures = expected_figures[f"codex_exec_json_stream/{path.name}"]
        run = read("codex_exec", path).run
        made = calls(run)
        assert len(made) == figures["tool_calls"], path.name
        assert sum(call.is_error is True for call in made) == figures["tool_errors"] == 0
        assert len({call.tool_name for call in made}) == figures["distinct_tools"]
        assert tokens(run) == (figures["tokens_in"], figures["tokens_out"])
        assert (run.status, kinds(run)[-1]) == ("ok", "final")


def test_claims_no_other_file(real_data):
    folder = "codex_exec_json_stream"
    own = {f"{folder}/{path.name}" for path in real_data(folder).iterdir()}
    assert claimed("codex_exec", real_data("")) == own


def test_sample():
    run = read("codex_exec", SAMPLES / "codex_exec/find_ticket.jsonl").run
    assert [(call.tool_name, call.is_error) for call in calls(run)] == [
        ("mcp__desk__find_ticket", True),
        ("command_execution", False),
    ]
