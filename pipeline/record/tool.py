"""Tools that record themselves: timed, caught, and raised again."""

from __future__ import annotations

import contextlib
import functools
import inspect
import time
import types
import warnings
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Generator
from typing import TYPE_CHECKING, Any, Self

from pipeline.record.line import raw
from pipeline.record.run import RecordWarning
from pipeline.record.spelling import spelled
from pipeline.record.steps import new_step
from pipeline.record.values import failure

if TYPE_CHECKING:
    from types import TracebackType

    from pipeline.record.line import RecordedStep
    from pipeline.record.run import Run
    from pipeline.record.steps import Steps


def recorded(
    run: Run, steps: Steps, function: Callable[..., Any], name: str | None
) -> Callable[..., Any]:
    """Return `function` with its calls recorded."""
    called = str(name or _name(function))
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
        timed = _Timed(run, steps, called, read(args, kwargs))
        try:
            found = function(*args, **kwargs)
        except BaseException as error:
            timed.end(error)
            raise
        follow = _FOLLOWED.get(type(found))
        if follow is not None:
            return follow(found, timed)
        timed.value = found
        timed.end()
        return found

    return now


def _name(function: Any) -> str:
    """Return what a function is called; a partial one by the function it fills in.

    >>> _name(functools.partial(len, [])), _name(sorted)
    ('len', 'sorted')
    """
    while isinstance(function, functools.partial):
        function = function.func
    return getattr(function, "__name__", type(function).__name__)


async def _awaited(coroutine: Coroutine[Any, Any, Any], timed: _Timed) -> Any:
    with timed:
        timed.value = await coroutine
    return timed.value


def _iterated(generator: Generator[Any, Any, Any], timed: _Timed) -> Generator[Any, Any, Any]:
    with timed:
        timed.value = []
        return (yield from _Noted(generator, timed.value))


async def _iterated_later(generator: AsyncGenerator[Any, Any], timed: _Timed) -> AsyncIterator[Any]:
    with timed:
        timed.value = []
        async with contextlib.aclosing(generator) as items:
            async for item in items:
                timed.value.append(raw(item))
                yield item


_FOLLOWED: dict[type, Callable[[Any, _Timed], Any]] = {
    types.CoroutineType: _awaited,
    types.GeneratorType: _iterated,
    types.AsyncGeneratorType: _iterated_later,
}
"""What a function may return with its work still to be done, and how it is recorded to its end."""


class _Noted(Generator[Any, Any, Any]):
    """A generator whose items are noted as they pass."""

    def __init__(self, generator: Generator[Any, Any, Any], items: list[Any]) -> None:
        self._generator, self._items = generator, items

    def send(self, value: Any) -> Any:
        return self._note(self._generator.send(value))

    def throw(self, *error: Any) -> Any:
        return self._note(self._generator.throw(*error))

    def _note(self, item: Any) -> Any:
        self._items.append(raw(item))
        return item


class _Timed:
    """One call, from its beginning to its value or exception."""

    def __init__(self, run: Run, steps: Steps, name: str, args: dict[str, Any]) -> None:
        self.value: Any = None
        self._run, self._steps, self._name = run, steps, name
        self._call = None
        if not steps.closed:
            # Spelled before the tool runs: it may change what it is given.
            given = spelled(args)
            self._call = steps.begun(new_step("tool_call", tool_name=name), given)
        self._begin = time.perf_counter()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # Whoever stops taking a generator's items has had enough: nothing failed.
        self.end(None if isinstance(error, GeneratorExit) else error, above=1)

    def end(self, error: BaseException | None = None, *, above: int = 0) -> None:
        """Record what came of it; `above` is how many calls away whoever is warned is."""
        passed = (time.perf_counter() - self._begin) * 1000
        failed, text = failure(error)
        value, why = raw(self.value), raw(text)

        def told(step: RecordedStep) -> None:
            step.output, step.error, step.is_error = value, why, failed
            step.duration_ms = passed

        if self._call is None or not self._steps.end(self._call, told):
            lost = f"run {self._run.run_id!r} has ended: a call of {self._name!r} is not recorded"
            warnings.warn(lost, RecordWarning, stacklevel=3 + above)


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
