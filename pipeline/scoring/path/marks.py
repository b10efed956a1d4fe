"""The marks that tool calls carry: repeats, loops, retries, how soon a failure was made good."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from pipeline.scoring.path.equals import Equal
from pipeline.scoring.path.loops import loops
from pipeline.scoring.path.recovery import recovery_steps, retries
from pipeline.scoring.path.repeats import repeats

if TYPE_CHECKING:
    from pipeline.policy import Policy
    from pipeline.scoring.wanted import Wanted

OF_REPEATS = ("n_backtracks", "n_clean")
OF_LOOPS = ("n_loops",)
OF_RETRIES = ("n_recovered", "n_retry_same", "n_retry_changed")
OF_RECOVERY = ("recovery_saved", "recovery_possible")
OF_KEYS = ("n_duplicate", "n_distinct")
OF_TOOLS = ("n_tools", "n_duplicate_names", "n_distinct_names")
"""Which counts rest on which marks."""


class Marked(NamedTuple):
    """Calls with their marks."""

    frame: pl.DataFrame
    """The calls, and of the marks those asked for."""
    equal: list[Equal]
    """Which calls have equal keys, by those keys whose different ones are counted."""
    compared: int
    """How many pairs of argument texts were compared for similarity."""


def marks_repeats(of: Wanted) -> bool:
    """Tell whether anything asks which calls repeat a recent one."""
    return of.calls or of.any(*OF_REPEATS)


def marked(calls: pl.DataFrame, policy: Policy, of: Wanted) -> Marked:
    """Mark the calls: what the counts asked for rest on, and all that is told of single calls."""
    repeating = marks_repeats(of)
    looping = of.calls or of.any(*OF_LOOPS)
    parts, compared = [calls], 0
    by_key = of.any(*OF_KEYS)
    equal = Equal.of(calls, "call_key") if repeating or looping or by_key else None
    if equal is not None and repeating:
        repeated = repeats(equal, policy.backtracking)
        compared = repeated.compared
        parts.append(repeated.marks)
    if equal is not None and looping:
        parts.append(loops(equal))
    if of.calls or of.any(*OF_RETRIES):
        parts.append(retries(calls))
    if of.any(*OF_RECOVERY):
        reached = recovery_steps(calls, policy.recovery.max_steps)
        parts.append(reached.alias("recovery_steps").to_frame())
    counted = [equal] if equal is not None and by_key else []
    if of.any(*OF_TOOLS):
        counted.append(Equal.of(calls, "name_key"))
    return Marked(pl.concat(parts, how="horizontal"), counted, compared)
