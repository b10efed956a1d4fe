"""Decorated tools: named arguments, time, value, and the exception that goes on."""

from __future__ import annotations

import asyncio
import functools
import inspect
import itertools
from typing import TYPE_CHECKING, Any

import pytest

from pipeline.record import Recorder, RecordWarning

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
    from pathlib import Path


def steps(run: Recorder) -> list[dict[str, Any]]:
    return run.record["steps"]


@pytest.fixture
def sink(tmp_path: Path) -> Path:
    return tmp_path / "r.jsonl"


def search(q: str, /, limit: int = 10, *more: int, deep: bool = False, **rest: Any) -> list[Any]:
    """Search."""
    return [q, limit, *more, deep, rest]


@pytest.mark.parametrize(
    ("args", "kwargs", "recorded"),
    [
        (("x",), {}, {"q": "x"}),
        (("x", 5), {"deep": True}, {"q": "x", "limit": 5, "deep": True}),
        (("x", 5, 6, 7), {"lang": "de"}, {"q": "x", "limit": 5, "more": [6, 7], "lang": "de"}),
    ],
)
def test_arguments_are_named_as_the_function_names_them(
    sink: Path, args: tuple[Any, ...], kwargs: dict[str, Any], recorded: dict[str, Any]
) -> None:
    with Recorder(sink) as run:
        found = run.tool(search)(*args, **kwargs)
    assert found == search(*args, **kwargs)
    (step,) = steps(run)
    assert (step["tool_name"], step["tool_args"]) == ("search", recorded)
    assert step["output"] == found
    assert step["is_error"] is False
    assert step["duration_ms"] >= 0


def test_the_time_of_a_call_is_in_milliseconds(sink: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each look at this clock is a quarter of a second after the one before."""

    async def later() -> None: ...

    def items() -> Iterator[int]:
        yield 1

    monkeypatch.setattr("time.perf_counter", itertools.count(7, 0.25).__next__)
    with Recorder(sink) as run:
        run.tool(search)("x")
        asyncio.run(run.tool(later)())
        list(run.tool(items)())
    assert [step["duration_ms"] for step in steps(run)] == [250] * 3


def test_it_is_still_the_function(sink: Path) -> None:
    with Recorder(sink) as run:
        assert run.tool(search).__doc__ == "Search."
        assert inspect.signature(run.tool(search)) == inspect.signature(search)

        @run.tool(name="look_up")
        async def later() -> None: ...

        assert inspect.iscoroutinefunction(later)
        asyncio.run(later())
    assert steps(run)[0]["tool_name"] == "look_up"


def test_an_exception_is_recorded_and_raised(sink: Path) -> None:
    with Recorder(sink) as run:

        @run.tool
        def book(seat: str) -> None:
            raise KeyError(seat)

        with pytest.raises(KeyError, match="7A"):
            book("7A")
        with pytest.raises(TypeError):
            book()  # type: ignore[call-arg]
    first, second = steps(run)
    assert (first["is_error"], first["error"]) == (True, "KeyError: '7A'")
    assert first["tool_args"] == {"seat": "7A"}
    assert second["error"].startswith("TypeError: ")
    assert "status" not in run.record  # ok: the agent lived on


def test_a_cancelled_tool_failed(sink: Path) -> None:
    async def main() -> None:
        async with Recorder(sink, run_id="r") as run:
            runs.append(run)

            @run.tool
            async def wait() -> None:
                await asyncio.sleep(60)

            task = asyncio.ensure_future(wait())
            await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    runs: list[Recorder] = []
    asyncio.run(main())
    (step,) = steps(runs[0])
    assert (step["is_error"], step["error"]) == (True, "CancelledError")


def test_what_has_no_signature_or_name_is_recorded_all_the_same(sink: Path) -> None:
    class Tool:
        async def __call__(self, n: int) -> int:
            return n + 1

    with Recorder(sink) as run:
        assert run.tool(functools.partial(max, 3), name="max")(4) == 4
        assert run.tool(dict)(a=1) == {"a": 1}
        assert asyncio.run(run.tool(Tool())(1)) == 2
    told = [(step["tool_name"], step["tool_args"]) for step in steps(run)]
    assert told == [("max", {"args": [4]}), ("dict", {"a": 1}), ("Tool", {"n": 1})]


def test_a_partial_is_called_by_the_function_it_fills_in(sink: Path) -> None:
    with Recorder(sink) as run:
        run.tool(functools.partial(functools.partial(search, "x"), deep=True))(3)
    (step,) = steps(run)
    assert (step["tool_name"], step["tool_args"]) == ("search", {"limit": 3})


def test_arguments_are_those_before_the_call(sink: Path) -> None:
    def empty(items: list[int]) -> None:
        items.clear()

    with Recorder(sink) as run:
        run.tool(empty)(given := [1])
    assert given == []
    assert steps(run)[0]["tool_args"] == {"items": [1]}


def test_calls_are_in_the_order_they_began_and_flagged(sink: Path) -> None:
    with Recorder(sink) as run:

        @run.tool
        def inner(n: int) -> int:
            return n

        @run.tool
        def outer() -> int:
            return inner(1) + inner(1)

        outer()
    told = [(step["tool_name"], step["reported_backtrack"]) for step in steps(run)]
    assert told == [("outer", False), ("inner", False), ("inner", True)]


def test_a_repeat_is_flagged_within_eight_steps_that_are_no_messages(sink: Path) -> None:
    with Recorder(sink) as run:
        for steps_between in (0, 7, 8):
            for _ in range(steps_between):
                run.llm_call("Hm.")
                run.message("tool", "…")
            run.tool_call("search", {"q": "x"})
    calls = [step for step in steps(run) if step["kind"] == "tool_call"]
    assert [call["reported_backtrack"] for call in calls] == [False, True, False]


def test_after_the_run_a_tool_works_on_unrecorded(sink: Path) -> None:
    with Recorder(sink, run_id="r") as run:
        tool = run.tool(search)
        later = run.tool(name="later")(_later)
    with pytest.warns(RecordWarning, match="run 'r' has ended: a call of 'search'") as told:
        assert tool("x") == search("x")
    with pytest.warns(RecordWarning, match="a call of 'later'") as told_later:
        assert asyncio.run(_calling(later)) == 1
    assert steps(run) == []
    assert [one[0].filename for one in (told, told_later)] == [__file__] * 2


async def _later() -> int:
    return 1


async def _calling(tool: Callable[[], Awaitable[int]]) -> int:
    return await tool()


def test_a_tool_at_work_when_the_run_ends_is_told_of(sink: Path) -> None:
    async def main() -> None:
        ended = asyncio.Event()
        async with Recorder(sink, run_id="r") as run:
            runs.append(run)
            task = asyncio.ensure_future(run.tool(ended.wait, name="wait")())
            await asyncio.sleep(0)
        ended.set()
        with pytest.warns(RecordWarning, match="has ended"):
            await task

    runs: list[Recorder] = []
    asyncio.run(main())
    (step,) = steps(runs[0])
    assert step["labels"] == {"unanswered": True}


def test_a_generator_is_recorded_to_its_end(sink: Path) -> None:
    """Items, what is sent in and what is returned pass as they do without a recorder."""

    def pages(n: int) -> Iterator[Any]:
        page = {"n": n}
        page["n"] = yield page
        yield page
        raise ValueError("no more")

    async def later(n: int) -> AsyncIterator[int]:
        for item in range(n):
            yield item

    def returns() -> Iterator[int]:
        yield 1
        return 2

    async def taken() -> list[int]:
        return [item async for item in run.tool(later)(2)]

    with Recorder(sink) as run:
        flow = run.tool(pages)(1)
        assert next(flow) == {"n": 1}
        assert flow.send(5) == {"n": 5}
        with pytest.raises(ValueError, match="no more"):
            next(flow)
        assert asyncio.run(taken()) == [0, 1]
        given = run.tool(returns)()
        next(given)
        with pytest.raises(StopIteration) as ended:
            next(given)
        assert ended.value.value == 2
    names = ("tool_name", "tool_args", "output", "error")
    assert [tuple(step.get(name) for name in names) for step in steps(run)] == [
        ("pages", {"n": 1}, [{"n": 1}, {"n": 5}], "ValueError: no more"),
        ("later", {"n": 2}, [0, 1], None),
        ("returns", {}, [1], None),
    ]


def test_a_generator_that_is_closed_early_has_not_failed(sink: Path) -> None:
    closed = []

    def count() -> Iterator[int]:
        try:
            yield from range(9)
        finally:
            closed.append(True)

    with Recorder(sink) as run:
        flow = run.tool(count)()
        assert next(flow) == 0
        flow.close()
    (step,) = steps(run)
    assert (step["output"], step["is_error"], closed) == ([0], False, [True])


def test_a_function_that_returns_a_coroutine_is_awaited(sink: Path) -> None:
    async def find(q: str) -> str:
        if q == "?":
            raise KeyError(q)
        return q.upper()

    with Recorder(sink) as run:
        tool = run.tool(lambda q: find(q.strip()), name="find")
        assert asyncio.run(tool("x")) == "X"
        with pytest.raises(KeyError):
            asyncio.run(tool("?"))
    assert [(step.get("output"), step.get("error")) for step in steps(run)] == [
        ("X", None),
        (None, "KeyError: '?'"),
    ]
