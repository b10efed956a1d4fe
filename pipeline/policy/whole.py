"""A whole policy: its sections, the hash that names its scores, what headers say of it."""

from __future__ import annotations

from typing import Any

import msgspec
from xxhash import xxh3_128_hexdigest

from pipeline.policy.sections import (
    Backtracking,
    Composite,
    EndState,
    Errors,
    Invariants,
    Match,
    PathOptions,
    Recovery,
    Scores,
    Section,
    UserMetric,
)

MOST_NAMED = 4
"""So many metrics a header names; of more it says how many."""


class Policy(Section, frozen=True):
    """A whole policy: what makes calls equal, what an error or a repeat is, what is scored.

    Each section is one of the policy's file, and has a default; `pipeline.policy.load` reads one.

    >>> policy = Policy(match=Match(args="names"))
    >>> policy.match.args, policy.backtracking.window
    ('names', 8)
    >>> policy.hash == Policy().hash
    False
    """

    match: Match = Match()
    errors: Errors = Errors()
    backtracking: Backtracking = Backtracking()
    recovery: Recovery = Recovery()
    path: PathOptions = PathOptions()
    composite: Composite = Composite()
    invariants: Invariants = Invariants()
    end_state: EndState = EndState()
    scores: Scores = Scores()
    metric: list[UserMetric] = msgspec.field(default_factory=list)

    def __reduce__(self) -> tuple[Any, ...]:
        # A default is told from an equal value by identity, which a copy made by pickle has lost.
        return _read_again, (msgspec.to_builtins(self),)

    @property
    def hash(self) -> str:
        """The hash that names the scores made under this policy."""
        # In the order of the file: of the globs in match.tools the first that fits counts.
        told = {name: part for name, part in msgspec.to_builtins(self).items() if part}
        return xxh3_128_hexdigest(msgspec.json.encode(told))[:16]

    @property
    def title(self) -> str:
        """What every header says of the policy in use."""
        match = self.match
        modes = [f"args {match.args}", *(f"{tool} {mode}" for tool, mode in match.tools.items())]
        said = [", ".join(modes)]
        if match.rule:
            said.append(f"{len(match.rule)} rules")
        if match.unit != "run":
            said.append("by turn")
        if match.parallel != "ordered":
            said.append("parallel calls unordered")
        if match.actors:
            said.append(f"actors {', '.join(match.actors)}")
        said.append(f"window {self.backtracking.window} {self.backtracking.window_unit}")
        if named := self.scores.metrics:
            few = len(named) <= MOST_NAMED
            said.append(f"only {', '.join(named) if few else f'{len(named)} metrics'}")
        return f"{'; '.join(said)} [{self.hash}]"


def _read_again(told: dict[str, Any]) -> Policy:
    return msgspec.convert(told, Policy)


DEFAULT = Policy()
