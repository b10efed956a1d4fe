"""One number of one run explained: its counts, the formula with them put in, the pairs counted."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from pipeline.metrics.metric import NAMES, Metric
from pipeline.metrics.registry import get, metrics
from pipeline.metrics.turns import TURNS
from pipeline.scoring.matching.compare import FAMILIES
from pipeline.text import short

if TYPE_CHECKING:
    from pipeline.policy import Policy
    from pipeline.report.run.sides import Sides
    from pipeline.report.run.unit import Unit

SYMBOLS = {
    "n_ordered": ("n",),
    "n_overlap": ("n",),
    "n_expected": ("n",),
    "n_calls": ("m",),
    "position_hits": ("matching positions", "full matches"),
    "prefix": ("length of the matching prefix",),
    "walked": ("matched",),
    "lcs_length": ("LCS",),
    "tp": ("tp", "full matches"),
    "credited": ("tp", "full matches"),
    "full_in_place": ("full matches",),
    "named_in_place": ("matches by name",),
    "n_in_place": ("n",),
    "n_common": ("|E ∩ A|",),
    "n_distinct_expected": ("|E|",),
    "n_distinct": ("|A|",),
    "n_steps": ("|T|",),
    "n_errors": ("errors",),
    "n_backtracks": ("backtracks",),
    "n_clean": ("clean calls",),
    "n_outputs_used": ("outputs used",),
    "n_outputs": ("outputs captured",),
    "n_schema_valid": ("valid calls",),
    "n_schema_calls": ("calls whose tool has a JSON Schema",),
    "total_tokens": ("tokens",),
}
"""What formulas of the registry call each count."""

_BY_NAME = {"tp": ("tp_names", "matches by name"), "position_hits": ("matches by name",)}
"""The same for counts by names in a metric that has both."""

_INSTEAD = {
    "credited": "tp",
    "full_in_place": "position_hits",
    "named_in_place": "position_hits_names",
    "n_in_place": "n_ordered_names",
}
"""Counts that take another's place where they are known."""

UNION = "|E ∪ A|"

_OVER_NOTHING = re.compile(r"/ (?:0\b|max\(0, 0\)|\(0 \+ 0\)|\(2·max\(0, 0\)\))")


class Part(NamedTuple):
    """A value over one unit: the run, or one user turn."""

    turn_index: int | None
    value: float | None
    calculation: str
    counts: list[Count]


class Count(NamedTuple):
    """One count, by the name of its column and by the symbol of the formula."""

    name: str
    symbol: str | None
    value: float | None


class Explanation(NamedTuple):
    """A metric's value and where it comes from."""

    metric: Metric
    value: float | None
    calculation: str
    why_null: str | None
    parts: list[Part]


def compares_calls(metric: Metric) -> bool:
    """Tell whether a metric is made from pairs of expected and actual calls."""
    return metric.family in FAMILIES


def basis(metric: Metric) -> tuple[str, str]:
    """Return the name of what a metric is the mean over turns of, without its level; and the level.

    >>> basis(get("in_order_match_names_turns"))
    ('in_order_match', '_names')
    """
    name = metric.name.removesuffix(TURNS)
    return name.removesuffix(NAMES), NAMES if name.endswith(NAMES) else ""


def explain(metric: Metric, sides: Sides, policy: Policy) -> Explanation:
    """Explain a metric of a run; one that compares calls from its counts, others from its scores."""
    if not compares_calls(metric):
        return _from_scores(metric, sides.scores)
    of = metrics()[metric.name.removesuffix(TURNS)]
    parts = [_part(of, unit) for unit in sides.units]
    missing = _why_null(metric, sides, policy)
    value = None if missing else _folded(metric, parts)
    if policy.match.unit != "turn":
        return Explanation(metric, value, parts[0].calculation, missing, parts)
    return Explanation(metric, value, _over_turns(metric, parts, value), missing, parts)


def _from_scores(metric: Metric, scores: dict[str, Any]) -> Explanation:
    roots = [root for root in dict.fromkeys(metric.value.meta.root_names()) if root in scores]
    counts = [_count(root, scores[root]) for root in roots if root != metric.name]
    value = None if scores[metric.name] is None else float(scores[metric.name])
    calculation = _calculation(metric.formula, _symbols(counts), value)
    missing = None if value is not None else _sentence(metric.null)
    part = Part(None, value, calculation, counts)
    return Explanation(metric, value, calculation, missing, [part])


def _part(metric: Metric, unit: Unit) -> Part:
    """Count and divide over one unit, by the expression that scoring uses."""
    level = basis(metric)[1]
    counted: dict[str, int | None] = {"n_calls": len(unit.actual)}
    for name, at in unit.levels.items():
        counted |= {f"{count}{name}": value for count, value in at.counts.items()}
    frame = pl.DataFrame([counted], schema=dict.fromkeys(counted, pl.Int64))
    value = frame.select(metric.value).item()
    counts = [_count(root, counted[root], level) for root in _roots(metric, counted)]
    symbols = _symbols(counts)
    if "in_order" in metric.formula:
        symbols["in_order"] = _text(frame.select(get(f"in_order{level}").value).item())
    symbols["every position matches"] = f"{symbols.get('matching positions')} positions match"
    if metric.name.startswith("set_jaccard") and value is not None:
        either = counted[f"n_distinct_expected{level}"], counted[f"n_distinct{level}"]
        union = sum(filter(None, either)) - (counted[f"n_common{level}"] or 0)
        symbols[UNION] = _text(union)
    return Part(unit.turn, value, _calculation(metric.formula, symbols, value), counts)


def _roots(metric: Metric, counted: dict[str, int | None]) -> list[str]:
    """Return the counts that a metric is made from."""
    roots = dict.fromkeys(metric.value.meta.root_names())
    unused = {
        old if counted[new] is not None else new for new, old in _INSTEAD.items() if new in roots
    }
    return [root for root in roots if root not in unused]


def _count(root: str, value: float | None, level: str = "") -> Count:
    plain = root.removesuffix(NAMES)
    both = root.endswith(NAMES) and not level
    symbols = _BY_NAME.get(plain, SYMBOLS.get(plain)) if both else SYMBOLS.get(plain)
    return Count(root, symbols[0] if symbols else None, value)


def _symbols(counts: list[Count]) -> dict[str, str]:
    """Return what stands for each symbol of a formula."""
    found: dict[str, str] = {}
    for count in counts:
        plain = count.name.removesuffix(NAMES)
        named = _BY_NAME.get(plain, ())
        every = named if count.symbol in named else SYMBOLS.get(plain, ())
        found |= dict.fromkeys((*every, count.name), _text(count.value))
    return found


def _calculation(formula: str, symbols: dict[str, str], value: float | None) -> str:
    """Put numbers into a formula of the registry.

    >>> _calculation("2·tp / (n + m); 1 when n + m = 0", {"tp": "1", "n": "2", "m": "3"}, 0.4)
    '2·1 / (2 + 3) = 0.4'
    >>> _calculation("tp / n; 1 when n = 0", {"tp": "0", "n": "0"}, 1.0)
    '0 / 0, defined as 1'
    """
    longest_first = sorted(symbols, key=len, reverse=True)
    pattern = "|".join(map(re.escape, longest_first)) or r"(?!)"
    head = formula.split(";", maxsplit=1)[0]
    filled = re.sub(rf"(?<![\w|])(?:{pattern})(?![\w|])", lambda found: symbols[found[0]], head)
    if _OVER_NOTHING.search(filled) and value is not None:
        return f"{filled}, defined as {_text(value)}"
    return f"{filled} = {_text(value)}"


def _folded(metric: Metric, parts: list[Part]) -> float | None:
    """Fold turns as scoring does: fractions are means, flags hold only if all do, counts add up."""
    values = pl.Series([part.value for part in parts], dtype=pl.Float64)
    if values.has_nulls():
        return None
    folds = {"flag": values.min, "count": values.sum}
    found = folds.get(metric.kind, values.mean)()
    return float(found)  # type: ignore[arg-type] # a number, there being at least one part


def _over_turns(metric: Metric, parts: list[Part], value: float | None) -> str:
    how = {"flag": "all of", "count": "sum of"}.get(metric.kind, "mean of")
    listed = ", ".join(_text(part.value) for part in parts)
    return f"{how} {listed} over {len(parts)} turns = {_text(value)}"


def _why_null(metric: Metric, sides: Sides, policy: Policy) -> str | None:
    """Say why a metric that compares calls is null; None where it is not."""
    if sides.scores["run_status"] == "error":
        return "the run's status is error"
    if any(unit.hidden for unit in sides.units) and NAMES not in metric.name:
        return "arguments that the reference gives were not captured"
    if metric.name.endswith(TURNS) and policy.match.unit != "turn":
        return 'the policy says match.unit = "run"'
    if metric.name.startswith("set_") and _only_a_relation(sides, basis(metric)[1]):
        return "equality is only a relation here: distinct calls cannot be counted"
    return None


def _only_a_relation(sides: Sides, level: str) -> bool:
    return any(unit.levels[level].counts["n_common"] is None for unit in sides.units)


def _sentence(null: str) -> str:
    return null.removeprefix("null ")


def _text(value: float | None) -> str:
    return "null" if value is None else short(value)
