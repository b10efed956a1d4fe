"""The policy: what makes two calls the same, and what counts as a good path. One TOML file.

Every key has a default, and the default policy compares exactly: nothing is trimmed, folded or
coerced unless a rule says so. A policy's hash names its scores, so that two policies live side by
side in one lake and can be compared.
"""

from pipeline.policy.reading import PRESET, PRESETS, load, parse, presets
from pipeline.policy.sections import (
    KINDS,
    PAIRWISE,
    Backtracking,
    EndStateCheck,
    Errors,
    Invariants,
    Match,
    Mode,
    Rule,
    Scores,
    UserMetric,
    rule_of_kind,
)
from pipeline.policy.whole import DEFAULT, Policy

__all__ = [
    "DEFAULT", "KINDS", "PAIRWISE", "PRESET", "PRESETS", "Backtracking", "EndStateCheck", "Errors",
    "Invariants", "Match", "Mode", "Policy", "Rule", "Scores", "UserMetric", "load", "parse",
    "presets", "rule_of_kind",
]  # fmt: skip
