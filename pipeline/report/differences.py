"""Two calls of one tool under a policy: which arguments differ, or which rule made them equal."""

from __future__ import annotations

from functools import cache, partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from pipeline.landing.values.canonical import canonical_json
from pipeline.redact import MASK, redact
from pipeline.report.reasons import Arguments, Facing, applying, read, reason
from pipeline.scoring.rules import Rules

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeline.policy import Match

_ABSENT: Any = object()


class Difference(NamedTuple):
    """One argument that keeps two calls from being equal, as compared: after the rules."""

    path: str
    """Dotted, `[i]` for elements of lists; empty for arguments that are no JSON object."""
    what: Literal["changed", "missing", "unexpected"]
    expected: str | None
    """JSON text, secrets masked; null: not there."""
    actual: str | None
    rules: list[str]
    """The policy's rules that apply to the path and did not make the values equal."""


class _Place(NamedTuple):
    """Where in the arguments a value stands: for rules, and for people."""

    keys: tuple[str, ...]
    shown: str

    def key(self, name: str) -> _Place:
        return _Place((*self.keys, name), f"{self.shown}.{name}" if self.shown else name)

    def element(self, index: int) -> _Place:
        return _Place(self.keys, f"{self.shown}[{index}]")

    def around(self, value: Any) -> Any:
        """Return arguments with this value in its place and nothing else."""
        for name in reversed(self.keys):
            value = {name: value}
        return value


class Differences:
    """Compares calls under the `[match]` of a policy."""

    def __init__(self, match: Match) -> None:
        self.rules = Rules(match)
        self._match = match
        self.between = cache(self._between)
        self.reason = cache(partial(reason, match))
        self._texts = cache(self._read_texts)

    def distance(self, calls: Facing) -> int:
        """Return in how many top-level arguments the calls differ as texts, after the rules."""
        e, a = self._texts(calls.tool, calls.expected), self._texts(calls.tool, calls.actual)
        return len({name for name, _ in e ^ a})

    def _read_texts(self, tool: str, side: Arguments) -> frozenset[tuple[str, str]]:
        if side.status != "ok":
            return frozenset()
        read_args = read(self.rules, tool, side)
        return frozenset((name, canonical_json(value)) for name, value in read_args.items())

    def _between(self, calls: Facing) -> list[Difference]:
        """Return what keeps the calls from being equal, by path; none where arguments are hidden."""
        statuses = {calls.expected.status, calls.actual.status}
        if statuses & {"any", "not_captured"}:
            return []
        if "invalid" in statuses:
            if calls.expected == calls.actual:
                return []
            texts = [redact(side.text or "") for side in (calls.expected, calls.actual)]
            return [Difference("", "changed", texts[0], texts[1], [])]
        e, a = (read(self.rules, calls.tool, side) for side in calls[1:3])
        return [
            found
            for key in self._keys(calls, e, a)
            for found in self._below(
                calls.tool, _Place((), "").key(key), e.get(key, _ABSENT), a.get(key, _ABSENT)
            )
        ]

    def _keys(self, calls: Facing, e: dict[str, Any], a: dict[str, Any]) -> list[str]:
        """Return the top-level arguments that the mode looks at."""
        sides = {"actual_has_expected": e.keys(), "expected_has_actual": a.keys()}
        chosen = sides.get(self.rules.mode(calls.tool), e.keys() | a.keys())
        if calls.compared is not None:
            chosen = (e.keys() | a.keys()) & set(calls.compared)
        return sorted(chosen)

    def _below(self, tool: str, place: _Place, e: Any, a: Any) -> Iterator[Difference]:
        """Yield the innermost differences."""
        if e is _ABSENT or a is _ABSENT:
            yield self._told(tool, place, "unexpected" if e is _ABSENT else "missing", e, a)
        elif self.rules.fits(tool, place.around(e), place.around(a), None):
            return
        elif isinstance(e, dict) and isinstance(a, dict):
            for name in sorted(e.keys() | a.keys()):
                yield from self._below(
                    tool, place.key(name), e.get(name, _ABSENT), a.get(name, _ABSENT)
                )
        elif self._in_step(tool, place, e, a):
            for index, (of_e, of_a) in enumerate(zip(e, a, strict=True)):
                yield from self._below(tool, place.element(index), of_e, of_a)
        else:
            yield self._told(tool, place, "changed", e, a)

    def _in_step(self, tool: str, place: _Place, e: Any, a: Any) -> bool:
        """Tell whether two lists compare element by element."""
        lists = isinstance(e, list) and isinstance(a, list) and len(e) == len(a)
        return lists and "unordered" not in applying(self._match, tool, ".".join(place.keys))

    def _told(
        self,
        tool: str,
        place: _Place,
        what: Literal["changed", "missing", "unexpected"],
        e: Any,
        a: Any,
    ) -> Difference:
        applied = applying(self._match, tool, ".".join(place.keys)).values()
        name = place.keys[-1]
        return Difference(
            redact(place.shown), what, _told_value(name, e), _told_value(name, a), list(applied)
        )


def _told_value(name: str, value: Any) -> str | None:
    """Return a value as JSON; its own name tells whether it is a secret."""
    if value is _ABSENT:
        return None
    head = f"{canonical_json(name)}:"
    clean = redact(head + canonical_json(value))
    return clean.removeprefix(head) if clean.startswith(head) else MASK
