"""The steps of one run as they come, from as many threads and tasks as there are."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import msgspec

from pipeline.errors import InputError
from pipeline.landing.values.canonical import arguments, call_key
from pipeline.record.line import RecordedStep, raw
from pipeline.record.repeats import Repeats
from pipeline.record.spelling import name_of, spelled, text_of_object

if TYPE_CHECKING:
    from collections.abc import Callable

    from pipeline.landing.model import Kind

UNANSWERED = "unanswered"
"""The label of a call that nothing had answered when the run ended."""
STOPPED = "stop_reason"
"""The label of a response that something stopped before its end."""


class Open(NamedTuple):
    """A call that has not returned yet."""

    step: RecordedStep
    key: int | None
    state: Literal["asked", "begun"]
    """Has a model's response asked for it, or is the tool at work?"""


class Steps:
    """Steps in the order they began; each is spelled as JSON at once."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.every: list[RecordedStep] = []
        self.closed = False
        self._repeats = Repeats()
        self._place = 0
        self._turn: int | None = None
        self._open: list[Open] = []

    def add(self, step: RecordedStep) -> None:
        """Take in a step.

        Raises:
            InputError: the run has ended.
        """
        with self.lock:
            self._add(step)

    def message(self, step: RecordedStep) -> None:
        """Take in what a user, or whoever else, said: a user's words open a turn."""
        with self.lock:
            if step.actor == "user":
                self._turn = 0 if self._turn is None else self._turn + 1
            self._add(step)

    def call(
        self,
        step: RecordedStep,
        args: bytes,
        *,
        left_open: Literal["asked", "begun"] | None = None,
    ) -> Open:
        """Take in a call of a tool, flagged if it repeats a recent one."""
        call = _keyed(step, args, left_open or "begun")
        with self.lock:
            self._called(call)
            if left_open is not None:
                self._open.append(call)
        return call

    def begun(self, step: RecordedStep, args: bytes) -> Open:
        """Take in a call that a tool begins itself: it may be one that a response asked for."""
        call = _keyed(step, args, "begun")
        with self.lock:
            fits = [c for c in self._asked() if c.step.tool_name == step.tool_name]
            same = next((c for c in fits if c.key == call.key), fits[0] if fits else None)
            if same is None:
                self._called(call)
            else:
                self._open.remove(same)
                call = same._replace(state="begun")
            self._open.append(call)
        return call

    def end(self, call: Open, told: Callable[[RecordedStep], None]) -> bool:
        """Let `told` fill in what a call returned; False where the run has ended before."""
        with self.lock:
            if self.closed:
                return False
            told(call.step)
            self._open = [other for other in self._open if other.step is not call.step]
            return True

    def asked(self, call_id: str | None, tool: str | None = None) -> Open | None:
        """Return the open call that a response asked for under this id: the first of the nearest.

        Without an id it is one that has none either, of that tool if it is named.
        """
        with self.lock:
            fits = [call for call in self._asked() if call.step.call_id == call_id]
            fits = [call for call in fits if tool is None or call.step.tool_name == tool]
        if not fits:
            return None
        nearest = fits[-1].step.response_index
        return next(call for call in fits if call.step.response_index == nearest)

    def final(self, step: RecordedStep) -> None:
        """Take in the answer; a model's response that said it already becomes the answer."""
        with self.lock:
            last = self.every[-1] if self.every else None
            if last is None or last.kind != "llm_call" or not _same(last.content, step.content):
                self._add(step)
                return
            last.kind = "final"
            for name in ("input_tokens", "output_tokens", "cost_usd", "duration_ms", "labels"):
                if getattr(last, name) is None:
                    setattr(last, name, getattr(step, name))

    def close(self) -> list[RecordedStep]:
        """End the run and return its steps."""
        with self.lock:
            self.closed = True
            for call in self._open:
                call.step.labels = {**(call.step.labels or {}), UNANSWERED: True}
            return self.every

    def _asked(self) -> list[Open]:
        return [call for call in self._open if call.state == "asked"]

    def _called(self, call: Open) -> None:
        self._add(call.step)
        if call.key is not None:
            call.step.reported_backtrack = self._repeats.seen(call.key, self._place)

    def _add(self, step: RecordedStep) -> None:
        if self.closed:
            raise InputError(f"the run has ended: its {step.kind} cannot be recorded any more")
        step.turn_index = self._turn if step.turn_index is None else step.turn_index
        self._place += step.kind != "message"
        self.every.append(step)


def _keyed(step: RecordedStep, args: bytes, state: Literal["asked", "begun"]) -> Open:
    """Give a call its arguments, and the key that landing will give it."""
    step.tool_args = msgspec.Raw(args)
    text = arguments(step.tool_args).key_text
    return Open(step, None if text is None else call_key(step.tool_name or "", text), state)


def new_step(
    kind: Kind,
    content: Any = None,
    *,
    tool_name: Any = None,
    call_id: Any = None,
    actor: Any = None,
    response_index: Any = None,
    duration_ms: float | None = None,
    **told: Any,
) -> RecordedStep:
    """Return a step that has just ended, or that begins now; moments are seconds since 1970."""
    step = RecordedStep(
        kind,
        tool_name=name_of(tool_name),
        call_id=name_of(call_id),
        actor=name_of(actor),
        response_index=whole("response_index", response_index),
        **told,
    )
    step.started_at = time.time()
    if content is not None:
        step.content = raw(content)
    if duration_ms is not None:
        step.duration_ms = number(float, "duration_ms", duration_ms)
        step.started_at -= max(0.0, step.duration_ms or 0.0) / 1000
    return step


def failure(error: Any) -> tuple[bool, Any]:
    """Return whether `error` tells of one, and its text: an exception, a text, True, or None.

    >>> failure(KeyError("x")), failure("sold out"), failure(True), failure(None)
    ((True, "KeyError: 'x'"), (True, 'sold out'), (True, None), (False, None))
    """
    if isinstance(error, BaseException):
        return True, described(error)
    if error is None or error is False or (isinstance(error, str) and not error):
        return False, None
    return True, None if error is True else error


def described(error: BaseException) -> str:
    """Return an exception as one text."""
    try:
        text = str(error)
    except Exception:  # noqa: BLE001 - an exception's own text may fail
        text = ""
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def whole(name: str, value: Any, low: int = 0, high: int = 2**32) -> int | None:
    """Return a whole number from low to below high, as the column takes it, or None.

    Raises:
        InputError: it is none, or out of range: landing would refuse the whole run.

    >>> whole("trial", 3), whole("trial", 3.0), whole("trial", None)
    (3, 3, None)
    """
    found: int | None = value if value.__class__ is int else number(int, name, value)
    if found is None or (low <= found < high and (found == value or isinstance(value, str))):
        return found
    least = f" from {low}" if low == 0 else ""
    raise InputError(
        f"{name} is {text_of_object(value)}; a whole number{least} below 2^{high.bit_length() - 1} "
        "was expected"
    )


def number(kind: Callable[[Any], Any], name: str, value: Any) -> Any:
    """Return a number of a step or run, or None.

    Raises:
        InputError: it is none.
    """
    if value is None:
        return None
    try:
        return kind(value)
    except (TypeError, ValueError, OverflowError):
        told = "whole number" if kind is int else "number"
        raise InputError(f"{name} is {text_of_object(value)}; a {told} was expected") from None


def _same(one: Any, other: Any) -> bool:
    """Tell whether two contents, as JSON, say the same; blanks around a text say nothing."""
    if one is None or other is None:
        return False
    found = [msgspec.json.decode(raw) for raw in (one, other)]
    texts = [value.strip() if isinstance(value, str) else value for value in found]
    return bool(texts[0] == texts[1])


def spelled_arguments(args: Any) -> bytes:
    """Return arguments as JSON; none are an empty object, text stays text."""
    return b"{}" if args is None else spelled(args)
