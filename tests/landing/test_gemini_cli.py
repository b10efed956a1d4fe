"""Gemini CLI chats land: results inside their calls, thoughts among the tokens written."""

from __future__ import annotations

import json
from typing import Any

import pytest
from making import runs_of
from reading import SAMPLES, args, calls, claimed, decode, kinds, labels, read, sniff
from sessions import tokens, told

from pipeline.lake import Lake
from pipeline.landing import formats
from pipeline.landing.land import land
from pipeline.landing.model import RejectError
from pipeline.landing.records.reader import Source

UUID = "faff42ab-6ea5-4f78-b8c4-f7dd6272af08"


def _call(
    response: Any = None, status: str | None = "success", name: str = "f", **more: Any
) -> dict[str, Any]:
    result = [{"functionResponse": {"name": name, "response": response}}]
    return {
        "id": "c",
        "name": name,
        "args": {"x": 1},
        "result": result,
        "status": status,
        **more,
    }


def _gemini(content: Any = "", *made: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "gemini", "content": content, "toolCalls": list(made), **more}


def _user(content: Any) -> dict[str, Any]:
    return {"type": "user", "content": content}


def _run(*messages: dict[str, Any], **session: Any) -> Any:
    return decode("gemini_cli", {"sessionId": UUID, "messages": list(messages), **session}).run


def test_message_call_result_and_answer():
    run = _run(
        _user("Hi"),
        _gemini("I look.", _call({"output": "ok"}), timestamp="t1", model="m"),
        _gemini("Done."),
        startTime="2026-05-04T11:00:00Z",
        lastUpdated="2026-05-04T11:00:09Z",
        projectHash="h",
    )
    assert told(run, "kind", "actor", "response_index", "content") == [
        ("message", "user", None, "Hi"),
        ("llm_call", "agent", 0, "I look."),
        ("tool_call", "agent", 0, None),
        ("final", "agent", 1, "Done."),
    ]
    (call,) = calls(run)
    assert (call.call_id, args(call), call.output, call.is_error) == ("c", '{"x":1}', "ok", False)
    assert (run.run_id, run.agent, run.model) == (UUID, "gemini-cli", "m")
    assert (run.started_at, run.ended_at) == ("2026-05-04T11:00:00Z", "2026-05-04T11:00:09Z")
    assert (run.labels, run.final_output, run.status) == ({"project_hash": "h"}, "Done.", "ok")


@pytest.mark.parametrize(
    ("response", "status", "output", "is_error", "error", "labels"),
    [
        ({"output": "ok"}, "success", "ok", False, None, None),
        ({"error": "gone"}, "success", {"error": "gone"}, False, None, None),
        ({"error": "gone"}, "error", {"error": "gone"}, True, "gone", None),
        ({"error": "no"}, "cancelled", {"error": "no"}, False, None, {"rejected": True}),
        ({"output": "a", "n": 1}, "success", {"output": "a", "n": 1}, False, None, None),
        (None, "executing", None, None, None, None),
        (None, None, None, None, None, None),
    ],
)
def test_status_tells_whether_a_call_failed(response, status, output, is_error, error, labels):
    (call,) = calls(_run(_gemini("", _call(response, status))))
    assert (call.output, call.is_error, call.error, call.labels) == (
        output,
        is_error,
        error,
        labels,
    )


def test_parts_of_a_result_that_are_no_response_are_passed_over():
    result = [{"functionResponse": {"response": {"output": "a"}}}, {"inlineData": {}}]
    several = [{"functionResponse": {"response": {"output": x}}} for x in "ab"]
    run = _run(
        _gemini("", _call(result=result), _call(result=several), _call(result=[{"text": "t"}]))
    )
    assert [call.output for call in calls(run)] == [
        "a",
        [{"output": "a"}, {"output": "b"}],
        [{"text": "t"}],
    ]


def test_what_the_model_thought_it_wrote():
    used = {"input": 100, "output": 10, "cached": 80, "thoughts": 5, "tool": 2, "total": 117}
    (step,) = _run(_gemini("a", tokens=used, thoughts=[{"description": "Hm."}])).steps
    assert (step.input_tokens, step.output_tokens) == (102, 15)
    assert step.labels == {"cached_input_tokens": 80, "thought_tokens": 5, "thoughts": "Hm."}


def test_notices_are_messages_of_the_system():
    run = _run(
        {"type": "info", "content": "Update!"}, _user("Hi"), {"type": "error", "content": "x"}
    )
    assert told(run, "actor", "turn_index", "error") == [
        ("system", 0, None),
        ("user", 0, None),
        ("system", 0, "x"),
    ]
    assert run.status == "error"


def test_a_call_that_never_ended_leaves_the_run_open():
    assert _run(_gemini("", _call(None, "executing"))).status == "incomplete"
    assert _run(_gemini("", _call({"error": "no"}, "cancelled"))).status == "ok"


def test_content_in_parts_and_turns():
    run = _run(_user([{"text": "a"}, {"inlineData": {}}, "b"]), _gemini([]), _user("c"))
    assert told(run, "content", "turn_index") == [("a\nb", 0), (None, 0), ("c", 1)]


def test_several_models_and_an_id_that_is_not_unique():
    run = _run(_gemini("a", model="m1"), _gemini("b", model="m2"), sessionId="s")
    assert (run.run_id, run.source_id, run.model) == (None, "s", "m1")
    assert run.labels == {"models": ["m1", "m2"]}


@pytest.mark.parametrize("indent", [None, 2])
def test_one_document_whatever_the_file_is_called(tmp_path, indent):
    path = tmp_path / "full.jsonl"
    path.write_text(
        json.dumps({"sessionId": UUID, "projectHash": "h", "messages": []}, indent=indent)
    )
    assert read("gemini_cli", path).run.run_id == UUID


def test_sessions_one_per_line(tmp_path):
    path = tmp_path / "chats.json"
    record = {"sessionId": UUID, "projectHash": "h", "messages": []}
    path.write_text(f"{json.dumps(record)}\n{json.dumps(record)}\n")
    assert len(read("gemini_cli", path).runs) == 2


META = {"sessionId": UUID, "projectHash": "h", "startTime": "2026-05-04T11:00:00Z"}


def _lines(path, *records):
    path.write_text("\n".join(map(json.dumps, records)))
    return path


def test_a_session_written_line_by_line(tmp_path):
    """A message that changes is written again whole; what a rewind took back is not the run's."""
    asks = {**_gemini("I look.", _call(status="executing")), "id": "b"}
    answered = _gemini("I look.", _call({"output": "ok"}), tokens={"input": 9, "output": 2})
    path = _lines(
        tmp_path / "session.jsonl",
        {**META, "messages": []},
        {**_user("Hi"), "id": "a"},
        asks,
        {**answered, "id": "b"},
        {"$set": {"summary": "A greeting", "messages": [{**answered, "id": "b"}]}},
        {**_gemini("Wrong."), "id": "c"},
        {"$rewindTo": "c"},
        {**_gemini("Done."), "id": "d", "timestamp": "2026-05-04T11:00:09Z"},
    )
    run = read("gemini_cli", path).run
    assert kinds(run) == ["message", "llm_call", "tool_call", "final"]
    assert (run.run_id, run.status, run.final_output) == (UUID, "ok", "Done.")
    assert run.labels == {"project_hash": "h", "summary": "A greeting", "rewound_responses": 1}
    assert (run.started_at, run.ended_at) == (META["startTime"], "2026-05-04T11:00:09Z")
    assert [(call.output, call.is_error) for call in calls(run)] == [("ok", False)]
    assert tokens(run) == (9, 2)


@pytest.mark.parametrize("indent", [0, 2])
def test_a_session_of_lines_printed_over_many(tmp_path, indent):
    path = tmp_path / "s.json"
    said = {**_user("Hi"), "id": "a"}, {**_gemini("Ho."), "id": "b"}, {"$set": {"summary": "s"}}
    path.write_text("\n".join(json.dumps(record, indent=indent) for record in (META, *said)))
    report = land([path], tmp_path / "lake")
    assert (report.runs, report.steps, dict(report.rejects)) == (1, 2, {})


def test_lines_behind_blanks_or_glued_are_lines_too(tmp_path):
    path = _lines(tmp_path / "s.jsonl", META, {**_user("Hi"), "id": "a"})
    for begin in ("\n  {", "{", " {"):
        path.write_text(path.read_text().replace("\n{", begin))
        assert len(read("gemini_cli", path).run.steps) == 1


def test_a_printed_document_cut_off_is_one_reject(tmp_path):
    path = tmp_path / "s.json"
    session = {**META, "messages": [_user("Hi"), _gemini("Hello.")]}
    path.write_text(json.dumps(session, indent=0)[:-20])
    report = land([path], tmp_path / "lake")
    assert (report.runs, dict(report.rejects)) == (0, {"truncated": 1})


def test_a_damaged_line_of_a_session_is_refused_alone(tmp_path):
    path = _lines(tmp_path / "s.jsonl", META, {**_user("Hi"), "id": "a"}, _gemini("Hello."))
    path.write_text(path.read_text() + '\n{"id": "c", "type": "gem')
    report = land([path], tmp_path / "lake")
    assert (report.runs, report.steps, dict(report.rejects)) == (1, 2, {"truncated": 1})
    land([_lines(path, META, {**_user("Hi"), "id": "a"}, _gemini("Hello."), _user("Bye"))], tmp_path / "lake")  # fmt: skip
    assert runs_of(tmp_path / "lake")["n_rows"].to_list() == [3]


def test_an_unknown_rewind_takes_back_all_and_files_may_be_joined(tmp_path):
    other = {**META, "sessionId": UUID.replace("f", "e")}
    said = [{**_user("Hi"), "id": "a"}, {"$rewindTo": "?"}, {**_user("Ho"), "id": "a"}]
    first, second = read("gemini_cli", _lines(tmp_path / "s.jsonl", META, *said, other, *said)).runs
    assert [first.run_id, second.run_id] == [UUID, other["sessionId"]]
    assert [step.content for step in first.steps] == ["Ho"]


def test_what_cannot_land_is_refused():
    with pytest.raises(RejectError, match="missing_field"):
        decode("gemini_cli", {"sessionId": UUID})


def test_sniff():
    session = {"sessionId": "1", "projectHash": "h", "messages": []}
    assert sniff("gemini_cli", session)
    assert sniff("gemini_cli", {"sessionId": "1", "messages": []}) is None
    assert sniff("gemini_cli", {**session, "messages": {}}) is None


def test_figures_of_the_real_files(real_data, expected_figures):
    """The figures leave thoughts out of the tokens written; the total of each message has them."""
    for path in sorted(real_data("gemini_cli_json").iterdir()):
        figures = expected_figures[f"gemini_cli_json/{path.name}"]
        run = read("gemini_cli", path).run
        made = calls(run)
        assert len(made) == figures["tool_calls"], path.name
        assert sum(call.is_error is True for call in made) == figures["tool_errors"] == 0
        assert len({call.tool_name for call in made}) == figures["distinct_tools"]
        assert all(call.output is not None for call in made)
        used, written = tokens(run)
        thoughts = sum((step.labels or {}).get("thought_tokens", 0) for step in run.steps)
        assert (used, written - thoughts) == (
            figures.get("tokens_in", 0),
            figures.get("tokens_out", 0),
        )
        messages = json.loads(path.read_text())["messages"]
        assert used + written == sum(m.get("tokens", {}).get("total", 0) for m in messages)


def test_real_session_of_a_warning_alone_is_a_run(real_data):
    run = read("gemini_cli", real_data("gemini_cli_json/gemini_ec_38b74f08e3_2.json")).run
    assert (kinds(run), run.model, run.final_output) == (["message"], None, None)


def test_of_two_real_snapshots_of_a_session_the_longer_one_stays(real_data, tmp_path):
    names = ("gemini_c9_45f262e88d_0.json", "gemini_ab_2b9748b105_0.json")
    files = [real_data(f"gemini_cli_json/{name}") for name in names]
    report = land(files, tmp_path / "lake", workers=1)
    assert (report.runs, report.calls, report.unresolved) == (1, 9, {})
    assert len(Lake.open(tmp_path / "lake").batches()) == 1


def test_claims_no_other_file(real_data):
    own = {f"gemini_cli_json/{path.name}" for path in real_data("gemini_cli_json").iterdir()}
    assert claimed("gemini_cli", real_data("")) == own


def test_sample():
    path = SAMPLES / "gemini_cli/session-hotel.json"
    run = read("gemini_cli", path).run
    assert [(call.tool_name, call.is_error) for call in calls(run)] == [
        ("read_file", True),
        ("list_directory", False),
        ("read_file", False),
        ("run_shell_command", False),
    ]
    assert len(list(formats.get("gemini_cli").pieces(Source(path, "")))) == 1


def test_what_a_response_and_its_calls_tell_beside_words():
    """Of a thought its description, else its subject; a call's own time, else its message's."""
    thoughts = [{"subject": "S", "description": "D"}, {"subject": "T"}]
    made = _call(timestamp="2026-05-04T11:00:02Z"), _call()
    at = "2026-05-04T11:00:01Z"
    used = {"input": 9, "cached": 0, "thoughts": 0}
    run = _run(_gemini("a", *made, tokens=used, thoughts=thoughts, timestamp=at))
    assert [step.started_at for step in run.steps] == [at, "2026-05-04T11:00:02Z", at]
    assert run.steps[0].labels == {"thoughts": "D\nT"}
    assert tokens(run) == (9, 0)
    assert run.steps[0].output_tokens is None
    assert run.source_id is None


def test_an_error_ends_a_run_whatever_notice_follows():
    at = "2026-05-04T11:00:01Z"
    failed = {"type": "error", "content": "x", "timestamp": at}
    asked = {**_user(""), "timestamp": at}
    run = _run(asked, failed, {"type": "info", "content": "Update!"})
    assert run.status == "error"
    assert told(run, "content", "started_at") == [(None, at), ("x", at), ("Update!", None)]


def test_a_result_that_is_one_part_and_fields_nobody_knows():
    result = {"functionResponse": {"response": {"output": "a"}}}
    run = _run(_user([{"text": "a", "strange": 1}]), _gemini("", _call(result=result)))
    assert calls(run)[0].output == "a"
    assert labels(run.steps[0]) == {"content.strange": 1}


def test_messages_told_of_a_whole_session_and_its_last_time(tmp_path):
    late = "2026-05-04T11:00:20Z"
    notice = {"id": "n", "type": "info", "content": "Update!", "timestamp": META["startTime"]}
    path = _lines(
        tmp_path / "s.jsonl",
        {**META, "lastUpdated": late, "messages": [{**_user("Hi"), "id": "a"}]},
        notice,
        {"$set": {"messages": [{**_gemini("Ho"), "id": "b"}]}},
    )
    run = read("gemini_cli", path).run
    assert [step.content for step in run.steps] == ["Hi", "Update!", "Ho"]
    assert run.ended_at == late
    assert not sniff("gemini_cli", META, {"id": "n", "type": "strange"})


def test_bytes_that_are_no_text_are_refused(tmp_path):
    session = {**META, "messages": [_gemini("", {**_call(), "args": {"x": "?"}})]}
    texts = [json.dumps({**META, "messages": []}).encode(), json.dumps(session).encode()]
    (tmp_path / "s.jsonl").write_bytes(b"\n".join(texts).replace(b"?", b"\xff"))
    report = land([tmp_path / "s.jsonl"], tmp_path / "lake")
    assert (report.runs, dict(report.rejects)) == (1, {"invalid_utf8": 1})
