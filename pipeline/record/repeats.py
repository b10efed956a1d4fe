"""Backtracks flagged while the run goes on, as scoring flags them under the default policy."""

from __future__ import annotations

from pipeline.policy import DEFAULT


class Repeats:
    """The latest place of every call: an equal one within the window before is a backtrack.

    Places count the decision steps (`llm_call`, `tool_call`, `final`).

    >>> repeats = Repeats()
    >>> repeats.seen(key=7, place=1), repeats.seen(key=7, place=9), repeats.seen(key=7, place=18)
    (False, True, False)
    """

    def __init__(self) -> None:
        self._latest: dict[int, int] = {}
        self._window = DEFAULT.backtracking.window

    def seen(self, key: int, place: int) -> bool:
        """Take in a call and tell whether it repeats a recent one."""
        latest = self._latest.get(key)
        self._latest[key] = place
        return latest is not None and place - latest <= self._window
