"""Chats in OpenAI's message format land."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from reading import labels

from pipeline import land, query
from pipeline.landing.formats.openai_chat import FORMAT
from pipeline.landing.model import RejectError, Run
from pipeline.landing.records.reader import Piece, Source, look
from pipeline.landing.values.canonical import arguments, expected_arguments

SAMPLE = Path(__file__).parents[2] / "data_samples/openai_chat/travel_desk.jsonl"
HI = [{"role": "user", "content": "Hi"}]


def _run(**record: Any) -> Run:
    (run,) = FORMAT.decode(Piece(json.dumps({"messages": HI} | record).encode(), 1, 0), None)
    return run


def _sniff(*records: Any) -> str | None:
    return FORMAT.sniff(look("\n".join(map(json.dumps, records)).encode()))


def test_what_the_line_says_of_the_run():
    run = _run(
        id="r1",
        task_id=7,
        trial=1,
        model="m",
        suite="s",
        agent="a",
        agent_version="v",
        metadata={"team": "x", "tier": "old"},
        labels={"tier": "new"},
        success=True,
        reward=1.0,
    )
    assert (run.run_id, run.task_id, run.trial, run.model) == ("r1", "7", 1, "m")
    assert (run.suite, run.agent, run.agent_version) == ("s", "a", "v")
    assert (run.success, run.reward) == (True, 1.0)
    assert run.labels == {"team": "x", "tier": "new"}


@pytest.mark.parametrize("record", [{}, {"id": None}, {"id": ""}])
def test_line_without_an_id_has_no_run_id(record):
    assert _run(**record).run_id is None


def test_other_fields_are_labels_and_definitions_of_tools_are_passed_over():
    run = _run(tools=[{"type": "function"}], object="chat", metadata={"team": "x"}, user={"id": 7})
    assert labels(run) == {"team": "x", "object": "chat", "user": {"id": 7}}
    assert [step.content for step in run.steps] == ["Hi"]
    assert (run.prompt_hash, run.final_output, run.references) == (None, None, None)


@pytest.mark.parametrize("name", ["started_at", "created_at", "created", "timestamp"])
@pytest.mark.parametrize("moment", [1_770_000_000, "2026-02-02T02:40:00Z"])
def test_the_moment_of_a_line_is_when_its_chat_began(tmp_path, name, moment):
    log = tmp_path / "chats.jsonl"
    log.write_text(json.dumps({"messages": HI, name: moment}) + "\n")
    land([log], tmp_path / "lake")
    told = query(tmp_path / "lake", "SELECT epoch(started_at)::BIGINT AS at, labels FROM runs").rows
    assert told.row(0) == (1_770_000_000, None)


def test_what_a_line_tells_beside_its_moment_is_a_label():
    run = _run(created="soon", created_at=1_770_000_000, timestamp=10**30, ended_at={"by": "user"})
    assert (run.started_at, run.ended_at) == (1_770_000_000, None)
    assert labels(run) == {"created": "soon", "timestamp": 10**30, "ended_at": {"by": "user"}}


def _said(**message):
    chat = [{"role": "user", "content": "Hi"}, {"role": "assistant", **message}]
    return _run(messages=chat).steps[1]


SILENT = [
    "image", "image_url", "input_image", "audio", "input_audio", "video", "video_url",
    "input_video", "file", "input_file", "document", "media", "refusal", "thinking",
    "redacted_thinking", "reasoning", "text", "input_text",
    "output_text",
]  # fmt: skip


@pytest.mark.parametrize("kind", SILENT)
def test_parts_without_words_say_nothing(kind):
    """What else has a type is data: a tool's, which stays as it is."""
    part = {"type": kind, "id": "x"}
    assert _said(content=[part]).content is None
    assert _said(content=[part, "Hello", {"type": kind, "text": "you"}]).content == "Hello\nyou"
    flight = {"type": "flight", "price": 3}
    assert _said(content=[flight]).content == [flight]
    assert _said(content=[part, flight]).content is None
    assert _said(content=[flight, {"price": 3}]).content == [flight, {"price": 3}]


def test_what_is_not_known_of_a_message_and_its_parts():
    part = {"type": "text", "text": "a", "mood": "calm"}
    assert labels(_said(content=[part], odd=1)) == {"content.mood": "calm", "odd": 1}
    assert labels(_said(content=[part, "b"])) == {"content.mood": "calm"}
    assert labels(_said(content="a", odd=1)) == {"odd": 1}
    assert labels(_said(content=[{"type": "flight", "price": 3}])) is None
    assert labels(_said(content=[part, {"mood": "calm"}])) is None  # no parts: stays as it is


def test_a_refusal_is_a_label_wherever_it_stands():
    part = {"type": "refusal", "refusal": "I can't."}
    assert _said(content=None, refusal="No.").labels == {"refusal": "No."}
    assert _said(content=[part, part]).labels == {"refusal": "I can't.\nI can't."}
    assert _said(content=[part], refusal="No.").labels == {"refusal": "No."}
    for other in ({**part, "type": "text", "text": "a"}, {**part, "refusal": 3}, "a"):
        assert _said(content=[other]).labels is None


def test_what_was_spoken_is_told_by_its_transcript():
    assert _said(content=None, audio={"transcript": "Hello"}).content == "Hello"
    assert _said(content="Hi", audio={"transcript": "Hello"}).content == "Hi"
    assert _said(content=None, audio={"transcript": 3}).content is None
    assert _said(content=None, audio="x").content is None


def test_an_empty_id_is_none():
    call = {"id": "", "function": {"name": "f", "arguments": "{}"}}
    chat = [{"role": "assistant", "tool_calls": [call]}]
    made = _run(messages=chat).steps[-1]
    assert (made.tool_name, made.call_id) == ("f", None)


def test_calls_have_no_error_signal():
    run = _run(
        messages=[
            {"role": "assistant", "tool_calls": [{"id": "c", "function": {"name": "f"}}]},
            {"role": "tool", "tool_call_id": "c", "content": "Error: no"},
        ]
    )
    assert (run.steps[1].output, run.steps[1].is_error) == ("Error: no", None)


@pytest.mark.parametrize("name", ["tool_name", "name"])
@pytest.mark.parametrize("args", ["tool_args", "args", "arguments"])
def test_expected_calls_in_every_spelling(name, args):
    ((call,),) = _run(expected=[{name: "f", args: '{"a": 1}'}]).references.alternatives
    assert call.tool_name == "f"
    assert expected_arguments(call.tool_args).text == '{"a":1}'


def test_expected_call_without_arguments_matches_any():
    ((absent, null),) = _run(
        expected=[{"name": "f"}, {"name": "f", "args": None}]
    ).references.alternatives
    assert expected_arguments(absent.tool_args).status == "any"
    assert expected_arguments(null.tool_args).status == "any"


def test_no_expected_is_no_reference_and_an_empty_one_expects_no_call():
    assert _run().references is None
    assert _run(expected=None).references is None
    assert _run(expected=[]).references.alternatives == [[]]


def test_expected_may_be_alternatives():
    references = _run(expected=[[{"name": "f"}], [{"name": "g", "optional": True}]]).references
    assert [[call.tool_name for call in calls] for calls in references.alternatives] == [
        ["f"],
        ["g"],
    ]
    assert references.alternatives[1][0].optional


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        ({"messages": None}, "wrong_type"),
        ({"messages": [{"content": "no role"}]}, "missing_field"),
        ({"expected": [{"args": {}}]}, "missing_field"),
        ({"expected": "search"}, "wrong_type"),
        ({"trial": -1}, "bad_value"),
    ],
)
def test_what_cannot_land_is_refused(record, reason):
    with pytest.raises(RejectError) as caught:
        _run(**record)
    assert caught.value.reason == reason


def test_line_cut_off_is_refused():
    with pytest.raises(RejectError) as caught:
        list(FORMAT.decode(Piece(b'{"messages": [{"role": "us', 1, 0), None))
    assert caught.value.reason == "truncated"


def test_recognises_chats_with_or_without_an_id():
    assert _sniff({"messages": HI}) is not None
    assert _sniff({"id": "a", "messages": HI}, {"id": "b", "messages": HI}) is not None


def test_recognises_a_chat_longer_than_the_head():
    line = json.dumps({"messages": [*HI, {"role": "user", "content": "x" * 1000}]}).encode()
    assert FORMAT.sniff(look(line[:200], whole=False)) is not None


@pytest.mark.parametrize(
    "record",
    [
        {"messages": []},
        {"messages": "Hi"},
        {"messages": [{"type": "human", "content": "Hi"}]},
        {"messages": HI, "trajectory_format": "x"},
        {"messages": [*HI, {"role": "assistant", "content": [{"type": "tool_use", "id": "t"}]}]},
        {"run_id": "r", "steps": []},
    ],
    ids=["empty", "text", "other roles", "a trajectory", "anthropic", "no messages"],
)
def test_leaves_other_shapes_alone(record):
    assert _sniff(record) is None


def test_claims_no_real_file_of_another_format(real_data):
    files = [path for path in real_data(".").rglob("*") if path.is_file()]
    assert [path for path in files if FORMAT.sniff(Source(path, "").head)] == []


def test_sample_shows_a_repeat_parallel_calls_and_an_empty_reference():
    source = Source(SAMPLE, SAMPLE.name)
    runs = [run for piece in FORMAT.pieces(source) for run in FORMAT.decode(piece, None)]
    assert FORMAT.sniff(source.head) is not None
    assert [run.run_id for run in runs] == [f"desk-00{n}" for n in range(1, 6)]
    calls = [[step for step in run.steps if step.kind == "tool_call"] for run in runs]
    assert [len(run) for run in calls] == [2, 4, 2, 0, 1]
    assert all(call.output is not None for run in calls for call in run)
    assert arguments(calls[1][0].tool_args) == arguments(calls[1][1].tool_args)
    assert len({call.response_index for call in calls[2]}) == 1
    assert calls[2][0].output == '[{"flight":"LN3"}]'
    assert runs[3].references.alternatives == [[]]
    assert runs[4].references is None
    assert sum(step.input_tokens or 0 for step in runs[0].steps) == 410 + 480 + 510
    assert len({run.prompt_hash for run in runs[:4]}) == 1
