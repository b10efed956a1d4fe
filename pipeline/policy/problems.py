"""What is wrong with a policy that its types cannot tell."""

from __future__ import annotations

from math import inf, isfinite
from typing import TYPE_CHECKING, Any

import msgspec

from pipeline.policy.sections import KINDS, rule_of_kind
from pipeline.text import regular_expression

if TYPE_CHECKING:
    from pipeline.policy.whole import Policy

MOST = 2**31 - 1
"""The greatest number of steps, calls or repeats that a policy may name."""
MOST_WEIGHT = 1e9
"""Weights are brought to whole numbers of equal proportions, and those to doubles."""
MOST_DECIMALS = 400
"""Beyond what a double can have, before or after its point."""


def problems(policy: Policy) -> list[str]:
    """Return what is wrong, in words that follow the name of the file."""
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
    found += [
        f"composite.{name} is {weight:g}; 0, or from {1 / MOST_WEIGHT:g} to {MOST_WEIGHT:g} is needed"
        for name, weight in msgspec.structs.asdict(policy.composite).items()
        if 0 < weight < 1 / MOST_WEIGHT or MOST_WEIGHT < weight < inf
    ]
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
        f"match.rule {number}: {kind} holds nan or inf, which no JSON argument can be"
        for number, rule in enumerate(policy.match.rule, 1)
        for kind in ("default", "map")
        if rule_of_kind(rule, kind) and not _spellable(getattr(rule, kind))
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


def _spellable(value: Any) -> bool:
    """Tell whether JSON can spell a value: TOML has numbers that JSON has not."""
    if isinstance(value, float):
        return isfinite(value)
    if isinstance(value, dict):
        return all(map(_spellable, value.values()))
    return all(map(_spellable, value)) if isinstance(value, list) else True


def _bad_regex(patterns: list[str]) -> list[tuple[str, str]]:
    bad = []
    for text in patterns:
        try:
            regular_expression(text)
        except ValueError as error:
            bad.append((text, str(error)))
    return bad
