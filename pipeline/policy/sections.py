"""The tables of a policy file, each one declared class: key, type and default."""

from __future__ import annotations

import re
from typing import Any, Literal

import msgspec

Mode = Literal["exact", "names", "actual_has_expected", "expected_has_actual"]


class Section(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A table of the policy file; keys at their default do not enter the hash."""


class Rule(Section, frozen=True):
    """`[[match.rule]]`: how the arguments of some tools are read before they are compared.

    `tool` and `arg` are globs; `arg` may be a dotted path. The first matching rule of each kind
    applies, on both sides, in the order of the fields here.
    """

    tool: str = "*"
    arg: str = "*"
    ignore: bool = False
    default: Any = msgspec.UNSET
    json: bool = False
    strip: bool = False
    case: Literal["lower"] | None = None
    number: bool = False
    date: bool = False
    datetime: bool = False
    round: int | None = None
    unordered: bool = False
    map: dict[str, Any] = {}
    tolerance: float | int | None = None
    pattern: Literal["regex"] | None = None


KINDS = tuple(name for name in Rule.__struct_fields__ if name not in ("tool", "arg"))
"""The kinds of rules, in the order they apply."""

PAIRWISE = ("tolerance", "pattern")
"""Kinds that compare two values instead of rewriting each: a relation, not an equality."""


class Match(Section, frozen=True):
    """`[match]`: when an actual call counts as an expected one."""

    args: Mode = "exact"
    tools: dict[str, Mode] = {}
    """Another mode for some tools, by glob; the first that fits applies."""
    unit: Literal["run", "turn"] = "run"
    parallel: Literal["ordered", "unordered"] = "ordered"
    actors: list[str] = []
    """Whose calls count, in every metric; empty: everyone's."""
    compare_args: bool = False
    """Compare only the arguments that a reference lists for comparison, where it lists any."""
    rule: list[Rule] = []


class Errors(Section, frozen=True):
    """`[errors]`: what fails besides what the format itself calls an error."""

    patterns: list[str] = []
    empty_output: bool = False


class Backtracking(Section, frozen=True):
    """`[backtracking]`: when a call counts as a repeat."""

    window: int = 8
    window_unit: Literal["steps", "calls"] = "steps"
    similarity: float | None = None
    exempt: list[str] = []
    progress_args: list[str] = []
    retries: Literal["count", "exempt"] = "count"
    abandon_patterns: list[str] = []


class Recovery(Section, frozen=True):
    """`[recovery]`: how soon after a failure a success counts."""

    max_steps: int = 5


class PathOptions(Section, frozen=True):
    """`[path]`: figures that cost more and are off unless asked for."""

    output_used: bool = False


class Composite(Section, frozen=True):
    """`[composite]`: the weights of the composite."""

    length: float = 0.20
    precision: float = 0.25
    backtracking: float = 0.15
    recovery: float = 0.15
    tokens: float = 0.10
    errors: float = 0.15


class Invariants(Section, frozen=True):
    """`[invariants]`: what no run may do."""

    forbidden_tools: list[str] = []
    allowed_tools: list[str] = []
    required_tools: list[str] = []
    max_steps: int | None = None
    max_calls: int | None = None
    max_repeats: int | None = None
    before: list[tuple[str, str]] = []


class EndStateCheck(Section, frozen=True):
    """`[[end_state.check]]`: a query over the final state that returns offenders."""

    name: str = ""
    sql: str = ""


class EndState(Section, frozen=True):
    """`[end_state]`: what the final state must satisfy beside the task's expected state."""

    check: list[EndStateCheck] = []


class Scores(Section, frozen=True):
    """`[scores]`: what is worked out and written; less is cheaper, every night."""

    metrics: list[str] = []
    """Names of metrics, or globs such as `f1*`; empty: all."""
    calls: bool = True
    """Mark every tool call too: repeats, retries, loops, the expected call it matched."""


class UserMetric(Section, frozen=True):
    """`[[metric]]`: a metric of the user's own, as SQL over score and run columns."""

    name: str = ""
    sql: str = ""
    direction: Literal["higher", "lower", "neither"] = "higher"

    def words(self) -> frozenset[str]:
        """Return the words of its SQL in lower case: every column it reads is among them."""
        return frozenset(re.findall(r"\w+", self.sql.lower()))


def rule_of_kind(rule: Rule, kind: str) -> bool:
    """Tell whether a rule says something of that kind."""
    value = getattr(rule, kind)
    if kind == "default":
        return value is not msgspec.UNSET
    return value is not None and value is not False and value != {}
