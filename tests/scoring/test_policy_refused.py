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
    "one decimal more": ("[[match.rule]]\nround = 401", "match.rule 1: round is 401; from -400 to 400"),
    "no reach": ("[recovery]\nmax_steps = 0", "recovery.max_steps is 0; a number from 1 to"),
    "less than no step": ("[invariants]\nmax_steps = -1", "invariants.max_steps is -1; a number from 0"),
    "less than no repeat": ("[invariants]\nmax_repeats = -1", "max_repeats is -1; a number from 0"),
    "one call more": ("[invariants]\nmax_calls = 2147483648", "max_calls is 2147483648; a number from 0"),
    "no likeness": ("[backtracking]\nsimilarity = 0", "similarity is 0.0; above 0, at most 1 is needed"),
    "more than alike": ("[backtracking]\nsimilarity = 1.01", "similarity is 1.01; above 0, at most 1"),
    "no weight at all": (
        "[composite]\nlength = 0\nprecision = 0\nbacktracking = 0\nrecovery = 0\ntokens = 0\nerrors = 0",
        "nor all 0",
    ),
    "a negative weight": ("[composite]\nerrors = -0.1", "weights must be numbers, not negative"),
    "no error's pattern": ('[errors]\npatterns = ["a", "("]', "errors.patterns: '(' is no regular expression"),
    "no pattern of giving up": (
        '[backtracking]\nabandon_patterns = ["["]', "abandon_patterns: '[' is no regular expression",
    ),
    "a rule without a word": (
        '[[match.rule]]\nstrip = true\n[[match.rule]]\ntool = "a"', "match.rule 2: says nothing; give it one of",
    ),
    "a tolerance below 0": ("[[match.rule]]\ntolerance = -0.1", "tolerance is -0.1; a number of at least 0"),
    "a tolerance without end": ("[[match.rule]]\ntolerance = inf", "match.rule 1: tolerance is inf"),
    "a tolerance that is no number": ("[[match.rule]]\ntolerance = nan", "match.rule 1: tolerance is nan"),
    **{
        f"a default of many, {mark}": (f'[[match.rule]]\narg = "a{mark}"\ndefault = 1', "the pattern 'a")
        for mark in "*?["
    },
    "a metric without sql": ('[[metric]]\nname = "a"', "metric 1: needs a name and sql"),
    "a metric without name": ('[[metric]]\nsql = "1"', "metric 1: needs a name and sql"),
    "a check without sql": ('[[end_state.check]]\nname = "a"', "end_state.check 1: needs a name and sql"),
    "a check without name": ('[[end_state.check]]\nsql = "SELECT 1"', "end_state.check 1: needs a name"),
}  # fmt: skip

RIGHT = {
    "the least counts": "backtracking.window = 1\nrecovery.max_steps = 1",
    "no step, no call": "invariants.max_steps = 0\ninvariants.max_calls = 0\ninvariants.max_repeats = 0",
    "the greatest counts": "backtracking.window = 2147483647\ninvariants.max_calls = 2147483647",
    "wholly alike": "backtracking.similarity = 1",
    "hardly alike": "backtracking.similarity = 1e-9",
    "the least and the greatest weight": "composite.length = 1e-9\ncomposite.tokens = 1e9",
    "weights of nothing but one": (
        "[composite]\nlength = 0\nprecision = 0\nbacktracking = 0\nrecovery = 0\ntokens = 0"
    ),
    "as many decimals as there are": "[[match.rule]]\nround = 400\n[[match.rule]]\nround = -400",
    "no tolerance": "[[match.rule]]\ntolerance = 0",
    "a default of one": '[[match.rule]]\narg = "a.b"\ndefault = [1.5, {c = "x"}]',
    "a default of no value": '[[match.rule]]\narg = "a"\ndefault = false',
}


@pytest.mark.parametrize(("text", "told"), WRONG.values(), ids=WRONG)
def test_is_refused(text, told):
    with pytest.raises(InputError) as seen:
        parse(tomllib.loads(text), "p.toml")

    assert str(seen.value).startswith("p.toml: ")
    assert told in str(seen.value)


@pytest.mark.parametrize("text", RIGHT.values(), ids=RIGHT)
def test_what_is_just_right_is_taken(text):
    parse(tomllib.loads(text), "p.toml")
