"""tau2-bench's newer files land: ticks within one file, nothing said, members in any order."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest
from making import runs_of, steps_of

from pipeline.landing.land import land

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    import polars as pl

RUN = "2b1f7c1e-5a0e-4b7e-9f3e-0000000000%02d"
INFO = {
    "git_commit": "c0ffee",
    "agent_info": {"implementation": "voice_agent", "llm": "model-a"},
    "user_info": {"implementation": "user_simulator", "llm": "model-u"},
    "environment_info": {"domain_name": "hotel"},
}
TASK = {
    "id": "t",
    "user_scenario": {"instructions": "Ask."},
    "evaluation_criteria": {"actions": [{"name": "look", "arguments": {}}]},
}


def _chunk(role, content, **more):
    return {"role": role, "content": content, "chunk_id": 1, "is_audio": True, **more}


def _call(name):
    return {"id": "", "name": name, "arguments": {}}


TICKS = [
    {"tick_id": 0, "agent_chunk": _chunk("assistant", "Good ", cost=0.25)},
    {
        "tick_id": 1,
        "agent_chunk": _chunk(
            "assistant", "day.", cost=0.5, usage={"prompt_tokens": 7, "completion_tokens": 2}
        ),
        "user_chunk": _chunk("user", ""),
    },
    {
        "tick_id": 2,
        "user_tool_calls": [_call("reboot")],
        "user_tool_results": [{"id": "", "role": "tool", "content": "on", "error": False}],
        "agent_tool_calls": [_call("look")],
        "agent_tool_results": [{"id": "", "role": "tool", "content": "Error", "error": True}],
    },
    {"tick_id": 3, "agent_chunk": _chunk("assistant", None, usage={"prompt_tokens": 5})},
    {"tick_id": 4, "agent_chunk": _chunk("assistant", "Bye.")},
]


def _simulation(number, **more):
    said = {"messages": [{"role": "assistant", "content": "Hello."}], "trial": number}
    ended = {"termination_reason": "user_stop", "reward_info": {"reward": 1.0}}
    return {"id": RUN % number, "task_id": "t", **ended, **said, **more}


def _file(
    tmp_path: Path, simulations: Any, order: Iterable[str] = ("info", "tasks", "simulations")
) -> Path:
    members = {"info": INFO, "tasks": [TASK], "simulations": simulations}
    path = tmp_path / "results.json"
    path.write_text(json.dumps({name: members[name] for name in order}, indent=1))
    return path


def _landed(tmp_path: Path, source: Path) -> tuple[pl.DataFrame, pl.DataFrame]:
    report = land([source], tmp_path / "lake", workers=1)
    assert not report.rejects
    return runs_of(tmp_path / "lake"), steps_of(tmp_path / "lake")


def test_ticks_within_one_file_are_steps(tmp_path: Path) -> None:
    spoken = [_simulation(n, messages=said, ticks=TICKS) for n, said in enumerate(([], None))]
    runs, steps = _landed(tmp_path, _file(tmp_path, spoken))
    assert runs["n_rows"].to_list() == [6, 6]
    assert runs["final_output"].to_list() == ["Bye."] * 2
    told = steps.head(6).select("actor", "kind", "content", "tool_name", "output", "is_error")
    assert told.rows() == [
        ("agent", "llm_call", "Good day.", None, None, None),
        ("user", "message", None, None, None, None),
        ("user", "tool_call", None, "reboot", "on", False),
        ("agent", "llm_call", None, None, None, None),
        ("agent", "tool_call", None, "look", "Error", True),
        ("agent", "final", "Bye.", None, None, None),
    ]


def test_ticks_keep_what_they_used(tmp_path: Path) -> None:
    """7 and 2 tokens while it greets, 5 more while nothing is said: the call before had them."""
    _, steps = _landed(tmp_path, _file(tmp_path, [_simulation(1, messages=[], ticks=TICKS)]))
    used = steps.select("input_tokens", "output_tokens", "cost_usd").rows()
    assert used[0] == (7, 2, 0.75)
    assert used[3] == (5, None, None)
    assert steps["input_tokens"].sum() == 12


def test_tokens_that_one_tick_does_not_tell_are_those_of_the_others(tmp_path: Path) -> None:
    told = ({"prompt_tokens": None}, {"prompt_tokens": 7}, {"prompt_tokens": None})
    ticks = [
        {"tick_id": n, "agent_chunk": _chunk("assistant", "a", usage=u)} for n, u in enumerate(told)
    ]
    _, steps = _landed(tmp_path, _file(tmp_path, [_simulation(1, messages=[], ticks=ticks)]))
    assert steps.select("content", "input_tokens").rows() == [("aaa", 7)]


def _tick(number: int, **more: Any) -> dict[str, Any]:
    return {"tick_id": number, "timestamp": f"2026-01-01T00:00:0{number}", **more}


def test_both_sides_words_calls_and_results_in_ticks(tmp_path: Path) -> None:
    calls = [{"id": name, "name": "look", "arguments": {}} for name in "ab"]
    ticks = [
        _tick(0, user_chunk=_chunk("user", "Hi."), agent_chunk=_chunk("assistant", "Yes?")),
        _tick(1, agent_chunk=_chunk("assistant", "", tool_calls=calls)),
        _tick(2, agent_tool_results=[{"id": "a", "content": "on"}, {"id": "b", "content": ""}]),
        _tick(3, agent_chunk=_chunk("assistant", "Well."), agent_tool_calls=calls[:1]),
        _tick(4, agent_chunk=_chunk("assistant", "Done.")),
        _tick(5, user_tool_calls=calls[:1], user_tool_results=[{"id": "a"}]),
    ]
    _, steps = _landed(tmp_path, _file(tmp_path, [_simulation(1, messages=[], ticks=ticks)]))
    told = steps.select("actor", "kind", "content", "tool_name", "output")
    assert told.rows() == [
        ("user", "message", "Hi.", None, None),
        ("agent", "llm_call", "Yes?", None, None),
        ("agent", "llm_call", None, None, None),
        ("agent", "tool_call", None, "look", "on"),
        ("agent", "tool_call", None, "look", ""),
        ("agent", "llm_call", "Well.", None, None),
        ("agent", "llm_call", None, None, None),
        ("agent", "tool_call", None, "look", None),
        ("agent", "final", "Done.", None, None),
        ("user", "message", None, None, None),
        ("user", "tool_call", None, "look", None),
    ]
    assert steps["started_at"].dt.second().to_list() == [0, 0, 1, 1, 1, 3, 3, 3, 4, 5, 5]


def test_what_ticks_used_is_summed(tmp_path: Path) -> None:
    used = [
        {"content": "a", "usage": {"prompt_tokens": 7}},
        {"content": None, "usage": {"prompt_tokens": 5, "completion_tokens": 1}},
        {"content": None, "cost": 0.5},
        {"content": None, "cost": 0.25},
    ]
    ticks = [_tick(n, agent_chunk=_chunk("assistant", **more)) for n, more in enumerate(used)]
    _, steps = _landed(tmp_path, _file(tmp_path, [_simulation(1, messages=[], ticks=ticks)]))
    told = steps.select("content", "input_tokens", "output_tokens", "cost_usd")
    assert told.rows() == [("a", 12, 1, 0.75)]


@pytest.mark.parametrize("empty", ["[]", "[ ]", "[\n]", "null"])
def test_ticks_are_read_where_the_list_of_messages_is_empty(tmp_path: Path, empty: str) -> None:
    """However the empty list is printed: `[ ]` left a run without steps."""
    path = _file(tmp_path, [_simulation(1, messages=["here"], ticks=TICKS)])
    path.write_text(
        re.sub(r'"messages": \[\s*"here"\s*\]', f'"messages": {empty}', path.read_text())
    )
    runs, _ = _landed(tmp_path, path)
    assert runs["n_rows"].to_list() == [6]


def test_messages_beside_ticks_are_what_was_said(tmp_path: Path) -> None:
    spoken = [_simulation(n, ticks=ticks) for n, ticks in enumerate((TICKS, None, []))]
    runs, _ = _landed(tmp_path, _file(tmp_path, spoken))
    assert runs.select("n_rows", "final_output").rows() == [(1, "Hello.")] * 3


def test_what_is_not_known_of_a_tick_is_of_the_run(tmp_path: Path) -> None:
    spoken = [_simulation(1, messages=[], ticks=[{**TICKS[0], "mood": "calm"}])]
    runs, _ = _landed(tmp_path, _file(tmp_path, spoken))
    assert json.loads(runs["labels"][0])["ticks.mood"] == "calm"


def test_a_simulation_that_said_nothing_lands(tmp_path: Path) -> None:
    failed = {"messages": None, "termination_reason": "infrastructure_error", "reward_info": None}
    runs, _ = _landed(tmp_path, _file(tmp_path, [_simulation(1, **failed), _simulation(2)]))
    assert runs.select("n_rows", "status").rows() == [(0, "error"), (1, "ok")]


def test_times_and_results_that_stand_together(tmp_path: Path) -> None:
    results = [{"id": name, "role": "tool", "content": f"{name}!"} for name in "ab"]
    calls = [{"id": name, "name": "look", "arguments": {}} for name in "ab"]
    said = [
        {"role": "assistant", "tool_calls": calls, "generation_time_seconds": 1.5},
        {"role": "tool", "tool_messages": results},
    ]
    _, steps = _landed(tmp_path, _file(tmp_path, [_simulation(1, messages=said)]))
    assert steps["output"].to_list() == [None, "a!", "b!"]
    assert steps["duration_ms"].to_list() == [1500.0, None, None]


@pytest.mark.parametrize(
    "order", [("simulations", "tasks", "info"), ("tasks", "simulations", "info")]
)
def test_info_may_come_late_in_a_long_file(tmp_path: Path, order: tuple[str, ...]) -> None:
    said = [{"role": "assistant", "content": "long " * 1000}]
    path = _file(tmp_path, [_simulation(n, messages=said) for n in range(30)], order)
    runs, _ = _landed(tmp_path, path)
    assert runs.height == 30
    assert runs.select("model", "suite").unique().rows() == [("model-a", "hotel")]


def test_a_directorys_index_is_no_label_of_its_runs(tmp_path: Path) -> None:
    (tmp_path / "simulations").mkdir()
    index = [{"id": RUN % n, "task_id": "t", "trial": n} for n in range(2)]
    told = {"info": INFO, "tasks": [TASK], "format_version": "2", "simulation_index": index}
    (tmp_path / "results.json").write_text(json.dumps(told))
    for n in range(2):
        path = tmp_path / "simulations" / f"{RUN % n}.json"
        path.write_text(json.dumps(_simulation(n)))
    runs, _ = _landed(tmp_path, tmp_path)
    assert runs.height == 2
    assert not any("index" in text or "format_version" in text for text in runs["labels"])
