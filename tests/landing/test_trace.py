"""A trace becomes a run: order, responses told once, calls, errors, turns, agents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reading import args, calls, kinds
from tracing import START, agent, asks, chat, result, run_of, span, tool, user

from pipeline.landing.traces.spans import Span, Tree

if TYPE_CHECKING:
    from pathlib import Path

    from pipeline.landing.model import Run


def tokens(run: Run) -> list[tuple[int | None, int | None]]:
    return [(s.input_tokens, s.output_tokens) for s in run.steps if s.kind in {"llm_call", "final"}]


def usage(read: int, written: int) -> dict[str, int]:
    return {"gen_ai__usage__input_tokens": read, "gen_ai__usage__output_tokens": written}


def test_message_call_result_and_answer(tmp_path: Path) -> None:
    run = run_of(
        tmp_path,
        chat(4, "Sunny.", [user("Weather?")]),
        tool("weather", 2, {"city": "Oslo"}, gen_ai__tool__call__result="sun", lasts=0.5),
        chat(1, [asks("weather", "c", city="Oslo")], [user("Weather?")]),
        agent("guide", 0),
    )
    assert kinds(run) == ["message", "llm_call", "tool_call", "final"]
    assert [step.response_index for step in run.steps] == [None, 0, 0, 1]
    (call,) = calls(run)
    assert (call.tool_name, args(call), call.output) == ("weather", '{"city":"Oslo"}', "sun")
    assert (call.call_id, call.is_error, call.duration_ms) == ("c", False, 500.0)
    assert (run.final_output, run.agent, run.model) == ("Sunny.", "guide", "m")
    assert (run.started_at, run.ended_at) == (START, START + 100_000_000_000)
    assert run.status == "ok"


@given(st.permutations(range(5)))
def test_the_order_of_spans_in_the_file_does_not_matter(order: list[int]) -> None:
    spans = [
        Span("a", start=10),
        Span("b", "a", start=10),
        Span("d", "b", start=10),
        Span("c", "b", start=10),
        Span("e", "a", start=12),
    ]
    tree = Tree([spans[at] for at in order])
    assert [one.id for one in tree.spans] == ["a", "b", "c", "d", "e"]


def test_spans_in_a_circle_are_all_there() -> None:
    tree = Tree([Span("a", "b", start=2), Span("b", "a", start=1), Span("c", "c", start=3)])
    assert [one.id for one in tree.spans] == ["b", "a", "c"]
    assert [one.id for one in tree.above(tree.by_id["a"])] == ["b"]


def test_i7_a_span_twice_one_unfinished(tmp_path: Path) -> None:
    """traceroot#937: 16 spans, one of them logged twice, are 16 calls."""
    spans = [tool("f", at, id=f"{at + 1:016x}") for at in range(16)]
    unfinished = tool("f", 7, id=f"{8:016x}", lasts=None)
    for order in ([unfinished, *spans], [*spans, unfinished]):
        run = run_of(tmp_path, *order)
        assert len(calls(run)) == 16
        assert all(call.duration_ms == 1000.0 for call in calls(run))


class TestTokens:
    def test_nested_reports_of_one_response_count_once(self, tmp_path: Path) -> None:
        run = run_of(
            tmp_path,
            agent("a", id="00000000000000aa", **usage(30, 3)),
            span("call_llm", 1, id="00000000000000bb", parent="00000000000000aa",
                 gen_ai__request__model="m", **usage(30, 3)),
            chat(1, "Hi", id="00000000000000cc", parent="00000000000000bb", **usage(30, 3)),
        )  # fmt: skip
        assert tokens(run) == [(30, 3)]

    def test_the_inner_span_counts_where_they_differ(self, tmp_path: Path) -> None:
        run = run_of(
            tmp_path,
            chat(1, "Hi", id="00000000000000bb", **usage(99, 9)),
            chat(1.5, id="00000000000000cc", parent="00000000000000bb", **usage(30, 3)),
        )
        assert tokens(run) == [(30, 3)]
        assert run.final_output == "Hi"  # what the inner one lacks, the outer one tells

    def test_an_outer_span_around_two_responses_is_none_itself(self, tmp_path: Path) -> None:
        outer = chat(0, "Second", id="00000000000000bb", lasts=9, **usage(70, 7))
        first = chat(1, [asks("f")], parent="00000000000000bb", **usage(30, 3))
        second = chat(3, "Second", parent="00000000000000bb", **usage(40, 4))
        assert tokens(run_of(tmp_path, outer, first, second)) == [(30, 3), (40, 4)]

    def test_usage_told_only_from_outside_is_kept(self, tmp_path: Path) -> None:
        root = agent("a", id="00000000000000aa", **usage(70, 7))
        inner = [chat(at, "x", parent="00000000000000aa") for at in (1, 2)]
        assert tokens(run_of(tmp_path, root, *inner)) == [(None, None), (70, 7)]

    def test_a_response_below_a_tool_is_another_one(self, tmp_path: Path) -> None:
        run = run_of(
            tmp_path,
            chat(0, [asks("ask")], id="00000000000000aa", **usage(10, 1)),
            tool("ask", 1, id="00000000000000bb", parent="00000000000000aa"),
            chat(2, "deep", id="00000000000000cc", parent="00000000000000bb", **usage(20, 2)),
        )
        assert tokens(run) == [(10, 1), (20, 2)]

    def test_an_agent_that_answers_without_a_model_span_is_one_response(
        self, tmp_path: Path
    ) -> None:
        said = [{"role": "assistant", "parts": [{"type": "text", "content": "Done"}]}]
        root = agent("a", 0, id="00000000000000aa", gen_ai__output__messages=said, **usage(5, 2))
        run = run_of(tmp_path, root, tool("f", 1, parent="00000000000000aa"))
        assert kinds(run) == ["tool_call", "final"]
        assert (tokens(run), run.final_output) == ([(5, 2)], "Done")


class TestCalls:
    def test_without_tool_spans_the_calls_in_the_responses_count(self, tmp_path: Path) -> None:
        run = run_of(
            tmp_path,
            chat(0, [asks("f", "1", x=1), asks("g", "2")]),
            chat(2, "Done", [result("ok", "2"), result({"n": 1}, "1")]),
        )
        assert [(c.tool_name, args(c), c.output) for c in calls(run)] == [
            ("f", '{"x":1}', {"n": 1}),
            ("g", "{}", "ok"),
        ]
        assert [call.response_index for call in calls(run)] == [0, 0]
        assert [call.is_error for call in calls(run)] == [None, None]
        assert kinds(run)[-1] == "final"

    def test_with_tool_spans_these_are_the_calls_and_never_both(self, tmp_path: Path) -> None:
        run = run_of(
            tmp_path,
            chat(0, [asks("f", "1", x=1), asks("final_result", "2", y=2)]),
            tool("f", 1),
        )
        (call,) = calls(run)
        assert (args(call), call.call_id) == ('{"x":1}', "1")  # what the span lacks
        assert (run.steps[0].labels or {})["not_run"] == [
            {"name": "final_result", "id": "2", "args": {"y": 2}}
        ]
        assert "final" not in kinds(run)

    def test_arguments_not_captured_anywhere(self, tmp_path: Path) -> None:
        run = run_of(tmp_path, chat(0), tool("f", 1))
        assert [args(call) for call in calls(run)] == ["not_captured"]

    def test_the_spans_own_arguments_win(self, tmp_path: Path) -> None:
        run = run_of(tmp_path, chat(0, [asks("f", "1", x=1)]), tool("f", 1, {"x": 1.0}))
        assert [args(call) for call in calls(run)] == ['{"x":1.0}']

    def test_parallel_calls_go_back_to_their_response(self, tmp_path: Path) -> None:
        """Two responses speak before any tool runs; ids, or arguments, tell whose call it is."""
        run = run_of(
            tmp_path,
            chat(0, [asks("f", "1", x=1)]),
            chat(1, [asks("f", "2", x=2)]),
            tool("f", 3, {"x": 1}),
            tool("f", 4, gen_ai__tool__call__id="2"),
        )
        assert [(c.call_id, c.response_index) for c in calls(run)] == [("1", 0), ("2", 1)]

    def test_a_call_belongs_to_the_response_it_is_traced_under(self, tmp_path: Path) -> None:
        run = run_of(
            tmp_path,
            chat(0, id="00000000000000aa"),
            chat(1),
            tool("f", 2, parent="00000000000000aa"),
            tool("f", 3),
        )
        assert [call.response_index for call in calls(run)] == [0, 1]

    def test_one_call_traced_by_framework_and_client_counts_once(self, tmp_path: Path) -> None:
        run = run_of(
            tmp_path,
            tool("f", 0, id="00000000000000aa"),
            span("tools/call f", 1, parent="00000000000000aa", gen_ai__tool__name="f",
                 gen_ai__tool__call__arguments='{"x": 1}', gen_ai__tool__call__result="r"),
        )  # fmt: skip
        assert [(args(call), call.output) for call in calls(run)] == [('{"x":1}', "r")]

    def test_a_span_that_repeats_its_parallel_siblings_is_no_call(self, tmp_path: Path) -> None:
        merged = tool("(merged tools)", 2)
        assert [c.tool_name for c in calls(run_of(tmp_path, tool("f"), tool("g", 1), merged))] == [
            "f",
            "g",
        ]

    @pytest.mark.parametrize(
        ("name", "attributes", "expected"),
        [
            ("execute_tool say_hello", {"gen_ai__operation__name": "execute_tool"}, "say_hello"),
            ("running tool: pun", {"gen_ai__operation__name": "execute_tool"}, "pun"),
            ("whatever", {"gen_ai__tool__name": "f"}, "f"),
            ("f.tool", {"traceloop__span__kind": "tool"}, "f"),
            ("x", {"traceloop__span__kind": "tool", "traceloop__entity__name": "f"}, "f"),
            ("ai.toolCall", {"ai__toolCall__name": "f"}, "f"),
            ("f", {"openinference__span__kind": "TOOL"}, "f"),
            ("x", {"openinference__span__kind": "TOOL", "tool__name": "f"}, "f"),
        ],
    )
    def test_the_name(
        self, tmp_path: Path, name: str, attributes: dict[str, str], expected: str
    ) -> None:
        run = run_of(tmp_path, span(name, **attributes))
        assert [call.tool_name for call in calls(run)] == [expected]

    @pytest.mark.parametrize(
        ("attributes", "expected"),
        [
            ({"gen_ai__tool__call__arguments": '{"a": 1}'}, '{"a":1}'),
            ({"gcp__vertex__agent__tool_call_args": '{"a": 1}'}, '{"a":1}'),
            ({"tool_arguments": '{"a": 1}'}, '{"a":1}'),
            ({"traceloop__entity__input": '{"args": [], "kwargs": {"a": 1}}'}, '{"a":1}'),
            ({"input__value": "{'a': 1, 'b': None}"}, '{"a":1,"b":null}'),
            ({"openinference__span__kind": "TOOL", "input__value": "{'a': 1}"}, '{"a":1}'),
            ({"openinference__span__kind": "TOOL", "tool__parameters": '{"a": 1}'}, '{"a":1}'),
            ({"openinference__span__kind": "TOOL", "input__value": "Oslo"}, "Oslo"),
            (
                {"openinference__span__kind": "TOOL", "tool__parameters": '{"properties": {}}'},
                "not_captured",
            ),
            ({"gen_ai__tool__call__arguments": ""}, "{}"),
        ],
    )
    def test_the_arguments(self, tmp_path: Path, attributes: dict[str, str], expected: str) -> None:
        run = run_of(tmp_path, span("t", gen_ai__tool__name="f", **attributes))
        assert [args(call) for call in calls(run)] == [expected]

    def test_arguments_and_results_told_as_events(self, tmp_path: Path) -> None:
        told = [
            ("gen_ai.tool.message", {"content": '{"x": 1}', "id": "c"}),
            ("gen_ai.choice", {"message": "done"}),
        ]
        events = [
            {"name": name, "attributes": [{"key": k, "value": {"stringValue": v}} for k, v in a.items()]}
            for name, a in told
        ]  # fmt: skip
        (call,) = calls(run_of(tmp_path, tool("f", events=events)))
        assert (args(call), call.output, call.call_id) == ('{"x":1}', "done", "c")


class TestErrors:
    def test_a_tools_status_is_the_calls_error(self, tmp_path: Path) -> None:
        run = run_of(tmp_path, tool("f", failed=True), tool("g", 1))
        assert [(c.is_error, c.error) for c in calls(run)] == [(True, "it broke"), (False, None)]
        assert run.status == "ok"

    def test_an_error_type_counts(self, tmp_path: Path) -> None:
        run = run_of(tmp_path, tool("f", error__type="timeout"))
        assert [(c.is_error, c.error) for c in calls(run)] == [(True, "timeout")]

    def test_errors_of_infrastructure_are_nobodys(self, tmp_path: Path) -> None:
        run = run_of(
            tmp_path,
            agent("a", id="00000000000000aa"),
            tool("f", 1, id="00000000000000bb", parent="00000000000000aa"),
            span("GET /", 1, parent="00000000000000bb", failed=True),
            span("queue.close", 2, parent="00000000000000aa", failed=True),
        )
        assert [call.is_error for call in calls(run)] == [False]
        assert run.status == "ok"

    def test_how_the_agent_ended_is_how_the_run_ended(self, tmp_path: Path) -> None:
        assert run_of(tmp_path, agent("a", failed=True), chat(1)).status == "error"
        unfinished = {k: v for k, v in agent("a").items() if k != "endTimeUnixNano"}
        assert run_of(tmp_path, unfinished, chat(1)).status == "incomplete"


class TestConversation:
    def test_histories_repeat_and_are_told_once(self, tmp_path: Path) -> None:
        system = {"role": "system", "parts": [{"type": "text", "content": "Be brief."}]}
        one = [system, user("yes")]
        two = [*one, {"role": "assistant", "parts": []}, user("yes")]
        run = run_of(tmp_path, chat(0, "A", one), chat(1, "B", two), chat(2, "C", two))
        assert [(s.kind, s.actor, s.turn_index) for s in run.steps] == [
            ("message", "system", 0),
            ("message", "user", 0),
            ("llm_call", "agent", 0),
            ("message", "user", 1),
            ("llm_call", "agent", 1),
            ("final", "agent", 1),
        ]
        assert run.prompt_hash == run_of(tmp_path, chat(0, "A", one)).prompt_hash is not None

    def test_repeated_call_ids_in_histories_answer_their_own_call(self, tmp_path: Path) -> None:
        first, second = result("one", "0"), result("two", "0")
        run = run_of(
            tmp_path,
            chat(0, [asks("f", "0", x=1)]),
            chat(1, [asks("f", "0", x=2)], [first]),
            chat(2, "Done", [first, second]),
        )
        assert [call.output for call in calls(run)] == ["one", "two"]

    def test_the_last_answer_of_the_main_agent_is_final(self, tmp_path: Path) -> None:
        run = run_of(
            tmp_path,
            agent("main", 0, id="00000000000000aa"),
            chat(1, "Mine", parent="00000000000000aa"),
            agent("other", 2, id="00000000000000bb", parent="00000000000000aa"),
            chat(3, "Theirs", parent="00000000000000bb"),
        )
        assert [(s.actor, s.kind) for s in run.steps] == [("agent", "final"), ("other", "llm_call")]
        assert run.final_output == "Mine"

    def test_a_response_that_led_to_a_call_is_not_final(self, tmp_path: Path) -> None:
        """Nothing of what was said is captured: only the tool's span tells that it called."""
        assert kinds(run_of(tmp_path, chat(0), tool("f", 1))) == ["llm_call", "tool_call"]


class TestAgents:
    def test_a_nested_agents_steps_are_its_own_and_belong_to_the_call(self, tmp_path: Path) -> None:
        run = run_of(
            tmp_path,
            agent("desk", 0, id="00000000000000aa"),
            chat(1, [asks("ask_refunds")], parent="00000000000000aa"),
            tool("ask_refunds", 2, id="00000000000000bb", parent="00000000000000aa"),
            agent("refunds", 3, id="00000000000000cc", parent="00000000000000bb"),
            chat(4, [asks("look")], parent="00000000000000cc"),
            tool("look", 5, parent="00000000000000cc"),
            chat(6, "Done", parent="00000000000000aa"),
        )
        assert [(s.actor, s.parent_step) for s in run.steps] == [
            ("agent", None),
            ("agent", None),
            ("refunds", 1),
            ("refunds", 1),
            ("agent", None),
        ]
        assert [call.response_index for call in calls(run)] == [0, 1]

    def test_the_same_agent_behind_its_proxy_is_one(self, tmp_path: Path) -> None:
        run = run_of(
            tmp_path,
            agent("helm-agent", 0, id="00000000000000aa"),
            agent("helm_agent", 1, id="00000000000000bb", parent="00000000000000aa"),
            chat(2, "Hi", parent="00000000000000bb"),
        )
        assert [step.actor for step in run.steps] == ["agent"]
        assert run.agent == "helm-agent"

    def test_what_a_trace_tells_of_the_run(self, tmp_path: Path) -> None:
        run = run_of(
            tmp_path,
            chat(0, "Hi", gen_ai__conversation__id="s", user__id="u", trajtab__trial=3),
            service__name="desk",
            service__version="1.2",
            task_id="t",
        )
        assert (run.agent, run.agent_version, run.task_id, run.trial) == ("desk", "1.2", "t", 3)
        assert run.labels == {"session_id": "s", "user_id": "u", "service": "desk"}


def _flat(prefix: str, message: dict[str, Any]) -> dict[str, Any]:
    return {f"{prefix}__{key}": value for key, value in message.items()}


@pytest.mark.parametrize(
    "attributes",
    [
        {"gen_ai__completion": '{"text": "Hi", "finish_reason": "stop"}'},
        _flat("gen_ai__completion__0", {"role": "assistant", "content": "Hi"}),
        {"gcp__vertex__agent__llm_response": '{"content": {"role": "model", "parts": [{"text": "Hi"}]}}'},
        {"ai__response__text": "Hi"},
        {"openinference__span__kind": "LLM", "output__value": "Hi"},
        {"openinference__span__kind": "LLM", "output__value": '{"choices": [{"message": {"content": "Hi"}}]}'},
        {"openinference__span__kind": "LLM",
         **_flat("llm__output_messages__0__message", {"role": "assistant", "content": "Hi"})},
        {"openinference__span__kind": "LLM",
         **_flat("llm__output_messages__0__message__contents__0__message_content",
                 {"type": "text", "text": "Hi"})},
    ],
)  # fmt: skip
def test_answers_in_every_spelling(tmp_path: Path, attributes: dict[str, str]) -> None:
    run = run_of(tmp_path, span("x", gen_ai__request__model="m", **attributes))
    assert (kinds(run), run.final_output) == (["final"], "Hi")


@pytest.mark.parametrize(
    "attributes",
    [
        {"gen_ai__prompt": '[{"role": "system", "content": "S"}, {"role": "user", "content": "U"}]'},
        {"gen_ai__prompt": "system: S\nuser: U"},
        {**_flat("gen_ai__prompt__0", {"role": "system", "content": "S"}),
         **_flat("gen_ai__prompt__1", {"role": "user", "content": "U"})},
        {"gen_ai__system_instructions": '[{"type": "text", "content": "S"}]',
         "gen_ai__input__messages": '[{"role": "user", "parts": [{"type": "text", "content": "U"}]}]'},
        {"gcp__vertex__agent__llm_request":
         '{"config": {"system_instruction": "S"}, "contents": [{"role": "user", "parts": [{"text": "U"}]}]}'},
        {"ai__prompt": '{"system": "S", "messages": [{"role": "user", "content": "U"}]}'},
        {"openinference__span__kind": "LLM",
         "input__value": '{"messages": [[{"type": "system", "content": "S"}, {"type": "human", "content": "U"}]]}'},
    ],
)  # fmt: skip
def test_prompts_in_every_spelling(tmp_path: Path, attributes: dict[str, str]) -> None:
    run = run_of(tmp_path, span("x", gen_ai__request__model="m", **attributes))
    assert [(s.actor, s.content) for s in run.steps[:-1]] == [("system", "S"), ("user", "U")]


def test_messages_told_as_events(tmp_path: Path) -> None:
    told = [
        ("gen_ai.system.message", {"content": "S"}),
        ("gen_ai.user.message", {"content": "U"}),
        ("gen_ai.choice", {"message": '{"role": "assistant", "content": "Hi"}'}),
    ]
    events = [
        {"name": name, "attributes": [{"key": k, "value": {"stringValue": v}} for k, v in a.items()]}
        for name, a in told
    ]  # fmt: skip
    run = run_of(tmp_path, chat(0, events=events))
    assert [(s.actor, s.content) for s in run.steps] == [
        ("system", "S"),
        ("user", "U"),
        ("agent", "Hi"),
    ]
