"""The slow textbook oracle: every metric of one run in plain loops over lists.

It shares no code with the engines it judges and follows the words of the specification, one
function per definition. Fractions are exact until the last step.
"""

from __future__ import annotations

from oracle.matching import reference_metrics, sequence_metrics
from oracle.path import path_metrics
from oracle.repeats import Step, backtrack_flags, loops, precise_flags
from oracle.values import (
    NOT_CAPTURED,
    Arguments,
    Call,
    Equal,
    Invalid,
    actual_has_expected,
    arguments_equal,
    calls_equal,
    expected_has_actual,
    names_equal,
    values_equal,
)

__all__ = [
    "NOT_CAPTURED",
    "Arguments",
    "Call",
    "Equal",
    "Invalid",
    "Step",
    "actual_has_expected",
    "arguments_equal",
    "backtrack_flags",
    "calls_equal",
    "expected_has_actual",
    "loops",
    "names_equal",
    "path_metrics",
    "precise_flags",
    "reference_metrics",
    "sequence_metrics",
    "values_equal",
]
