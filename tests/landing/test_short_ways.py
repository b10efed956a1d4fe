"""Formats with a short way: many records at once land what they do one by one, odd ones too."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from both_ways import landed_alike, write_lines
from hypothesis import given, settings
from hypothesis import strategies as st
from reading import SAMPLES

from pipeline.landing.batch import stage
from pipeline.landing.land import land

if TYPE_CHECKING:
    from pathlib import Path

ODD = st.sampled_from([None, 7, 1.5, "", "text", [], {}, {"mood": "calm"}, 1e400])
ID = st.sampled_from(["r1", "r2", "", None])
ARGUMENTS = st.sampled_from([{"a": 1.0}, {}, '{"b": 2}', "nonsense", None])

USAGE = st.sampled_from([{"input_tokens": 3, "output_tokens": 0}, {"prompt_tokens": 2, "x": 1}, {}])
BLOCK = st.sampled_from(
    [
        {"type": "text", "text": "I look."},
        {"type": "text", "text": "I look.", "mood": "calm"},
        {"type": "tool_use", "id": "t1", "name": "f", "input": {"a": 1}},
        {"type": "tool_result", "tool_use_id": "t1", "content": "no", "is_error": True},
        "bare",
    ]
)
CALL = {"id": "c1", "function": {"name": "f", "arguments": '{"a": 1}'}}
MESSAGE = st.fixed_dictionaries(
    {},
    optional={
        "role": st.sampled_from(["user", "assistant", "assistant", "system", "tool", "critic"]),
        "type": st.sampled_from(["human", "ai", "message", "reasoning", "function_call"]),
        "content": st.sampled_from(["Hi", "", "[{", '[{"type": "tool_use", "name": "f"}]', None])
        | st.lists(BLOCK, max_size=3),
        "tool_calls": st.sampled_from([None, [], [CALL], "none"]),
        "tool_call_id": st.sampled_from(["c1", "c2"]),
        "usage": USAGE,
        "mood": st.just("calm"),
    },
)
CHAT = st.lists(MESSAGE, max_size=5)
MESSAGES = CHAT | st.fixed_dictionaries(
    {"messages": CHAT},
    optional={
        "id": ID,
        "usage": USAGE,
        "model": ODD,
        "metadata": ODD,
        "reference_outputs": CHAT,
        "mood": ODD,
    },
)

TEXT = st.sampled_from(["[f(a=1), g('x')]", "Sorry.", "Error during inference: x", "", "[]"])
RESPONSE = TEXT | st.lists(st.dictionaries(st.sampled_from(["f", "g"]), ARGUMENTS), max_size=2)
COUNT = st.sampled_from([None, 3, 2.5, [1, 2], [[1], [2, 3]], "many", 10**20, [1e308, 1e308]])
RESULT = st.fixed_dictionaries(
    {"id": st.sampled_from(["a_b_1", "a_2-3", 4, "x", None])},
    optional={
        "result": RESPONSE | st.lists(RESPONSE | st.lists(RESPONSE, max_size=2), max_size=2) | ODD,
        "input_token_count": COUNT,
        "output_token_count": COUNT,
        "latency": COUNT,
        "mood": ODD,
    },
)

ACCEPTABLE = st.sampled_from([["a", "b", ""], [1], [{"x": [1, ""], "y": ["z"]}], [[[1, 2]]], 5, []])
TRUTH = st.dictionaries(
    st.sampled_from(["f", "g"]), st.dictionaries(st.sampled_from("ab"), ACCEPTABLE), max_size=2
)
ANSWER = st.fixed_dictionaries(
    {"id": st.sampled_from(["a_b_1", "a_2"]), "ground_truth": st.lists(TRUTH, max_size=2) | ODD},
    optional={"mood": ODD},
)

PAIRED = st.fixed_dictionaries(
    {"name": st.sampled_from(["f", "g"])},
    optional={"args": ARGUMENTS, "labels": st.sampled_from([None, {"a": 1}]), "mood": ODD},
)
PAIR = st.fixed_dictionaries(
    {"case_id": st.sampled_from(["r1", "r2", ""]), "actual": st.lists(PAIRED, max_size=3)},
    optional={
        "expected": st.none() | st.lists(PAIRED | st.lists(PAIRED, max_size=2), max_size=2),
        "labels": st.sampled_from([None, {"a": 1}]),
        "mood": ODD,
    },
)

RECORDED = st.fixed_dictionaries(
    {"step_type": st.sampled_from(["llm_call", "tool_call", "observation", "final"])},
    optional={
        "tool_name": st.just("f"),
        "tool_input": ARGUMENTS,
        "observation": st.sampled_from(["ok", None]),
        "action_content": st.sampled_from(["done", " done ", None]),
        "error": st.sampled_from([None, True, "no"]),
        "input_tokens": st.sampled_from([0, 3]),
        "timestamp": st.sampled_from([0, "2026-01-01T00:00:00Z", "later"]),
        "mood": ODD,
    },
)
TRAJECTORY = st.fixed_dictionaries(
    {"steps": st.lists(RECORDED, max_size=4)},
    optional={
        "trajectory_id": ID,
        "task_id": ID,
        "task_description": st.sampled_from(["Find it", None]),
        "final_output": st.sampled_from(["done", None]),
        "trial": st.sampled_from([0, -1]),
        "mood": ODD,
    },
)

TASK = st.fixed_dictionaries(
    {"task_id": st.sampled_from(["t1", "t2"])},
    optional={
        "prompt": ODD,
        "min_steps": st.sampled_from([0, 1, 1 << 33]),
        "references": st.sampled_from([[], [[]], [[{"tool_name": "f", "tool_args": {"a": 1}}]]]),
        "reference_output": st.sampled_from([None, "a", ["a", "b"]]),
        "mood": ODD,
    },
)
RECORDS = {
    "messages": MESSAGES,
    "bfcl_result": RESULT,
    "bfcl_answers": ANSWER,
    "pairs": PAIR,
    "recorder": TRAJECTORY,
    "tasks": TASK,
}


@pytest.mark.parametrize("form", RECORDS)
@given(data=st.data())
@settings(max_examples=25)
def test_many_at_once(form: str, data: Any, tmp_path_factory: pytest.TempPathFactory) -> None:
    records = data.draw(st.lists(RECORDS[form], min_size=1, max_size=4))
    log = write_lines(tmp_path_factory.mktemp("short") / "log.jsonl", records)
    landed_alike(log, form)


@pytest.mark.parametrize(
    "log",
    [
        "messages/records.jsonl",
        "bfcl_result/aurora-mini_BFCL_v4_multi_turn_trips_result.json",
        "bfcl_answers/BFCL_v4_trips.json",
        "pairs/pairs.jsonl",
        "recorder/trajectories.jsonl",
        "tasks/tasks.jsonl",
    ],
)
def test_the_short_way_is_taken(log: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nothing is amiss, no record is decoded one by one."""

    def one_by_one(*_: object, **__: object) -> None:
        raise AssertionError

    monkeypatch.setattr(stage, "_one_by_one", one_by_one)
    monkeypatch.setattr(stage, "FEW", 1)
    report = land([SAMPLES / log], tmp_path / "lake", workers=1)
    assert report.runs or report.tasks


def test_unknown_fields_are_counted_once_a_record(tmp_path: Path) -> None:
    """Three of forty records have a field that nobody knows, one of them on two messages."""
    odd = {"role": "user", "content": "Hi", "mood": "calm"}
    said = {"role": "user", "content": "Hi"}
    chats = [[odd, odd], [odd, said], [said, odd], *([said, said] for _ in range(37))]
    log = write_lines(tmp_path / "log.jsonl", ({"outputs": chat} for chat in chats))
    report = land([log], tmp_path / "lake", format="messages", workers=1)
    assert report.runs == 40
    assert report.unmapped == {"messages": {"mood": 3}}
