"""Results told to models, given to the calls of a trace that no span answered."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.landing.traces.requests import Fresh

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pipeline.landing.chats.said import Result, Said
    from pipeline.landing.model import Step


class Results:
    """Calls that wait for an output, and the latest call of each id.

    A request repeats what was told in those before it: only what is new can be an answer.
    """

    def __init__(self) -> None:
        self._silent: list[Step] = []
        self._by_id: dict[str, Step] = {}
        self._fresh = Fresh()

    def know(self, call: Step) -> None:
        """Remember that a call of this id is there, answered or not."""
        if call.call_id:
            self._by_id[call.call_id] = call

    def wait_for_output(self, call: Step) -> None:
        """Let a call wait for its output."""
        self._silent.append(call)

    def forget(self, call: Step) -> None:
        """Let a call wait no longer: another step stands for it."""
        self._silent = [one for one in self._silent if one is not call]

    def tell(self, heard: Iterable[Said]) -> None:
        """Give the results in messages told to a model to the calls that wait for them."""
        told = [result for one in heard for result in one.results]
        if not told:
            return
        keys = (result.id or result.name for result in told)
        for result, new in zip(told, self._fresh(keys), strict=True):
            if not new:
                continue
            call = self._answered(result)
            if call is not None:
                call.output = result.output
                call.is_error = result.failed if call.is_error is None else call.is_error
            # A span that ended well says that the tool returned, not that its call worked.
            call = call or self._by_id.get(result.id or "")
            if call is not None and result.failed:
                call.is_error = True

    def _answered(self, result: Result) -> Step | None:
        """Find the nearest earlier call without an output that a result belongs to."""
        latest = self._by_id.get(result.id or "")
        if latest is not None and latest.output is not None:
            return None  # its call has been answered; an attempt before it that failed never is
        silent = self._silent = [step for step in self._silent if step.output is None]
        fits = [step for step in silent if result.id and step.call_id == result.id]
        if not fits and result.id in self._by_id:
            return None  # its call has been answered
        by_order = (
            step
            for step in silent
            if not (result.id and step.call_id) and result.name in {None, step.tool_name}
        )
        return fits[-1] if fits else next(by_order, None)
