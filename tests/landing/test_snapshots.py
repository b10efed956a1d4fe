"""States of one LangGraph thread, streamed line by line, are one run: the last of them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from making import runs_of, scores_of, steps_of

from pipeline.landing.land import land
from pipeline.scoring import score

if TYPE_CHECKING:
    from pathlib import Path

UUID = "3f0c9f5e-7a52-4b0e-9d5e-0d3a5b7c9e11"


def _langchain(text: str, number: int = 0) -> list[dict[str, Any]]:
    """Return four messages: asked, called, returned, answered."""
    call = {"name": "find", "args": {"q": text}, "id": f"c{number}"}
    usage = {"input_tokens": 10, "output_tokens": 2}
    return [
        {"type": "human", "content": text, "id": f"h{number}"},
        {"type": "ai", "content": "", "tool_calls": [call], "usage_metadata": usage},
        {"type": "tool", "content": "found", "tool_call_id": f"c{number}"},
        {"type": "ai", "content": f"{text}!", "usage_metadata": usage},
    ]


def _openai(text: str, number: int = 0) -> list[dict[str, Any]]:
    function = {"name": "find", "arguments": json.dumps({"q": text})}
    call = {"id": f"c{number}", "type": "function", "function": function}
    return [
        {"role": "user", "content": text},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "content": "found", "tool_call_id": f"c{number}"},
        {"role": "assistant", "content": f"{text}!"},
    ]


def states(thread: object, chat: list[Any], **more: Any) -> list[dict[str, Any]]:
    """Return what streaming values gives: a state behind every step."""
    return [{"thread_id": thread, "messages": chat[: n + 1], **more} for n in range(len(chat))]


def landed(tmp_path: Path, *records: Any, name: str = "log") -> list[tuple[Any, ...]]:
    """Land lines; return line, number of steps and answer of the runs, and their label."""
    path = tmp_path / f"{name}.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    report = land([path], tmp_path / "lake", workers=1)
    assert report.rejects.total() == 0
    runs = runs_of(tmp_path / "lake").sort("source_line")
    told = [json.loads(text or "{}").get("snapshots") for text in runs["labels"]]
    columns = (runs[name].to_list() for name in ("source_line", "n_rows", "final_output"))
    return list(zip(*columns, told, strict=True))


@pytest.mark.parametrize("spelled", [_langchain, _openai])
@pytest.mark.parametrize("thread", ["t1", 7, UUID])
def test_states_of_one_thread_are_one_run(tmp_path: Path, spelled: Any, thread: object) -> None:
    """Asked, called with its call, answered: four steps, of four lines."""
    assert landed(tmp_path, *states(thread, spelled("Oslo"))) == [(4, 4, "Oslo!", 3)]
    tokens = steps_of(tmp_path / "lake")["input_tokens"].drop_nulls().to_list()
    assert tokens in ([10, 10], [])


def test_values_may_hold_them(tmp_path: Path) -> None:
    told = [
        {"thread_id": "t", "values": {"messages": one["messages"]}}
        for one in states("t", _langchain("Oslo"))
    ]
    assert landed(tmp_path, *told) == [(4, 4, "Oslo!", 3)]


def test_threads_may_take_turns_and_go_on(tmp_path: Path) -> None:
    """The second question of thread a comes behind all that was said there before."""
    first, other = _langchain("Oslo"), _langchain("Rome", 1)
    second = [*first, *_langchain("Bonn", 2)]
    a, b = states("a", first), states("b", other)
    turns = [one for both in zip(a, b, strict=True) for one in both]
    assert landed(tmp_path, *turns, *states("a", second)[4:]) == [
        (8, 4, "Rome!", 3),
        (12, 8, "Bonn!", 7),
    ]


def test_lines_that_do_not_go_on_are_runs_of_their_own(tmp_path: Path) -> None:
    """A thread alone makes no run: another question, an answer cut short, lines with ids."""
    chats = [_langchain("Oslo"), _langchain("Rome"), _langchain("Rome")[:1]]
    named = states("t", _langchain("Bonn"), id="r1")
    found = landed(tmp_path, *({"thread_id": "t", "messages": chat} for chat in chats), *named)
    assert [line for line, *_ in found] == [1, 2, 3, 4, 5, 6, 7]
    assert {told for *_, told in found} == {None}


def test_lines_of_two_tasks_are_two_runs(tmp_path: Path) -> None:
    """Of 10 and 30 tokens read 40, of 1 and 2 written 3; what was expected of the first stays."""
    first, second = _openai("Oslo"), [*_openai("Oslo"), *_openai("Bonn", 1)]
    used = [
        {"prompt_tokens": 10, "completion_tokens": 1},
        {"prompt_tokens": 30, "completion_tokens": 2},
    ]
    expected = [{"tool_name": "find"}]
    told = [
        {"thread_id": "t", "messages": first, "task_id": "k1", "usage": used[0], "expected": expected},
        {"thread_id": "t", "messages": second, "task_id": "k2", "usage": used[1]},
    ]  # fmt: skip
    assert landed(tmp_path, *told) == [(1, 4, "Oslo!", None), (2, 8, "Bonn!", None)]
    lake = tmp_path / "lake"
    score(lake)
    sums = scores_of(lake)
    assert [sums[f"{side}_tokens"].sum() for side in ("input", "output")] == [40, 3]
    assert dict(sums.select("task_id", "n_expected").rows()) == {"k1": 1, "k2": None}


@pytest.mark.parametrize(
    "own",
    [
        {"usage": {"prompt_tokens": 10}},
        {"usage_metadata": {"input_tokens": 10}},
        {"response_metadata": {"usage": {"input_tokens": 10}}},
        {"expected": []},
        {"reference_outputs": []},
        {"success": False},
        {"reward": 0.5},
    ],
)
def test_a_line_that_tells_what_would_be_lost_is_a_run(tmp_path: Path, own: Any) -> None:
    """Four lines, each a run by its own word; with null in its place they are one."""
    assert len(landed(tmp_path, *states("t", _openai("Oslo"), **own))) == 4
    nothing = dict.fromkeys(own)
    assert len(landed(tmp_path, *states("u", _openai("Rome"), **nothing), name="null")) == 5


@pytest.mark.parametrize("spelled", [_langchain, _openai])
@pytest.mark.parametrize("thread", ["t", UUID])
@pytest.mark.parametrize("name", ["task_id", "trial"])
def test_tasks_and_trials_of_one_thread_are_apart(
    tmp_path: Path, spelled: Any, thread: str, name: str
) -> None:
    """Two states each, of which the second chat's begin with all that the first said."""
    first, second = spelled("Oslo"), [*spelled("Oslo"), *spelled("Bonn", 1)]
    told = [*states(thread, first, **{name: 1})[2:], *states(thread, second, **{name: 2})[6:]]
    assert landed(tmp_path, *told) == [(2, 4, "Oslo!", 1), (4, 8, "Bonn!", 1)]


def test_the_order_of_members_makes_no_other_message(tmp_path: Path) -> None:
    told = states("t", _openai("Oslo"))
    told[-1]["messages"] = [dict(reversed(one.items())) for one in told[-1]["messages"]]
    assert landed(tmp_path, *told) == [(4, 4, "Oslo!", 3)]


def test_a_state_that_comes_again_is_the_same(tmp_path: Path) -> None:
    """A node that says nothing gives the state before it once more."""
    told = states("t", _langchain("Oslo"))
    assert landed(tmp_path, *told, told[-1]) == [(5, 4, "Oslo!", 4)]


def test_damage_among_them_is_one_reject(tmp_path: Path) -> None:
    lines = [json.dumps(one).encode() for one in states("t", _langchain("Oslo"))]
    path = tmp_path / "log.jsonl"
    path.write_bytes(b"\n".join([*lines[:2], lines[2][:30], lines[3]]))
    report = land([path], tmp_path / "lake", workers=1)
    assert (report.runs, report.rejects) == (1, {"truncated": 1})


@pytest.mark.parametrize("spelled", [_langchain, _openai])
@pytest.mark.parametrize("task", [{}, {"task_id": "k"}])
def test_more_of_a_thread_replaces_what_landed_before(
    tmp_path: Path, spelled: Any, task: dict[str, str]
) -> None:
    """A thread whose id is unique is the same run in every file."""
    told = states(UUID, spelled("Oslo"), **task)
    assert landed(tmp_path, *told[:3]) == [(3, 3, None, 2)]
    assert landed(tmp_path, *told, name="longer") == [(4, 4, "Oslo!", 3)]
