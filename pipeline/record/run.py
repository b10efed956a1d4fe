"""A run being recorded, from `with` to its line in the sink: what is known of it as a whole."""

from __future__ import annotations

import asyncio
import os
import time
import warnings
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal, Self
from uuid import uuid4

import msgspec

from pipeline.errors import InputError, RecordError
from pipeline.landing.chats.chat import prompt_hash
from pipeline.record.line import Line, raw, raw_expected, raw_labels
from pipeline.record.sink import Sink
from pipeline.record.spelling import name_of
from pipeline.record.steps import STOPPED, Steps, described, number, whole

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path
    from types import TracebackType

    from pipeline.record.line import RecordedStep

_encode = msgspec.json.encode


class RecordWarning(UserWarning):
    """Something could not be recorded; the agent's own work goes on."""


class Run:
    """One run: its fields, its beginning and its end. `Recorder` tells its steps."""

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
            run_id=name_of(run_id) or uuid4().hex,
            steps=[],
            task_id=name_of(task_id),
            trial=whole("trial", trial),
            suite=name_of(suite),
            agent=name_of(agent),
            agent_version=name_of(agent_version),
            model=name_of(model),
            expected=raw_expected(expected),
        )
        if system_prompt is not None:
            self.system_prompt(str(system_prompt))
        self._labels = dict(labels or {})
        self._steps = Steps()
        self._marker: Path | None = None
        self._told: bytes | None = None
        self._pid = os.getpid()

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

    def system_prompt(self, text: str) -> None:
        """Hash the system prompt, unless one is hashed already."""
        if self._line.prompt_hash is None and isinstance(text, str):
            self._line.prompt_hash = prompt_hash(name_of(text) or "")

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

    def saw_model(self, model: Any) -> None:
        """Take a model's name from its response, unless one is known."""
        if self._line.model is None and isinstance(model, str) and model:
            self._line.model = name_of(model)

    def __enter__(self) -> Self:
        if self._marker is not None:
            raise InputError(f"run {self.run_id!r} has begun already; each run is a new Recorder")
        begin = _now()
        self._pid = os.getpid()
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
        if os.getpid() != self._pid:
            return  # a forked child's copy: the run is its parent's to end
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
        if self._line.completed is None:
            self._line.completed = STOPPED not in (last.labels or {})

    def _encoded(self, steps: list[RecordedStep]) -> bytes:
        self._line.steps = steps  # type: ignore[assignment] # a list of what it lists
        self._line.labels = raw_labels(self._labels)
        return _encode(self._line)

    def _begun(self) -> Path:
        if self._marker is None:
            raise InputError("the run has not begun: `with Recorder(…) as run:` begins it")
        return self._marker


def _status(error: BaseException) -> Literal["error", "incomplete"]:
    return "error" if isinstance(error, Exception) else "incomplete"


def _now() -> str:
    """Return the moment as ISO text."""
    return datetime.fromtimestamp(time.time(), UTC).isoformat()
