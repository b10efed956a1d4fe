"""The policy: what makes two calls the same, and what counts as a good path. One TOML file.

Every key has a default, and the default policy compares exactly: nothing is trimmed, folded or
coerced unless a rule says so. A policy's hash names its scores, so that two policies live side by
side in one lake and can be compared.
"""

from __future__ import annotations

import re
import tomllib
from math import inf, isfinite
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

import msgspec
from xxhash import xxh3_128_hexdigest

from pipeline.criteria import are_criteria, convert
from pipeline.errors import InputError, SourceNotFoundError, UnknownNameError

PRESET = "preset:"
PRESETS = Path(__file__).parent / "presets"

Mode = Literal["exact", "names", "actual_has_expected", "expected_has_actual"]


MOST = 2**31 - 1
"""The greatest number of steps, calls or repeats that a policy may name."""

MOST_DECIMALS = 400
"""Beyond what a double can have, before or after its point."""

MOST_NAMED = 4
"""So many metrics a header names; of more it says how many."""


class _Section(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A table of the policy file; keys at their default do not enter the hash."""


class Rule(_Section, frozen=True):
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


class Match(_Section, frozen=True):
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


class Errors(_Section, frozen=True):
    """`[errors]`: what fails besides what the format itself calls an error."""

    patterns: list[str] = []
    empty_output: bool = False


class Backtracking(_Section, frozen=True):
    """`[backtracking]`: when a call counts as a repeat."""

    window: int = 8
    window_unit: Literal["steps", "calls"] = "steps"
    similarity: float | None = None
    exempt: list[str] = []
    progress_args: list[str] = []
    retries: Literal["count", "exempt"] = "count"
    abandon_patterns: list[str] = []


class Recovery(_Section, frozen=True):
    """`[recovery]`: how soon after a failure a success counts."""

    max_steps: int = 5


class PathOptions(_Section, frozen=True):
    """`[path]`: figures that cost more and are off unless asked for."""

    output_used: bool = False


class Composite(_Section, frozen=True):
    """`[composite]`: the weights of the composite."""

    length: float = 0.20
    precision: float = 0.25
    backtracking: float = 0.15
    recovery: float = 0.15
    tokens: float = 0.10
    errors: float = 0.15


class Invariants(_Section, frozen=True):
    """`[invariants]`: what no run may do."""

    forbidden_tools: list[str] = []
    allowed_tools: list[str] = []
    required_tools: list[str] = []
    max_steps: int | None = None
    max_calls: int | None = None
    max_repeats: int | None = None
    before: list[tuple[str, str]] = []


class EndStateCheck(_Section, frozen=True):
    """`[[end_state.check]]`: a query over the final state that returns offenders."""

    name: str = ""
    sql: str = ""


class EndState(_Section, frozen=True):
    """`[end_state]`: what the final state must satisfy beside the task's expected state."""

    check: list[EndStateCheck] = []


class Scores(_Section, frozen=True):
    """`[scores]`: what is worked out and written; less is cheaper, every night."""

    metrics: list[str] = []
    """Names of metrics, or globs such as `f1*`; empty: all."""
    calls: bool = True
    """Mark every tool call too: repeats, retries, loops, the expected call it matched."""


class UserMetric(_Section, frozen=True):
    """`[[metric]]`: a metric of the user's own, as SQL over score and run columns."""

    name: str = ""
    sql: str = ""
    direction: Literal["higher", "lower", "neither"] = "higher"


class Policy(_Section, frozen=True):
    """A whole policy."""

    match: Match = Match()
    errors: Errors = Errors()
    backtracking: Backtracking = Backtracking()
    recovery: Recovery = Recovery()
    path: PathOptions = PathOptions()
    composite: Composite = Composite()
    invariants: Invariants = Invariants()
    end_state: EndState = EndState()
    scores: Scores = Scores()
    metric: list[UserMetric] = []

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


DEFAULT = Policy()


def presets() -> list[str]:
    """Return the names of the policies that ship with trajtab."""
    return sorted({"default", *(path.stem for path in PRESETS.glob("*.toml"))})


def load(named: str | None, where: str = "") -> Policy:
    """Return the policy of a TOML file, a `preset:NAME`, or the default for None.

    A file of ADK criteria is taken for the policy it means.

    Raises:
        SourceNotFoundError: there is no such file.
        UnknownNameError: a key or preset nobody knows.
        InputError: the file is no TOML, or a value is outside what the key allows.
    """
    if named is None or named == f"{PRESET}default":
        return DEFAULT
    if named.startswith(PRESET):
        name = named.removeprefix(PRESET)
        if name not in presets():
            raise UnknownNameError.among("preset", name, presets())
        path = PRESETS / f"{name}.toml"
    else:
        path = Path(named)
    if not path.is_file():
        raise SourceNotFoundError(f"{named}: no such policy file{where}")
    content = path.read_bytes()
    try:
        text = convert(content, named).policy if are_criteria(content) else content.decode()
        told = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{named}: no TOML: {error}") from error
    return parse(told, named)


def parse(told: dict[str, Any], where: str) -> Policy:
    """Turn the content of a policy file into a policy.

    Raises:
        UnknownNameError: a key nobody knows, or a metric.
        InputError: a value is outside what its key allows.
    """
    _refuse_unknown(told, Policy, where, "")
    try:
        policy = msgspec.convert(told, Policy)
    except msgspec.ValidationError as error:
        raise InputError(f"{where}: {_plain(str(error))}") from error
    for problem in _problems(policy):
        raise InputError(f"{where}: {problem}")
    if policy.scores.metrics:
        from pipeline.metrics.registry import scored  # noqa: PLC0415 - which knows policies

        scored(policy)
    return policy


def _read_again(told: dict[str, Any]) -> Policy:
    return msgspec.convert(told, Policy)


def _problems(policy: Policy) -> list[str]:
    back = policy.backtracking
    least = {
        "backtracking.window": (back.window, 1),
        "recovery.max_steps": (policy.recovery.max_steps, 1),
        "invariants.max_steps": (policy.invariants.max_steps, 0),
        "invariants.max_calls": (policy.invariants.max_calls, 0),
        "invariants.max_repeats": (policy.invariants.max_repeats, 0),
    }
    found = [
        f"{key} is {number}; a number from {low} to {MOST} is needed"
        for key, (number, low) in least.items()
        if number is not None and not low <= number <= MOST
    ]
    if back.similarity is not None and not 0 < back.similarity <= 1:
        found.append(f"backtracking.similarity is {back.similarity}; above 0, at most 1 is needed")
    weights = msgspec.structs.astuple(policy.composite)
    if not all(isfinite(weight) and weight >= 0 for weight in weights) or not any(weights):
        found.append("composite: weights must be numbers, not negative, nor all 0")
    for key, patterns in (
        ("errors.patterns", policy.errors.patterns),
        ("backtracking.abandon_patterns", back.abandon_patterns),
    ):
        found += [
            f"{key}: {text!r} is no regular expression: {why}" for text, why in _bad_regex(patterns)
        ]
    found += [
        f"match.rule {number}: says nothing; give it one of {', '.join(KINDS)}"
        for number, rule in enumerate(policy.match.rule, 1)
        if not any(rule_of_kind(rule, kind) for kind in KINDS)
    ]
    found += [
        f"match.rule {number}: round is {rule.round}; from -{MOST_DECIMALS} to {MOST_DECIMALS} is needed"
        for number, rule in enumerate(policy.match.rule, 1)
        if rule.round is not None and abs(rule.round) > MOST_DECIMALS
    ]
    found += [
        f"match.rule {number}: tolerance is {rule.tolerance}; a number of at least 0 is needed"
        for number, rule in enumerate(policy.match.rule, 1)
        if rule.tolerance is not None and not 0 <= rule.tolerance < inf
    ]
    found += [
        f"match.rule {number}: default needs one argument's name, not the pattern {rule.arg!r}"
        for number, rule in enumerate(policy.match.rule, 1)
        if rule.default is not msgspec.UNSET and any(mark in rule.arg for mark in "*?[")
    ]
    found += [
        f"metric {number}: needs a name and sql"
        for number, m in enumerate(policy.metric, 1)
        if not (m.name and m.sql)
    ]
    found += [
        f"end_state.check {number}: needs a name and sql"
        for number, check in enumerate(policy.end_state.check, 1)
        if not (check.name and check.sql)
    ]
    return found


def rule_of_kind(rule: Rule, kind: str) -> bool:
    """Tell whether a rule says something of that kind."""
    value = getattr(rule, kind)
    if kind == "default":
        return value is not msgspec.UNSET
    return value is not None and value is not False and value != {}


def _bad_regex(patterns: list[str]) -> list[tuple[str, str]]:
    bad = []
    for text in patterns:
        try:
            re.compile(text)
        except re.error as error:
            bad.append((text, str(error)))
    return bad


def _refuse_unknown(
    told: dict[str, Any], kind: type[msgspec.Struct], where: str, inside: str
) -> None:
    hints = get_type_hints(kind)
    for key, value in told.items():
        if key not in hints:
            raise UnknownNameError.among(
                "key", inside + key, [inside + name for name in hints], f" in {where}"
            )
        for struct in (hints[key], *get_args(hints[key])):
            if isinstance(struct, type) and issubclass(struct, msgspec.Struct):
                for part in value if isinstance(value, list) else [value]:
                    if isinstance(part, dict):
                        _refuse_unknown(part, struct, where, f"{inside}{key}.")


_WORD = re.compile(r"Invalid enum value (.*) - at `\$\.(.*)`")


def _plain(message: str) -> str:
    """Say what a value is and what it may be, where it is one word of several."""
    if (found := _WORD.fullmatch(message)) is None:
        return re.sub(r" - at `\$\.?(.*)`", r" at \1", message)
    value, key = found.groups()
    hint: Any = Policy
    for name in re.sub(r"\[[^]]*\]", "", key).split("."):
        structs = [kind for kind in (hint, *get_args(hint)) if hasattr(kind, "__struct_fields__")]
        hint = get_type_hints(structs[0])[name]
    return f"{key} is {value}; {' | '.join(_words(hint))} is needed"


def _words(hint: Any) -> list[str]:
    """Return the words that a type allows, however deep they stand in it."""
    if get_origin(hint) is Literal:
        return list(get_args(hint))
    return [word for part in get_args(hint) for word in _words(part)]
