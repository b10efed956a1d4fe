"""A policy whose values cannot be meant is refused: what was seen, where, and what may stand there."""

from __future__ import annotations

import tomllib

import pytest

from pipeline.errors import InputError
from pipeline.policy import parse

WRONG = {
    "a word": ('[match]\nargs = "exakt"', "match.args is 'exakt'; exact | names | actual_has"),
    "a word in a table": (
        '[match.tools]\n"*" = "names"\n"s[12].*" = "Names"', "match.tools['s[12].*'] is 'Names'; exact | ",
    ),
    "no word in a table": ("[match.tools]\nsearch = 5", "Expected `str`, got `int` at match.tools['search']"),
    "a word that may be absent": (
        '[[match.rule]]\narg = "q"\ncase = "upper"', "match.rule[0].case is 'upper'; lower is needed",
    ),
    "a pattern where regex is wanted": (
        '[[match.rule]]\narg = "q"\npattern = "^a"', "pattern is '^a'; regex is needed",
    ),
    "a direction": (
        '[[metric]]\nname = "a"\nsql = "1"\ndirection = "up"', "'up'; higher | lower | neither",
    ),
    "a weight that is no number": ("[composite]\nlength = nan", "weights must be numbers"),
    "a weight without end": ("[composite]\nlength = inf", "weights must be numbers"),
    "a weight beyond reason": ("[composite]\nlength = 1e308", "composite.length is 1e+308; 0, or from"),
    "a weight below reason": ("[composite]\ntokens = 1e-320", "composite.tokens is 9.99989e-321; 0, or"),
    "a window beyond counting": (
        "[backtracking]\nwindow = 99999999999999999999", "a number from 1 to 2147483647 is needed",
    ),
    "no window": ("[backtracking]\nwindow = 0", "backtracking.window is 0; a number from 1"),
    "steps beyond counting": ("[recovery]\nmax_steps = 9223372036854775807", "recovery.max_steps is"),
    "less than no call": ("[invariants]\nmax_calls = -1", "invariants.max_calls is -1; a number from 0"),
    "a default that JSON cannot spell": (
        '[[match.rule]]\narg = "q"\ndefault = [{a = nan}]', "match.rule 1: default holds nan or inf",
    ),
    "a map to what JSON cannot spell": (
        "[[match.rule]]\nmap = {none = inf}", "match.rule 1: map holds nan or inf",
    ),
    "more decimals than there are": (
        '[[match.rule]]\narg = "q"\nround = -99999999999999999999', "match.rule 1: round is",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("text", "told"), WRONG.values(), ids=WRONG)
def test_is_refused(text, told):
    with pytest.raises(InputError) as seen:
        parse(tomllib.loads(text), "p.toml")

    assert str(seen.value).startswith("p.toml: ")
    assert told in str(seen.value)
