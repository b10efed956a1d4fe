"""Chats decoded many at once land what they do one by one, and that way is taken."""

from __future__ import annotations

import json
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

TEXT = st.sampled_from(["", "hello", "é", "Error: no such seat", "}{", None])
CONTENT = TEXT | st.sampled_from(
    [
        [{"type": "text", "text": "a"}, {"type": "image_url"}, {"type": "text", "text": "b"}],
        [{"type": "text", "text": "a", "mood": "calm"}],
        {"price": 1.0},
    ]
)
CALL_ID = st.sampled_from(["c1", "c2", "c3", 7, "", None])
ARGUMENTS = st.sampled_from(['{"b": 1.0, "a": [2]}', '{"a":1}', "", "nonsense", {"a": 1}, None])
CALL = st.one_of(
    st.fixed_dictionaries(
        {
            "id": CALL_ID,
            "function": st.fixed_dictionaries(
                {"name": st.sampled_from(["f", "g"]), "arguments": ARGUMENTS}
            ),
        },
        optional={"type": st.just("function")},
    ),
    st.fixed_dictionaries({"id": CALL_ID, "name": st.just("flat"), "args": ARGUMENTS}),
    st.fixed_dictionaries({"custom": st.just({"name": "free", "input": "text"})}),
)
SAID = st.fixed_dictionaries(
    {"role": st.sampled_from(["system", "developer", "user", "user", "critic"])},
    optional={"content": CONTENT},
)
ASKED = st.fixed_dictionaries(
    {"role": st.sampled_from(["assistant", "assistant", "user"])},
    optional={
        "content": CONTENT,
        "tool_calls": st.none() | st.lists(CALL, max_size=3),
        "function_call": st.sampled_from([None, {"name": "old", "arguments": "{}"}]),
        "usage": st.sampled_from([None, {"prompt_tokens": 3, "completion_tokens": 0}]),
        "cost": st.sampled_from([None, 0, 0.5]),
        "timestamp": st.sampled_from([None, 0, "2026-01-01T00:00:00Z", "later"]),
        "refusal": st.sampled_from([None, "", "no"]),
    },
)
ANSWER = st.fixed_dictionaries(
    {"role": st.sampled_from(["tool", "tool", "function"])},
    optional={
        "content": CONTENT,
        "tool_call_id": CALL_ID,
        "name": st.sampled_from(["f", "g", "flat", ""]),
    },
)
CHAT = st.lists(st.one_of(SAID, ASKED, ASKED, ANSWER), max_size=9)
LINE = st.fixed_dictionaries(
    {"messages": CHAT},
    optional={
        "id": st.sampled_from(["r1", "r2", 3, ""]),
        "trial": st.sampled_from([0, 1, -1]),
        "model": st.sampled_from(["m", None]),
        "labels": st.just({"a": 1}),
        "expected": st.sampled_from([None, [], [{"name": "f"}], [[{"name": "f"}], []]]),
    },
)
TASK = st.fixed_dictionaries(
    {"instruction": st.sampled_from(["Move me", None])},
    optional={
        "actions": st.sampled_from([[], [{"name": "f", "kwargs": {"a": 1}}]]),
        "outputs": st.sampled_from([[], ["a", 1.0]]),
        "user_id": st.just("ada"),
    },
)
TRIAL = st.fixed_dictionaries(
    {"task_id": st.sampled_from([0, 1, "t"]), "traj": CHAT, "reward": st.sampled_from([0, 1.0])},
    optional={
        "trial": st.sampled_from([0, 1, -1]),
        "info": st.fixed_dictionaries(
            {}, optional={"task": TASK, "error": st.just("broke"), "reward_info": st.just({"r": 1})}
        ),
    },
)


@given(lines=st.lists(LINE, min_size=1, max_size=4))
@settings(max_examples=60)
def test_lines(lines: list[Any], tmp_path_factory: pytest.TempPathFactory) -> None:
    log = write_lines(tmp_path_factory.mktemp("short") / "chats.jsonl", lines)
    landed_alike(log, "openai_chat")


@given(trials=st.lists(TRIAL, min_size=1, max_size=4))
@settings(max_examples=60)
def test_trials(trials: list[Any], tmp_path_factory: pytest.TempPathFactory) -> None:
    log = tmp_path_factory.mktemp("short") / "trials.json"
    log.write_text(json.dumps(trials), encoding="utf-8")
    landed_alike(log, "taubench_v1")


@pytest.mark.parametrize(
    ("log", "runs"),
    [("openai_chat/travel_desk.jsonl", 5), ("taubench_v1/helpdesk_trials.json", 4)],
)
def test_the_short_way_is_taken(
    log: str, runs: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where nothing is amiss, no record is decoded one by one."""

    def one_by_one(*_: object, **__: object) -> None:
        raise AssertionError

    monkeypatch.setattr(stage, "_one_by_one", one_by_one)
    monkeypatch.setattr(stage, "FEW", 1)
    assert land([SAMPLES / log], tmp_path / "lake", workers=1).runs == runs


def test_few_records_of_many_bytes_are_decoded_many_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Long chats fill a group with fewer records than small ones wait for."""
    chats = [
        {"messages": [{"role": "user", "content": f"{number} " * 60_000}]} for number in range(3)
    ]
    log = tmp_path / "chats.jsonl"
    log.write_text("".join(json.dumps(chat) + "\n" for chat in chats), encoding="utf-8")

    def one_by_one(*_: object, **__: object) -> None:
        raise AssertionError

    monkeypatch.setattr(stage, "_one_by_one", one_by_one)
    assert land([log], tmp_path / "lake", workers=1).runs == 3
