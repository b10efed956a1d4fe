"""The recorder: what an agent's code calls to tell of one run, step by step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar, overload

from pipeline.record.line import raw, raw_labels
from pipeline.record.loop import Loop
from pipeline.record.run import Run
from pipeline.record.steps import new_step
from pipeline.record.tool import recorded
from pipeline.record.values import failure, number, spelled_arguments, whole

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pipeline.record.line import RecordedStep

    Function = TypeVar("Function", bound=Callable[..., Any])


class Recorder(Run):
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
            tool_name=name,
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

    @overload
    def tool(self, function: Function, *, name: str | None = None) -> Function: ...

    @overload
    def tool(
        self, function: None = None, *, name: str | None = None
    ) -> Callable[[Function], Function]: ...

    def tool(self, function: Any = None, *, name: str | None = None) -> Any:
        """Record every call of a function: its arguments, its time, its value or its exception.

        `@run.tool` or `@run.tool(name="search")`, on plain and async functions; exceptions go on
        to the caller. Of a generator, plain or async, what it yields is the output, and its time
        lasts until it is used up or closed. A call that a response asked for (see `loop`) is
        recorded once.
        """
        if function is None:
            return lambda given: recorded(self, self._steps, given, name)
        return recorded(self, self._steps, function, name)

    def loop(self) -> Loop:
        """Return the adapter that records a client's requests and responses."""
        return Loop(self, self._steps)

    def _add(self, step: RecordedStep) -> None:
        self._begun()
        self._steps.add(step)


_INT64 = (-(2**63), 2**63)


def _usage(read: Any, written: Any, cost: Any) -> dict[str, Any]:
    return {
        "input_tokens": whole("input_tokens", read, *_INT64),
        "output_tokens": whole("output_tokens", written, *_INT64),
        "cost_usd": number(float, "cost_usd", cost),
    }
