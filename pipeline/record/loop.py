"""An agent's loop over a client, recorded from what is sent and what comes back.

Requests and responses are read as objects or dicts in the shapes of OpenAI's chat completions and
Responses, and of Anthropic's messages; no client library is needed.

```python
loop = run.loop()
create = loop.wrap(client.chat.completions.create)  # or client.messages.create, responses.create
while True:
    response = create(model="m", messages=messages, tools=tools)
    ...  # answers go into `messages`, where the next request shows them, or: loop.result(id, …)
```
"""

from __future__ import annotations

import inspect
import threading
import time
import warnings
from collections import Counter
from itertools import count
from typing import TYPE_CHECKING, Any

import msgspec

from pipeline.errors import InputError
from pipeline.landing.chats.messages import text_of
from pipeline.record.line import raw, raw_labels
from pipeline.record.run import RecordWarning
from pipeline.record.shapes import plain, response_of, sent_of
from pipeline.record.spelling import spelled
from pipeline.record.steps import failure, new_step

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from pipeline.landing.chats.messages import ToolCall
    from pipeline.landing.chats.spoken import Heard
    from pipeline.record.line import RecordedStep
    from pipeline.record.recorder import Recorder
    from pipeline.record.steps import Open, Steps

_SYSTEM = ("system", "instructions")
_SENT = ("messages", "input")
_CONTINUES = ("previous_response_id", "conversation")
"""Members of a request that shows only what is new."""


class Loop:
    """Records one run's requests and responses. `Recorder.loop` makes it.

    A response is one `llm_call` and its `tool_call`s, which share a `response_index`; the last
    one without calls becomes the `final` when the run ends. A call is answered by `result`, by a
    later request that shows its result, or by a tool decorated with `@run.tool`: whichever comes
    first, and once.
    """

    def __init__(self, run: Recorder, steps: Steps) -> None:
        self._run = run
        self._steps = steps
        self._numbers = count()
        self._lock = threading.Lock()
        self._said: Counter[bytes] = Counter()

    def wrap(self, create: Callable[..., Any]) -> Callable[..., Any]:
        """Return a client's method that records each request and response, sync or async.

        An exception is recorded as a failed `llm_call` and goes on. What cannot be recorded, such
        as a response of a shape not known, is a `RecordWarning`, and goes on too.

        Raises:
            InputError: a call asks for a stream, of which nothing whole comes back: give what is
                sent to `request`, and what the stream sums up to (its final message) to `response`.
        """

        def recorded(*args: Any, **kwargs: Any) -> Any:
            if kwargs.get("stream"):
                raise InputError(
                    "a stream cannot be recorded as it flows: loop.request(**what is sent), "
                    "call the client itself, then loop.response(what the stream sums up to)"
                )
            self._try(self.request, **kwargs)
            begin = time.perf_counter()
            try:
                found = create(*args, **kwargs)
            except BaseException as error:
                self._failed(error, begin)
                raise
            if inspect.isawaitable(found):
                return self._later(found, begin)
            self._try(self.response, found, duration_ms=_since(begin))
            return found

        return recorded

    def request(self, **request: Any) -> None:
        """Record what is sent: the system prompt's hash, users' words, and results of calls.

        Takes what the client's method takes (`messages`, `system`, `input`, `instructions`, …);
        what an earlier request showed already is not recorded again.
        """
        for name in _SYSTEM:
            self._system(request.get(name))
        sent: Any = next((request[name] for name in _SENT if request.get(name)), [])
        anew = any(request.get(name) for name in _CONTINUES)
        seen: Counter[bytes] = Counter(self._said) if anew else Counter()
        for message in sent_of(sent):
            self._sent(message, seen)

    def response(self, response: Any, *, duration_ms: float | None = None) -> None:
        """Record one response and the calls it asks for.

        Raises:
            InputError: it has none of the known shapes.
        """
        told = response_of(response)
        self._run.saw_model(told.model)
        number = next(self._numbers)
        usage = told.usage
        labels = raw_labels(told.labels)
        before, answer = _around(told.said)
        self._steps.add(
            new_step(
                "llm_call",
                _text(before),
                response_index=number,
                duration_ms=duration_ms,
                input_tokens=usage.prompt_tokens if usage else None,
                output_tokens=usage.completion_tokens if usage else None,
                error=raw(told.error),
                labels=None if answer else labels,
            )
        )
        for call in (call for message in before for call in message.tool_calls or ()):
            self._asked(call, number)
        for message in before:
            if message.role == "tool":  # tools that the vendor runs answer in the response itself
                self._answered(message, whole=True)
        if answer:
            text = _text(answer)
            self._steps.add(new_step("llm_call", text, response_index=number, labels=labels))

    def result(
        self,
        call_id: str,
        output: Any = None,
        *,
        error: Any = None,
        duration_ms: float | None = None,
    ) -> None:
        """Record what a call returned; one that has its result already keeps it.

        Args:
            call_id: the id the response gave the call.
            output: what the tool returned.
            error: why it failed: an exception, a text, or True.
            duration_ms: how long it took.
        """
        self._end(self._steps.asked(str(call_id)), output, error, duration_ms)

    def _end(self, call: Open | None, output: Any, error: Any, duration_ms: float | None) -> None:
        if call is None:
            return
        failed, text = failure(error)
        value, why = raw(output), raw(text)

        def told(step: RecordedStep) -> None:
            step.output, step.is_error, step.error = value, failed, why
            step.duration_ms = duration_ms

        self._steps.end(call, told)

    async def _later(self, waited: Awaitable[Any], begin: float) -> Any:
        try:
            found = await waited
        except BaseException as error:
            self._failed(error, begin)
            raise
        self._try(self.response, found, duration_ms=_since(begin))
        return found

    def _failed(self, error: BaseException, begin: float) -> None:
        number = next(self._numbers)
        told = {"error": error, "duration_ms": _since(begin), "response_index": number}
        self._try(self._run.llm_call, **told)

    def _try(self, record: Callable[..., None], *args: Any, **told: Any) -> None:
        """Record what a client was given or gave; what cannot be recorded must not stop the agent."""
        try:
            record(*args, **told)
        except Exception as why:  # noqa: BLE001 - a response may be of any shape
            warnings.warn(f"not recorded: {why}", RecordWarning, stacklevel=3)

    def _system(self, given: Any) -> None:
        text = given if isinstance(given, str) else text_of(plain(given))
        if isinstance(text, str):
            self._run.system_prompt(text)

    def _sent(self, message: Heard, seen: Counter[bytes]) -> None:
        if message.role == "tool":
            told = [message.name, message.content]
            if message.tool_call_id is not None or self._is_new(told, seen):
                self._answered(message)
        elif message.role in ("system", "developer"):
            self._system(message.content)
        elif message.role == "user" and self._is_new(message.content, seen):
            self._run.message("user", message.content)

    def _is_new(self, told: Any, seen: Counter[bytes]) -> bool:
        """Tell whether a request shows this more often than all before; `seen` counts within it."""
        key = spelled(told)
        seen[key] += 1
        with self._lock:
            new = seen[key] > self._said[key]
            self._said[key] = max(seen[key], self._said[key])
        return new

    def _answered(self, message: Heard, *, whole: bool = False) -> None:
        """Record a result; `whole`: where it has no text, all of it."""
        if message.tool_call_id is None:
            call = self._steps.asked(None, message.name)
        else:
            call = self._steps.asked(str(message.tool_call_id))
        output = text_of(message.content)
        if output is None and whole:
            output = message.content
        self._end(call, output, message.failed, None)

    def _asked(self, call: ToolCall, number: int) -> None:
        name, given = call.target()
        args = b"{}" if isinstance(given, msgspec.UnsetType) else bytes(given)
        # Without an id it is answered by order, or by a decorated tool.
        call_id = None if call.id is None else str(call.id)
        step = new_step("tool_call", tool_name=name, call_id=call_id, response_index=number)
        self._steps.call(step, args, left_open="asked")


def _around(said: list[Heard]) -> tuple[list[Heard], list[Heard]]:
    """Part a response's answer from the calls before it, if the vendor has answered all of them."""
    asked = {call.id for message in said for call in message.tool_calls or ()}
    answered = {message.tool_call_id for message in said if message.role == "tool"}
    ends = [n for n, message in enumerate(said, 1) if message.role == "tool" or message.tool_calls]
    place = ends[-1] if asked and asked <= answered else len(said)
    return (said[:place], said[place:]) if _text(said[place:]) else (said, [])


def _text(said: list[Heard]) -> str | None:
    texts = [m.content for m in said if m.role == "assistant" and m.content is not None]
    return "\n".join(map(str, texts)) if texts else None


def _since(begin: float) -> float:
    return (time.perf_counter() - begin) * 1000
