"""The recorder: one run, from `with` to its line in the sink."""

from __future__ import annotations

import asyncio
import time
import warnings
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal, Self
from uuid import uuid4

import msgspec

from pipeline.errors import InputError, RecordError
from pipeline.landing.chat import prompt_hash
from pipeline.record.line import Line, raw, raw_labels
from pipeline.record.sink import Sink
from pipeline.record.steps import (
    Steps,
    described,
    failure,
    new_step,
    number,
    spelled_arguments,
)
from pipeline.record.tool import recorded

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path
    from types import TracebackType

    from pipeline.record.line import RecordedStep
    from pipeline.record.loop import Loop

_encode = msgspec.json.encode


class RecordWarning(UserWarning):
    """Something could not be recorded; the agent's own work goes on."""


class Recorder:
    """Records one run into a sink: one line of trajtab's own format, once the run has ended.

    Any number of runs may record into one sink at once, from threads, tasks and processes, and one
    run may be told of by several threads and tasks. What it is given is spelled as JSON at once:
    changing it afterwards changes nothing. A run that ends by an exception has the status `error`
    (`incomplete` where it was cut off: cancelled, interrupted, exited), and the exception goes on.

    Args:
        sink: the file, made where there is none, or a `Sink`.
        run_id: the run's id, unique among all runs; default: a new one.
        task_id: the task it attempts.
        trial: which attempt, from 0.
        suite: the set of tasks.
        agent: who runs.
        agent_version: which version of it.
        model: the language model; default: what the first response says of itself.
        system_prompt: its hash is recorded, not the text; default: taken from what is sent.
        expected: the calls expected: a list of `{"tool_name": …, "tool_args": …}`, or a list of
            such lists (alternatives).
        labels: whatever else to group by.

    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> with Recorder(f"{folder.name}/runs.jsonl", task_id="t1") as run:
    ...     run.llm_call("Let me look.", input_tokens=812, output_tokens=40)
    ...     run.tool_call("search", {"q": "x"}, output={"hits": 3})
    ...     run.tool_call("search", {"q": "x"}, error="timeout")
    ...     run.final("There are three.")
    >>> [step.get("reported_backtrack") for step in run.record["steps"]]
    [None, False, True, None]
    >>> folder.cleanup()
    """

    def __init__(  # noqa: PLR0913 - the fields of a run, one each
        self,
        sink: str | os.PathLike[str] | Sink,
        *,
        run_id: str | None = None,
        task_id: str | int | None = None,
        trial: int | None = None,
        suite: str | None = None,
        agent: str | None = None,
        agent_version: str | None = None,
        model: str | None = None,
        system_prompt: str | None = None,
        expected: Sequence[Any] | None = None,
        labels: Mapping[str, Any] | None = None,
    ) -> None:
        self._sink = Sink.at(sink)
        self._line = Line(
            run_id=uuid4().hex if run_id is None else str(run_id),
            steps=[],
            task_id=None if task_id is None else str(task_id),
            trial=number(int, "trial", trial),
            suite=suite,
            agent=agent,
            agent_version=agent_version,
            model=model,
            prompt_hash=None if system_prompt is None else prompt_hash(system_prompt),
            expected=msgspec.UNSET if expected is None else raw(expected) or msgspec.UNSET,
        )
        self._labels = dict(labels or {})
        self._steps = Steps()
        self._marker: Path | None = None
        self._told: bytes | None = None

    @property
    def run_id(self) -> str:
        """The run's id."""
        return self._line.run_id

    @property
    def record(self) -> dict[str, Any]:
        """The run as recorded so far, decoded: what its line says or will say."""
        with self._steps.lock:
            told = self._told or self._encoded(self._steps.every)
        found: dict[str, Any] = msgspec.json.decode(told)
        return found

    def llm_call(
        self,
        content: Any = None,
        *,
        input_tokens: int | None = None,
        output_tokens: int | None = None,
        cost_usd: float | None = None,
        duration_ms: float | None = None,
        response_index: int | None = None,
        error: Any = None,
        actor: str | None = None,
        labels: Mapping[str, Any] | None = None,
    ) -> None:
        """Record one response of a model.

        Args:
            content: what it said.
            input_tokens: tokens it read.
            output_tokens: tokens it wrote.
            cost_usd: what it cost.
            duration_ms: how long it took.
            response_index: its number; calls that carry the same one are parallel.
            error: why it failed, an exception or a text.
            actor: a sub-agent's name.
            labels: whatever else is worth keeping.
        """
        self._add(
            new_step(
                "llm_call",
                content,
                **_usage(input_tokens, output_tokens, cost_usd),
                duration_ms=duration_ms,
                response_index=response_index,
                error=raw(failure(error)[1]),
                actor=actor,
                labels=raw_labels(labels),
            )
        )

    def tool_call(
        self,
        name: str,
        args: Any = None,
        output: Any = None,
        *,
        error: Any = None,
        duration_ms: float | None = None,
        call_id: str | None = None,
        response_index: int | None = None,
        actor: str | None = None,
        labels: Mapping[str, Any] | None = None,
    ) -> None:
        """Record one call of a tool that has returned or failed.

        Args:
            name: the tool.
            args: its arguments: a mapping, JSON text, or None for none.
            output: what it returned.
            error: why it failed: an exception, a text, or True; None, False and "" are none.
            duration_ms: how long it took.
            call_id: the model's id of the call.
            response_index: the number of the response that asked for it.
            actor: a sub-agent's name.
            labels: whatever else is worth keeping.
        """
        failed, text = failure(error)
        step = new_step(
            "tool_call",
            tool_name=str(name),
            output=raw(output),
            is_error=failed,
            error=raw(text),
            duration_ms=duration_ms,
            call_id=call_id,
            response_index=response_index,
            actor=actor,
            labels=raw_labels(labels),
        )
        self._begun()
        self._steps.call(step, spelled_arguments(args))

    def message(self, role: str, content: Any) -> None:
        """Record what others than the agent said: a user's words open a turn, a system's are hashed."""
        if role in ("system", "developer"):
            self.system_prompt(content)
            role = "system"
        self._begun()
        self._steps.message(new_step("message", content, actor=role))

    def system_prompt(self, text: str) -> None:
        """Hash the system prompt, unless one is hashed already."""
        if self._line.prompt_hash is None and isinstance(text, str):
            self._line.prompt_hash = prompt_hash(text)

    def final(
        self,
        content: Any,
        *,
        input_tokens: int | None = None,
        output_tokens: int | None = None,
        cost_usd: float | None = None,
        duration_ms: float | None = None,
    ) -> None:
        """Record the answer. An `llm_call` just before that said the same becomes this step."""
        self._begun()
        step = new_step(
            "final",
            content,
            **_usage(input_tokens, output_tokens, cost_usd),
            duration_ms=duration_ms,
        )
        self._steps.final(step)
        self._line.final_output = step.content
        self._line.completed = True if self._line.completed is None else self._line.completed

    def outcome(
        self,
        *,
        success: bool | None = None,
        reward: float | None = None,
        completed: bool | None = None,
        final_state: Any = None,
        labels: Mapping[str, Any] | None = None,
    ) -> None:
        """Say how the run ended; what is None stays as it was.

        Args:
            success: did it reach its goal?
            reward: how much of it, as a number.
            completed: did the agent finish by itself? True once there is a final.
            final_state: the world's state, to be compared with the task's expected state.
            labels: whatever else to group by.
        """
        self._begun()
        line = self._line
        line.success = line.success if success is None else bool(success)
        line.reward = line.reward if reward is None else number(float, "reward", reward)
        line.completed = line.completed if completed is None else bool(completed)
        line.final_state = line.final_state if final_state is None else raw(final_state)
        self._labels |= labels or {}

    def tool(
        self, function: Callable[..., Any] | None = None, *, name: str | None = None
    ) -> Callable[..., Any]:
        """Record every call of a function: its arguments, its time, its value or its exception.

        `@run.tool` or `@run.tool(name="search")`, on plain and async functions; exceptions go on
        to the caller. A call that a response asked for (see `loop`) is recorded once.
        """
        if function is None:
            return lambda given: recorded(self, self._steps, given, name)
        return recorded(self, self._steps, function, name)

    def loop(self) -> Loop:
        """Return the adapter that records a client's requests and responses."""
        from pipeline.record.loop import Loop  # noqa: PLC0415 - it knows the recorder

        return Loop(self, self._steps)

    def saw_model(self, model: Any) -> None:
        """Take a model's name from its response, unless one is known."""
        if self._line.model is None and isinstance(model, str) and model:
            self._line.model = model

    def __enter__(self) -> Self:
        if self._marker is not None:
            raise InputError(f"run {self.run_id!r} has begun already; each run is a new Recorder")
        begin = _now()
        self._line.started_at = begin
        self._marker = self._sink.begin(
            {
                "run_id": self.run_id,
                "task_id": self._line.task_id,
                "agent": self._line.agent,
                "started_at": begin,
            }
        )
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        marker = self._begun()
        steps = self._steps.close()
        self._line.ended_at = _now()
        if error is not None:
            self._line.status = _status(error)
            self._line.completed = False
            self._labels["exception"] = described(error)
        elif not any(step.kind == "final" for step in steps):
            self._promote(steps)
        self._told = self._encoded(steps)
        try:
            self._sink.end(marker, self._told)
        except RecordError as refused:
            if error is None:
                raise
            warnings.warn(f"{refused}; run {self.run_id!r} is lost", RecordWarning, stacklevel=2)

    async def __aenter__(self) -> Self:
        return self.__enter__()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # The disk is waited for in a thread: other tasks go on.
        await asyncio.to_thread(self.__exit__, kind, error, trace)

    def _promote(self, steps: Sequence[RecordedStep]) -> None:
        """Take a response of a loop that asked for no call, at the end, for the answer."""
        decisions = [step for step in steps if step.kind != "message"]
        last = decisions[-1] if decisions else None
        if last is None or last.kind != "llm_call" or last.response_index is None or last.error:
            return
        last.kind = "final"
        self._line.final_output = last.content
        self._line.completed = True if self._line.completed is None else self._line.completed

    def _encoded(self, steps: list[RecordedStep]) -> bytes:
        self._line.steps = steps  # type: ignore[assignment] # a list of what it lists
        self._line.labels = raw_labels(self._labels)
        return _encode(self._line)

    def _add(self, step: RecordedStep) -> None:
        self._begun()
        self._steps.add(step)

    def _begun(self) -> Path:
        if self._marker is None:
            raise InputError("the run has not begun: `with Recorder(…) as run:` begins it")
        return self._marker


def _usage(read: Any, written: Any, cost: Any) -> dict[str, Any]:
    return {
        "input_tokens": read if read.__class__ is int else number(int, "input_tokens", read),
        "output_tokens": written
        if written.__class__ is int
        else number(int, "output_tokens", written),
        "cost_usd": number(float, "cost_usd", cost),
    }


def _status(error: BaseException) -> Literal["error", "incomplete"]:
    return "error" if isinstance(error, Exception) else "incomplete"


def _now() -> str:
    """Return the moment as ISO text."""
    return datetime.fromtimestamp(time.time(), UTC).isoformat()
