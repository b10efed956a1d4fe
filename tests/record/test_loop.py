"""Client loops recorded from requests and responses: chat completions, Responses, Anthropic.

Responses come as dicts, as objects with attributes, and as models that dump themselves; the loops
are those of each vendor's documentation, cut short.
"""

from __future__ import annotations

import asyncio
import json
import threading
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from pipeline.errors import InputError
from pipeline.landing.chats.chat import prompt_hash
from pipeline.record import Recorder, RecordWarning

if TYPE_CHECKING:
    from collections.abc import Callable

PROMPT = "You book seats."


class Model:
    """A response as SDKs give it: members as attributes, and a method that dumps them."""

    def __init__(self, told: dict[str, Any]) -> None:
        self._told = told

    def model_dump(self) -> dict[str, Any]:
        return self._told


def as_objects(value: Any) -> Any:
    if isinstance(value, dict):
        return SimpleNamespace(**{name: as_objects(item) for name, item in value.items()})
    return [as_objects(item) for item in value] if isinstance(value, list) else value


SHAPES = [lambda told: told, as_objects, Model]


def chat(text: str | None, *calls: tuple[str, str, dict[str, Any]], **_: Any) -> dict[str, Any]:
    listed = [
        {"id": i, "type": "function", "function": {"name": name, "arguments": json.dumps(args)}}
        for i, name, args in calls
    ]
    message = {"role": "assistant", "content": text, "tool_calls": listed or None}
    return {
        "id": "chatcmpl-1", "object": "chat.completion", "model": "gpt-x",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 80, "completion_tokens": 9, "total_tokens": 89},
    }  # fmt: skip


def anthropic(text: str | None, *calls: tuple[str, str, dict[str, Any]]) -> dict[str, Any]:
    blocks = [] if text is None else [{"type": "text", "text": text}]
    blocks += [{"type": "tool_use", "id": i, "name": n, "input": args} for i, n, args in calls]
    return {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-x",
        "content": blocks, "stop_reason": "end_turn",
        "usage": {
            "input_tokens": 70, "cache_read_input_tokens": 10,
            "cache_creation_input_tokens": 0, "output_tokens": 9,
        },
    }  # fmt: skip


def responses(text: str | None, *calls: tuple[str, str, dict[str, Any]]) -> dict[str, Any]:
    parts = {"type": "output_text", "text": text, "annotations": []}
    said = {"type": "message", "id": "m", "role": "assistant", "content": [parts]}
    asked = [
        {"type": "function_call", "call_id": i, "id": f"fc_{i}", "name": n, "arguments": json.dumps(a)}
        for i, n, a in calls
    ]  # fmt: skip
    return {
        "id": "resp_1", "object": "response", "model": "gpt-x",
        "output": [{"type": "reasoning", "id": "r", "summary": []}, *([said] if text else []), *asked],
        "usage": {"input_tokens": 80, "output_tokens": 9},
    }  # fmt: skip


def chat_requests() -> list[dict[str, Any]]:
    first = [{"role": "system", "content": PROMPT}, {"role": "user", "content": "A seat"}]
    answers = [
        {"role": "tool", "tool_call_id": "c1", "content": "7A free"},
        {"role": "tool", "tool_call_id": "c2", "content": "closed"},
    ]
    asked = chat(None, ("c1", "seats", {"row": 7}), ("c2", "meals", {}))["choices"][0]["message"]
    return [{"messages": first}, {"messages": [*first, asked, *answers]}]


def anthropic_requests() -> list[dict[str, Any]]:
    first = [{"role": "user", "content": "A seat"}]
    asked = {
        "role": "assistant",
        "content": anthropic(None, ("c1", "seats", {"row": 7}))["content"],
    }
    answers = [
        {"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": "7A free"}]},
        {"type": "tool_result", "tool_use_id": "c2", "content": "closed", "is_error": True},
    ]  # fmt: skip
    system = [{"type": "text", "text": PROMPT, "cache_control": {"type": "ephemeral"}}]
    return [
        {"system": system, "messages": first},
        {"system": system, "messages": [*first, asked, {"role": "user", "content": answers}]},
    ]


def responses_requests() -> list[dict[str, Any]]:
    answers = [
        {"type": "function_call_output", "call_id": "c1", "output": "7A free"},
        {"type": "function_call_output", "call_id": "c2", "output": "closed"},
    ]
    return [
        {"instructions": PROMPT, "input": "A seat"},
        {"instructions": PROMPT, "input": answers, "previous_response_id": "resp_1"},
    ]


VENDORS = {
    "chat": (chat, chat_requests, False),
    "anthropic": (anthropic, anthropic_requests, True),
    "responses": (responses, responses_requests, False),
}


@pytest.fixture(params=VENDORS)
def vendor(request: pytest.FixtureRequest) -> Any:
    return VENDORS[request.param]


@pytest.fixture(params=range(len(SHAPES)), ids=["dicts", "objects", "models"])
def shape(request: pytest.FixtureRequest) -> Callable[[dict[str, Any]], Any]:
    return SHAPES[request.param]


ASKED = (("c1", "seats", {"row": 7}), ("c2", "meals", {}))


def recorded(run: Recorder, *names: str) -> list[tuple[Any, ...]]:
    return [tuple(step.get(name) for name in names) for step in run.record["steps"]]


def test_a_loop_of_two_responses(
    tmp_path: Path, vendor: Any, shape: Callable[[dict[str, Any]], Any]
) -> None:
    spell, requests, tells_errors = vendor
    answers = iter([shape(spell("Let me see.", *ASKED)), shape(spell("7A is free."))])
    with Recorder(tmp_path / "r.jsonl") as run:
        create = run.loop().wrap(lambda **_: next(answers))
        for request in requests():
            create(model="m", **request)
    record = run.record
    assert record["prompt_hash"] == prompt_hash(PROMPT)
    assert record["model"] in ("gpt-x", "claude-x")
    assert (record["final_output"], record["completed"]) == ("7A is free.", True)
    names = ("kind", "content", "tool_name", "output", "is_error", "response_index", "turn_index")
    failed = bool(tells_errors)
    assert recorded(run, *names) == [
        ("message", "A seat", None, None, None, None, 0),
        ("llm_call", "Let me see.", None, None, None, 0, 0),
        ("tool_call", None, "seats", "7A free", False, 0, 0),
        ("tool_call", None, "meals", "closed", failed, 0, 0),
        ("final", "7A is free.", None, None, None, 1, 0),
    ]
    said = [step for step in record["steps"] if step["kind"] in ("llm_call", "final")]
    assert [(step["input_tokens"], step["output_tokens"]) for step in said] == [(80, 9), (80, 9)]
    assert all(step["duration_ms"] >= 0 for step in said)
    calls = [step for step in record["steps"] if step["kind"] == "tool_call"]
    assert [(call["call_id"], call["reported_backtrack"]) for call in calls] == [
        ("c1", False), ("c2", False),
    ]  # fmt: skip
    args = [call["tool_args"] for call in calls]
    assert [json.loads(a) if isinstance(a, str) else a for a in args] == [{"row": 7}, {}]


def test_results_given_by_the_loop(tmp_path: Path, vendor: Any) -> None:
    spell, requests, _ = vendor
    with Recorder(tmp_path / "r.jsonl") as run:
        loop = run.loop()
        loop.response(spell(None, *ASKED))
        loop.result("c2", error=TimeoutError("30 s"), duration_ms=30_000)
        loop.result("c1", {"free": ["7A"]})
        loop.request(**requests()[1])  # shows the same results again: they are recorded already
        loop.result("c9", "nobody asked")
    _, seats, meals, *rest = run.record["steps"]
    assert (seats["output"], seats["is_error"]) == ({"free": ["7A"]}, False)
    assert (meals["error"], meals["duration_ms"]) == ("TimeoutError: 30 s", 30_000)
    assert {step["kind"] for step in rest} <= {"message"}


def test_a_decorated_tool_takes_the_call_the_response_asked_for(
    tmp_path: Path, vendor: Any
) -> None:
    spell, requests, _ = vendor
    with Recorder(tmp_path / "r.jsonl") as run:

        @run.tool
        def meals() -> str:
            raise RuntimeError("galley closed")

        @run.tool
        def seats(row: int, cabin: str = "Y") -> str:
            return f"{row}A in {cabin}"

        loop = run.loop()
        loop.response(spell(None, *ASKED))
        with pytest.raises(RuntimeError, match="galley"):
            meals()
        seats(7)
        loop.request(**requests()[1])
        seats(7)  # this one no response asked for
    names = ("kind", "tool_name", "output", "error", "call_id", "reported_backtrack")
    found = [step for step in recorded(run, *names) if step[0] == "tool_call"]
    assert found == [
        ("tool_call", "seats", "7A in Y", None, "c1", False),
        ("tool_call", "meals", None, "RuntimeError: galley closed", "c2", False),
        ("tool_call", "seats", "7A in Y", None, None, True),
    ]


def test_of_calls_of_one_tool_each_takes_the_one_with_its_arguments(tmp_path: Path) -> None:
    """Else the first: the agent may have read "9" as a number. Both at once are two, too."""
    asked = [("c1", {"row": "9"}), ("c2", {"row": 7}), ("c3", {"row": 8}), ("c4", {"row": 8})]
    with Recorder(tmp_path / "r.jsonl") as run:

        @run.tool
        async def seats(row: int) -> str:
            await asyncio.sleep(0)
            return f"{row}A"

        async def agent() -> None:
            await asyncio.gather(seats(8), seats(8), seats(7))
            await seats(9)

        run.loop().response(chat(None, *((call_id, "seats", args) for call_id, args in asked)))
        asyncio.run(agent())
    found = recorded(run, "call_id", "output", "labels")[1:]
    assert found == [("c1", "9A", None), ("c2", "7A", None), ("c3", "8A", None), ("c4", "8A", None)]


def test_call_ids_that_repeat_belong_to_the_nearest_response(tmp_path: Path) -> None:
    with Recorder(tmp_path / "r.jsonl") as run:
        loop = run.loop()
        loop.response(chat(None, ("c1", "a", {})))
        loop.response(chat(None, ("c1", "b", {}), ("c1", "c", {})))
        for output in ("for b", "for c", "for a"):
            loop.result("c1", output)
    found = [(tool, out) for tool, out in recorded(run, "tool_name", "output") if tool]
    assert found == [("a", "for a"), ("b", "for b"), ("c", "for c")]


def test_an_async_client(tmp_path: Path) -> None:
    class Client:
        """Its method is no coroutine function, but returns something to await."""

        def create(self, **_: Any) -> Any:
            return self._create()

        async def _create(self) -> dict[str, Any]:
            await asyncio.sleep(0)
            return chat("Hello.")

    async def main() -> Recorder:
        async with Recorder(tmp_path / "r.jsonl") as run:
            create = run.loop().wrap(Client().create)
            assert await create(messages=[{"role": "user", "content": "Hi"}]) == chat("Hello.")
        return run

    run = asyncio.run(main())
    assert recorded(run, "kind", "content") == [("message", "Hi"), ("final", "Hello.")]


@pytest.mark.parametrize("later", [False, True])
def test_a_request_that_fails_is_a_failed_llm_call(tmp_path: Path, later: bool) -> None:
    async def fails_later(**_: Any) -> None:
        raise ConnectionError("reset")

    def fails(**_: Any) -> None:
        raise ConnectionError("reset")

    with Recorder(tmp_path / "r.jsonl") as run:
        create = run.loop().wrap(fails_later if later else fails)
        with pytest.raises(ConnectionError, match="reset"):
            asyncio.run(create(messages=[])) if later else create(messages=[])
    assert recorded(run, "kind", "error", "response_index") == [
        ("llm_call", "ConnectionError: reset", 0)
    ]


def test_the_time_of_a_request_is_in_milliseconds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each look at this clock is a quarter of a second after the one before."""

    async def later(**_: Any) -> dict[str, Any]:
        return chat("Hello.")

    def fails(**_: Any) -> None:
        raise ConnectionError("reset")

    monkeypatch.setattr("time.perf_counter", count(7, 0.25).__next__)
    with Recorder(tmp_path / "r.jsonl") as run:
        loop = run.loop()
        loop.wrap(lambda **_: chat("Hello."))(messages=[])
        asyncio.run(loop.wrap(later)(messages=[]))
        with pytest.raises(ConnectionError):
            loop.wrap(fails)(messages=[])
    assert recorded(run, "duration_ms") == [(250,)] * 3


def test_what_was_sent_before_is_not_recorded_again(tmp_path: Path) -> None:
    yes = {"role": "user", "content": "yes"}
    with Recorder(tmp_path / "r.jsonl") as run:
        loop = run.loop()
        loop.request(messages=[yes])
        loop.request(messages=[yes, {"role": "assistant", "content": "sure?"}, yes])
        loop.request(messages=[yes])  # a history cut short tells nothing new
        loop.request(input="yes", previous_response_id="resp_1")  # one continued does
    assert recorded(run, "content", "turn_index") == [("yes", 0), ("yes", 1), ("yes", 2)]


def test_a_result_answers_its_call_though_another_said_the_same(tmp_path: Path) -> None:
    """The loop sends no history: the second request shows "ok" as often as the first."""
    with Recorder(tmp_path / "r.jsonl") as run:
        loop = run.loop()
        for call_id in ("c1", "c2"):
            loop.response(chat(None, (call_id, "book", {"id": call_id})))
            loop.request(messages=[{"role": "tool", "tool_call_id": call_id, "content": "ok"}])
    assert recorded(run, "call_id", "output")[1::2] == [("c1", "ok"), ("c2", "ok")]


def test_a_call_that_names_no_arguments_has_none(tmp_path: Path) -> None:
    response = chat(None, ("c1", "meals", {}))
    del response["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"]
    with Recorder(tmp_path / "r.jsonl") as run:
        run.loop().response(response)
    assert recorded(run, "tool_name", "tool_args")[1:] == [("meals", {})]


def test_the_model_named_first_is_the_runs(tmp_path: Path) -> None:
    with Recorder(tmp_path / "r.jsonl") as run:
        loop = run.loop()
        for model in ("", "first", "second"):
            loop.response({**chat("Hm."), "model": model})
    assert run.record["model"] == "first"


def test_a_loop_cut_off_has_no_final(tmp_path: Path) -> None:
    with Recorder(tmp_path / "r.jsonl") as run:
        run.loop().response(chat(None, ("c1", "a", {})))
    call = run.record["steps"][1]
    assert call["labels"] == {"unanswered": True}
    assert "final_output" not in run.record


def test_what_cannot_be_recorded_does_not_stop_the_agent(tmp_path: Path) -> None:
    async def later(**_: Any) -> list[int]:
        return [2]

    def gone(**_: Any) -> None:
        raise ConnectionError("reset")

    with Recorder(tmp_path / "r.jsonl") as run:
        loop = run.loop()
        with pytest.warns(RecordWarning, match="not recorded: a response of a shape not known"):
            assert loop.wrap(lambda **_: [1])(messages=[]) == [1]
        with pytest.warns(RecordWarning, match="not recorded: a response of a shape not known"):
            assert asyncio.run(loop.wrap(later)(messages=[])) == [2]
    late = {"messages": [{"role": "user", "content": "Hi"}]}
    with pytest.warns(RecordWarning, match="the run has ended") as told:
        assert loop.wrap(chat)(text="Hello.", **late) == chat("Hello.")
    with pytest.warns(RecordWarning), pytest.raises(ConnectionError, match="reset"):
        loop.wrap(gone)(messages=[])
    assert {Path(warning.filename).name for warning in told} == {Path(__file__).name}
    assert run.record["steps"] == []


def test_streams_and_unknown_shapes_are_refused(tmp_path: Path) -> None:
    with Recorder(tmp_path / "r.jsonl") as run:
        loop = run.loop()
        with pytest.raises(InputError, match="stream cannot be recorded"):
            loop.wrap(chat)(stream=True)
        with pytest.raises(
            InputError, match=r"a response of a shape not known: dict with \['text'"
        ):
            loop.response({"text": "Hi"})
        with pytest.raises(InputError, match="shape not known: list"):
            loop.response([1])


def test_tools_that_anthropic_runs_answer_in_the_response(tmp_path: Path) -> None:
    response = anthropic("Found.")
    error = {"type": "web_search_tool_result_error", "error_code": "too_many"}
    response["content"] = [
        {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"q": "x"}},
        {"type": "web_search_tool_result", "tool_use_id": "s1", "content": [{"url": "u"}]},
        {"type": "server_tool_use", "id": "s2", "name": "web_search", "input": {"q": "y"}},
        {"type": "web_search_tool_result", "tool_use_id": "s2", "content": error},
        *response["content"],
    ]
    with Recorder(tmp_path / "r.jsonl") as run:
        run.loop().response(response)
    assert recorded(run, "kind", "tool_name", "output", "is_error")[1:] == [
        ("tool_call", "web_search", [{"url": "u"}], False),
        ("tool_call", "web_search", error, True),
        ("final", None, None, None),
    ]


def test_tools_that_openai_runs_answer_in_the_response(tmp_path: Path) -> None:
    response = responses("Found.")
    action = {"type": "search", "query": "x"}
    response["output"][:0] = [
        {"type": "web_search_call", "id": "w1", "status": "completed", "action": action},
        {"type": "mcp_call", "id": "m1", "name": "look", "arguments": "{}", "error": "refused"},
        {"type": "local_shell_call", "id": "l", "call_id": "c7", "action": {"command": ["ls"]}},
    ]
    with Recorder(tmp_path / "r.jsonl") as run:
        loop = run.loop()
        loop.response(response)
        loop.request(input=[{"type": "local_shell_call_output", "call_id": "c7", "output": "a b"}])
    assert recorded(run, "kind", "tool_name", "output", "is_error")[1:] == [
        ("tool_call", "web_search", None, False),
        ("tool_call", "look", "refused", True),
        ("tool_call", "local_shell", "a b", False),
    ]
    assert run.record["steps"][1]["tool_args"] == action


def test_an_image_is_what_a_tool_returned_where_the_vendor_ran_it(tmp_path: Path) -> None:
    """What the client sends has its text recorded, and an image has none."""
    plot = [{"type": "image", "url": "https://host/plot.png"}]
    response = responses(None, ("c1", "draw", {}))
    response["output"].append(
        {"type": "code_interpreter_call", "id": "i1", "code": "plot()", "outputs": plot}
    )
    with Recorder(tmp_path / "r.jsonl") as run:
        loop = run.loop()
        loop.response(response)
        loop.request(input=[{"type": "function_call_output", "call_id": "c1", "output": plot}])
    assert recorded(run, "tool_name", "output", "labels")[1:] == [
        ("draw", None, None),
        ("code_interpreter", plot, None),
    ]


def test_loops_of_many_threads_share_a_run(tmp_path: Path) -> None:
    """Responses have numbers of their own, and each call is answered by its own result."""

    def work(number: int) -> None:
        for n in range(20):
            call_id = f"{number}-{n}"
            loop.response(chat(None, (call_id, f"tool-{number}", {"n": n})))
            loop.result(call_id, call_id)

    with Recorder(tmp_path / "r.jsonl") as run:
        loop = run.loop()
        threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    calls = [step for step in run.record["steps"] if step["kind"] == "tool_call"]
    assert [call["output"] for call in calls] == [call["call_id"] for call in calls]
    assert sorted(call["response_index"] for call in calls) == list(range(160))
