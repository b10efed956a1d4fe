"""Sub-agents of Claude Code sessions: under the call that started them, or runs of their own."""

from __future__ import annotations

from typing import Any

import pytest
from landing.claude_lines import UUID, agent, decoded, result, text, use, user
from sessions import told


def _side(line: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {**line, "isSidechain": True, **more}


def _delegated(**side: Any) -> list[dict[str, Any]]:
    return [
        user("Hi", "1"),
        agent(use("t", "Task", prompt="Look.", subagent_type="scout"), uuid="2", message_id="m1"),
        _side(user("Look.", "s1"), **side),
        _side(agent(use("g", "Grep"), uuid="s2", message_id="s", parentUuid="s1"), **side),
        _side(user([result("g")], "s3", "s2"), **side),
        _side(agent(text("Seen."), uuid="s4", message_id="s'", parentUuid="s3"), **side),
        user([result("t", "Seen.")], "3", toolUseResult={"agentId": "ag1"}),
    ]


@pytest.mark.parametrize("side", [{}, {"agentId": "ag1"}])
def test_a_sub_agents_steps_stand_under_the_call_that_started_it(side):
    run = decoded(*_delegated(**side), agent(text("Done."), uuid="4", message_id="m2")).run
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
        return agent(
            use(f"t{at}", "Task", prompt=f"{at}", subagent_type=f"scout{at}"), uuid=f"t{at}"
        )

    def side(at: int) -> list[dict[str, Any]]:
        said = agent(text("x"), uuid=f"b{at}", parentUuid=f"a{at}", message_id=f"s{at}")
        return [_side(user(f"{at}", f"a{at}")), _side(said)]

    (a1, b1), (a2, b2) = side(1), side(2)
    run = decoded(asks(1), asks(2), a2, a1, b1, b2).run
    responses = [step for step in run.steps if step.kind == "llm_call" and step.parent_step]
    assert [(step.actor, step.parent_step) for step in responses] == [("scout1", 1), ("scout2", 2)]


def test_a_sub_agent_nobody_is_known_to_have_started():
    run = decoded(user("Hi", "1"), _side(agent(text("x"), uuid="s"))).run
    assert told(run, "actor", "parent_step") == [("user", None), ("subagent", None)]


def test_a_sub_agents_own_file_is_a_run_of_its_own():
    lines = [line for line in _delegated(agentId="ag1") if line.get("isSidechain")]
    run = decoded(*lines).run
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
