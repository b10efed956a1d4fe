"""Which steps the spans of a trace make: whose call it is, of which response, in which place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reading import calls, kinds, labels
from tracing import START, agent, asks, chat, result, run_of, span, tool, user

from pipeline.landing.chats.chat import prompt_hash

if TYPE_CHECKING:
    from pathlib import Path

A, B = "00000000000000aa", "00000000000000bb"


def told(run: Any, *names: str) -> list[tuple[Any, ...]]:
    return [tuple(getattr(step, name) for name in names) for step in run.steps]


def test_a_tools_span_around_its_own_is_one_call_and_around_others_a_call_each(
    tmp_path: Path,
) -> None:
    def around(outer: dict[str, Any], *inner: dict[str, Any]) -> list[str | None]:
        run = run_of(tmp_path, outer, span("GET", 1, id=B, parent=A), *inner)
        return [call.tool_name for call in calls(run)]

    assert around(tool("f", 0, id=A), tool("f", 2, parent=B)) == ["f"]
    assert around(tool("f", 0, id=A), tool("g", 2, parent=B)) == ["f", "g"]
    assert around(agent("f", 0, id=A), tool("f", 2, parent=A)) == ["f"]


def test_a_tool_that_never_ended_but_returned_has_worked(tmp_path: Path) -> None:
    run = run_of(tmp_path, tool("f", lasts=None, gen_ai__tool__call__result="r"), tool("g", 2))
    assert [(call.output, call.is_error) for call in calls(run)] == [("r", False), (None, False)]


def test_a_call_is_of_its_agents_last_response_else_of_the_last(tmp_path: Path) -> None:
    run = run_of(
        tmp_path,
        agent("desk", 0, id=A),
        agent("sub", 1, id=B, parent=A, lasts=9),
        agent("mute", 1, id="c" * 16, parent=A, lasts=9),
        chat(1, "x", parent=A),
        chat(2, "y", parent=B),
        tool("f", 3, parent=A),
        tool("g", 4, parent="c" * 16),
    )
    assert told(run, "actor", "response_index") == [
        ("agent", 0), ("sub", 1), ("agent", 0), ("mute", 1)
    ]  # fmt: skip


def test_a_call_below_a_models_span_is_of_the_response_inside_it(tmp_path: Path) -> None:
    run = run_of(
        tmp_path,
        chat(1, id=A, lasts=9),
        chat(1.5, "x", parent=A),
        chat(2, "y"),
        tool("f", 3, parent=A),
    )
    assert [call.response_index for call in calls(run)] == [0]


def test_a_nested_agent_is_told_nothing_by_a_user(tmp_path: Path) -> None:
    run = run_of(
        tmp_path,
        agent("desk", 0, id=A),
        agent("sub", 1, id=B, parent=A, lasts=9),
        chat(1, "x", [user("Go")], parent=A),
        chat(2, "y", [user("Look")], parent=B),
    )
    assert told(run, "kind", "actor", "content", "turn_index") == [
        ("message", "user", "Go", 0), ("final", "agent", "x", 0), ("llm_call", "sub", "y", 0)
    ]  # fmt: skip


def test_an_agents_own_answer_comes_when_it_ends_and_took_no_time_of_a_model(
    tmp_path: Path,
) -> None:
    says = [{"role": "assistant", "parts": [{"type": "text", "content": "Done"}]}]
    for lasts, order in ((9, ["tool_call", "final"]), (None, ["llm_call", "tool_call"])):
        root = agent("a", 0, id=A, lasts=lasts, failed=True, gen_ai__output__messages=says)
        run = run_of(tmp_path, root, tool("f", 3, parent=A))
        assert kinds(run) == order
        answer = run.steps[-1 if lasts else 0]
        assert (answer.duration_ms, answer.error) == (None, None)
        assert answer.started_at == (START + lasts * 10**9 if lasts else None)


def test_how_long_a_response_took_and_why_it_failed(tmp_path: Path) -> None:
    run = run_of(tmp_path, chat(1, "x", lasts=2), chat(4, failed=True), chat(6, "y"))
    assert told(run, "duration_ms", "error") == [(2000, None), (1000, "it broke"), (1000, None)]


def test_an_embedding_is_of_its_agent_and_turn(tmp_path: Path) -> None:
    used = {"gen_ai__usage__input_tokens": 7}
    run = run_of(
        tmp_path,
        chat(1, "x", [user("A")]),
        chat(2, "y", [user("A"), user("B")]),
        span("e", 3, gen_ai__operation__name="embeddings", **used),
    )
    names = ("actor", "turn_index", "input_tokens", "output_tokens", "started_at", "duration_ms")
    assert told(run, *names)[-1] == ("embedding", 1, 7, None, START + 3 * 10**9, 1000)


def test_what_one_model_was_told_is_new_to_another(tmp_path: Path) -> None:
    """Words are the same where role and text are; of several prompts the first counts."""

    def system(text: str) -> dict[str, Any]:
        return {**user(text), "role": "system"}

    run = run_of(
        tmp_path,
        chat(1, "x", [system("P"), user("A")]),
        chat(2, "y", [system("Q"), user("B")]),
        chat(3, "z", [user("P")]),
    )
    heard = [(step.actor, step.content) for step in run.steps if step.kind == "message"]
    assert heard == [
        ("system", "P"), ("user", "A"), ("system", "Q"), ("user", "B"), ("user", "P")
    ]  # fmt: skip
    assert run.prompt_hash == prompt_hash("P")


def test_a_result_that_is_told_without_an_id_is_its_spans(tmp_path: Path) -> None:
    """The request that a span answers waits for nothing; the span's own id is the call's."""
    asked = chat(1, [asks("f")], id=A)
    ran = tool("f", 2, gen_ai__tool__call__id="9")
    (call,) = calls(run_of(tmp_path, asked, ran, chat(3, "x", [result("r")])))
    assert (call.output, call.call_id, call.response_index) == ("r", "9", 0)
    assert labels(call) == {"span_id": ran["spanId"], "asked_by": A}


def test_calls_that_a_response_answers_itself(tmp_path: Path) -> None:
    """What it says it says after them, unless one of its calls is still to be run."""
    ran = [asks("f", "1"), {"type": "tool_call_response", "id": "1", "response": "r"}]
    words = {"type": "text", "content": "Done"}
    cases = (
        ([*ran, words], ["tool_call", "final"]),
        (ran, ["final", "tool_call"]),
        ([*ran, asks("g", "2"), words], ["llm_call", "tool_call", "tool_call"]),
    )
    for parts, order in cases:
        run = run_of(tmp_path, chat(1, parts, id=A))
        assert kinds(run) == order
        assert [call.actor for call in calls(run)][:1] == ["agent"]
        assert labels(calls(run)[0]) == {"span_id": A, "server_side": True}
        assert {call.started_at for call in calls(run)} == {START + 10**9}
