"""Files of Claude Code sessions: damaged and repeated lines, what is claimed, real figures."""

from __future__ import annotations

import json
from typing import Any

import pytest
from landing.claude_lines import UUID, agent, decoded, entry, use, user
from reading import SAMPLES, claimed, kinds, read, sniff
from sessions import Session, session, tokens


def test_repeated_lines_count_once():
    lines = [user("Hi", "1"), agent(use("c"), uuid="2", usage={"output_tokens": 5})]
    read = decoded(*lines, *lines)
    assert (kinds(read.run), tokens(read.run)) == (["message", "llm_call", "tool_call"], (0, 5))


def test_two_sessions_in_one_file_are_two_runs():
    other = {**user("b", "2"), "sessionId": "other"}
    runs = decoded(user("a", "1"), other, {"type": "summary", "summary": "s", "leafUuid": "2"}).runs
    assert [(run.run_id, run.source_id) for run in runs] == [(UUID, None), (None, "other")]
    assert [run.labels for run in runs] == [{}, {"summary": "s"}]


def test_damaged_lines_are_reported_and_the_session_lands():
    read = decoded(
        user("a", "1"),
        '"massive error"',
        "42",
        {"silly": "this"},
        entry("user", "error", "2"),
        entry("user", {"role": "user"}, "3"),
        {"type": "user", "sessionId": UUID},
        '{"type":"user","sess',
        b'{"type":"summary","summary":"\xff"}',
        user("b", "4"),
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
    glued = json.dumps(user("a", "1")) + json.dumps(user("b", "2"))
    read = decoded(glued)
    assert ([step.content for step in read.run.steps], read.damaged) == (["a", "b"], [])


def test_bookkeeping_is_no_run():
    lines = [
        {"type": "file-history-snapshot", "messageId": "m", "snapshot": {}},
        {"type": "progress", "sessionId": UUID, "data": {"type": "agent_progress"}},
        {"type": "queue-operation", "sessionId": UUID, "content": "x"},
    ]
    assert decoded(*lines) == Session([], [])


def test_sniff():
    assert sniff("claude_code", user("a"))
    assert sniff("claude_code", {"type": "summary", "summary": "s", "leafUuid": "1"})
    assert sniff("claude_code", {"type": "file-history-snapshot", "snapshot": {}})
    assert sniff("claude_code", {"silly": 1}, user("a"))
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
