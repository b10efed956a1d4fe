"""Results told to a model, given to the calls of a trace that no span answered."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.landing.trace_requests import Fresh

if TYPE_CHECKING:
    from pipeline.landing.model import Step
    from pipeline.landing.said import Result, Said


class Unanswered:
    """The calls of a trace without an output so far, in the order they began."""

    def __init__(self) -> None:
        self._calls: list[Step] = []
        self._fresh = Fresh()

    def add(self, call: Step) -> None:
        """Take in a call."""
        self._calls.append(call)

    def drop(self, call: Step) -> None:
        """Leave out a call that a span tells of after all."""
        self._calls = [one for one in self._calls if one is not call]

    def hear(self, heard: list[Said]) -> None:
        """Give the results in what a model was told to their calls, each result once."""
        told = [result for one in heard for result in one.results]
        if not told:
            return
        keys = (result.id or result.name for result in told)
        for result, new in zip(told, self._fresh(keys), strict=True):
            call = self._answered(result) if new else None
            if call is not None:
                call.output = result.output
                call.is_error = result.failed if call.is_error is None else call.is_error

    def _answered(self, result: Result) -> Step | None:
        """Find the nearest earlier call without an output that a result belongs to."""
        silent = self._calls = [step for step in self._calls if step.output is None]
        fits = [step for step in silent if result.id and step.call_id == result.id]
        by_order = (
            step
            for step in silent
            if not (result.id and step.call_id) and result.name in {None, step.tool_name}
        )
        return fits[-1] if fits else next(by_order, None)
