"""Rewriting arguments wherever the path of a rule leads; the elements of a list share its path."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from pipeline.landing.values.canonical import canonical_json

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pipeline.policy import Rule


def first(rules: Sequence[Rule], path: str) -> Rule | None:
    """Return the first rule whose path fits, if any."""
    return next((rule for rule in rules if fnmatchcase(path, rule.arg)), None)


def _below(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key


def without(value: Any, path: str, rules: Sequence[Rule]) -> Any:
    """Drop the ignored arguments."""
    if not rules:
        return value
    if isinstance(value, dict):
        return {
            key: without(inner, _below(path, key), rules)
            for key, inner in value.items()
            if not first(rules, _below(path, key))
        }
    return [without(inner, path, rules) for inner in value] if isinstance(value, list) else value


def with_default(value: Any, path: Sequence[str], default: Any) -> Any:
    """Fill in a missing argument; a missing object on the way to it stays missing."""
    if isinstance(value, list):
        return [with_default(inner, path, default) for inner in value]
    if not isinstance(value, dict):
        return value
    key, *rest = path
    if rest:
        return {**value, key: with_default(value[key], rest, default)} if key in value else value
    return value if key in value else {**value, key: default}


def changed(
    value: Any, path: str, rules: Sequence[Rule], change: Callable[[Any, Rule], Any]
) -> Any:
    """Apply a scalar rule wherever its path leads; the elements of a list share its path."""
    if not rules:
        return value
    if isinstance(value, dict):
        return {
            key: changed(inner, _below(path, key), rules, change) for key, inner in value.items()
        }
    if isinstance(value, list):
        return [changed(inner, path, rules, change) for inner in value]
    rule = first(rules, path)
    return value if rule is None else change(value, rule)


def sorted_lists(value: Any, path: str, rules: Sequence[Rule]) -> Any:
    """Spell lists that are multisets in one order."""
    if not rules:
        return value
    if isinstance(value, dict):
        return {key: sorted_lists(inner, _below(path, key), rules) for key, inner in value.items()}
    if not isinstance(value, list):
        return value
    inner = [sorted_lists(item, path, rules) for item in value]
    if not first(rules, path):
        return inner
    return sorted(inner, key=canonical_json)
