"""Tools that record themselves: timed, caught, and raised again."""

from __future__ import annotations

import functools
import inspect
import time
import warnings
from typing import TYPE_CHECKING, Any, Self

from pipeline.record.line import raw
from pipeline.record.run import RecordWarning
from pipeline.record.spelling import spelled
from pipeline.record.steps import failure, new_step

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from pipeline.record.line import RecordedStep
    from pipeline.record.run import Run
    from pipeline.record.steps import Steps


def recorded(
    run: Run, steps: Steps, function: Callable[..., Any], name: str | None
) -> Callable[..., Any]:
    """Return `function` with its calls recorded."""
    called = str(name or getattr(function, "__name__", type(function).__name__))
    read = _reader(function)
    call = getattr(type(function), "__call__", None)  # noqa: B004 - an object with an async call
    if inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(call):

        @functools.wraps(function)
        async def later(*args: Any, **kwargs: Any) -> Any:
            with _Timed(run, steps, called, read(args, kwargs)) as timed:
                timed.value = await function(*args, **kwargs)
            return timed.value

        return later

    @functools.wraps(function)
    def now(*args: Any, **kwargs: Any) -> Any:
        with _Timed(run, steps, called, read(args, kwargs)) as timed:
            timed.value = function(*args, **kwargs)
        return timed.value

    return now


class _Timed:
    """One call, from its beginning to its value or exception."""

    def __init__(self, run: Run, steps: Steps, name: str, args: dict[str, Any]) -> None:
        self.value: Any = None
        self._run, self._steps, self._name = run, steps, name
        # Spelled before the tool runs: it may change what it is given.
        self._args = spelled(args)

    def __enter__(self) -> Self:
        self._call = None
        if not self._steps.closed:
            step = new_step("tool_call", tool_name=self._name)
            self._call = self._steps.begun(step, self._args)
        self._begin = time.perf_counter()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        passed = (time.perf_counter() - self._begin) * 1000
        failed, text = failure(error)
        value, why = raw(self.value), raw(text)

        def told(step: RecordedStep) -> None:
            step.output, step.error, step.is_error = value, why, failed
            step.duration_ms = passed

        if self._call is None or not self._steps.end(self._call, told):
            _warn(self._run, self._name)


def _warn(run: Run, name: str) -> None:

    told = f"run {run.run_id!r} has ended: a call of {name!r} is not recorded"
    warnings.warn(told, RecordWarning, stacklevel=4)


def _reader(function: Callable[..., Any]) -> Callable[[tuple[Any, ...], dict[str, Any]], Any]:
    """Return what names the arguments of a call: by the function's own signature, where it has one."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return _unnamed
    rest = [p.name for p in signature.parameters.values() if p.kind is p.VAR_KEYWORD]

    def read(args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        if not args:
            return kwargs
        try:
            found = dict(signature.bind(*args, **kwargs).arguments)
        except TypeError:  # the call itself will say so
            return _unnamed(args, kwargs)
        for name in rest:
            found |= found.pop(name, {})
        return found

    return read


def _unnamed(args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    return {**kwargs, **({"args": list(args)} if args else {})}
