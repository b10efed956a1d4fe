"""Values as people read them: short numbers, a dash for null, nothing that acts on a terminal."""

from __future__ import annotations

import json
import re
import shlex
import warnings
from datetime import datetime
from typing import Any

from pipeline.unseen import seen

NULL = "–"
DIGITS = 4
LARGE = 1000

VERDICTS = {
    "better": "✓", "pass": "✓", "worse": "✗", "fail": "✗", "same": "=", "changed": "~",
    "inconclusive": "?", "not judgeable": "?",
}  # fmt: skip
"""The signs of verdicts."""

_BEHIND = 'at or near ")"'
_NO_COLUMN = re.compile('Referenced column "([^"]+)" not found')

RIGHT_TO_LEFT = re.compile(
    "([\\u0590-\\u08ff\\ufb1d-\\ufdff\\ufe70-\\ufefc\\U00010800-\\U00010fff\\U0001e800-\\U0001efff]+[ \\u200c\\u200d]?)+(?<! )"
)
"""Words in a script that is written from right to left: numbers and names beside them would be
drawn on their other side."""

_LEFT_TO_RIGHT_MARK = "\u200e"


def is_utf8(text: str) -> bool:
    r"""Tell whether UTF-8 can spell a text: no half of a surrogate pair stands for another byte.

    >>> is_utf8("é"), is_utf8("\udce9")
    (True, False)
    """
    return not any("\ud800" <= sign <= "\udfff" for sign in text)


def visible(text: str) -> str:
    r"""Spell out the characters that act instead of showing, or are not seen.

    >>> print(visible("red \x1b[31m"), visible("a\u200bb"))
    red \x1b[31m a\u200bb
    """
    return seen(text, lambda sign: sign.encode("unicode_escape").decode())


def spelled_out(text: str) -> str:
    r"""Spell out what acts on a terminal, in text that programs write; JSON stays the same JSON.

    >>> print(spelled_out('{"name": "\x9b31m"}\n'), end="")
    {"name": "\u009b31m"}
    """
    return seen(text, lambda sign: sign if sign == "\n" else json.dumps(sign)[1:-1])


def anchored(text: str) -> str:
    r"""End a cell that is written from right to left so that the next one stays on its right.

    >>> anchored("run"), anchored("\u05d0")
    ('run', '\u05d0\u200e')
    """
    return text + _LEFT_TO_RIGHT_MARK if RIGHT_TO_LEFT.search(text) else text


def one_line(text: str) -> str:
    r"""Fold a message into one line.

    >>> print(one_line("a\n  b"))
    a b
    """
    return visible(" ".join(text.split()))


def refusal(error: Exception, asked: str = "") -> str:
    """Return what DuckDB says of a query, nearest names included, without the drawing of where.

    Of what was asked it tells a name in double quotes, which was meant as a text.

    >>> import duckdb
    >>> try:
    ...     duckdb.sql("SELECT colour FROM (SELECT 1 AS colours)")
    ... except duckdb.Error as error:
    ...     print(refusal(error))
    Binder Error: Referenced column "colour" not found in FROM clause! Candidate bindings: "colours"
    >>> asked = 'FROM (SELECT 1 AS one) WHERE one = "red"'
    >>> try:
    ...     duckdb.sql(asked)
    ... except duckdb.Error as error:
    ...     print(refusal(error, asked).partition("; ")[2])
    a text stands in single quotes: 'red'
    """
    said = one_line(str(error).split("\n\nLINE ")[0])
    of_label = "Cannot extract field" in said and '"labels"' in said
    if of_label:
        return f"{said}; a label is labels->>'NAME'"
    if _BEHIND in said and ")" not in asked:
        return said.replace(_BEHIND, "at the end")  # the bracket is ours: it closes the condition
    missed = _NO_COLUMN.search(said)
    if missed and f'"{missed[1]}"' in asked:
        return f"{said}; a text stands in single quotes: '{missed[1]}'"
    return said


def short(number: float) -> str:
    """Print a number with four digits, more where four would make it look whole.

    >>> [short(x) for x in (1.0, 2 / 3, 0.99996, 1234.56, 0.00001234)]
    ['1', '0.6667', '0.99996', '1235', '1.234e-05']
    """
    if number != number or abs(number) == float("inf"):  # noqa: PLR0124 - NaN is what differs from itself
        return NULL
    if abs(number) >= LARGE:
        return f"{number:.0f}"
    for digits in range(DIGITS, 18):
        text = f"{number:.{digits}g}"
        if not float(text).is_integer() or float(text) == number:
            break
    return text


def signed(number: float) -> str:
    """Print a change with its sign.

    >>> [signed(x) for x in (0.05, -2.0, 0.0)]
    ['+0.05', '-2', '0']
    """
    text = short(number)
    return f"+{text}" if number > 0 and text != NULL else text


def judged(verdict: str) -> str:
    """Put a sign before a verdict, so that it is found without reading, and without colour.

    >>> [judged(word) for word in ("better", "fail", "inconclusive", "other")]
    ['✓ better', '✗ fail', '? inconclusive', 'other']
    """
    sign = VERDICTS.get(verdict)
    return f"{sign} {verdict}" if sign else verdict


def cell(value: Any) -> str:
    """Return one value as table text.

    >>> [cell(value) for value in (True, 3, 0.5, ["a"])]
    ['true', '3', '0.5', '["a"]']
    """
    if value is None:
        return NULL
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return short(value)
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M:%S}{'Z' if value.tzinfo else ''}"
    if isinstance(value, list | dict):
        return visible(json.dumps(value, ensure_ascii=False, default=str))
    return visible(str(value))


def counted(number: int, noun: str) -> str:
    """Return a number of things.

    >>> counted(1, "run"), counted(1200, "run"), counted(2, "batch")
    ('1 run', '1,200 runs', '2 batches')
    """
    plural = "es" if noun.endswith("ch") else "s"
    return f"{number:,} {noun}{'' if number == 1 else plural}"


def regular_expression(text: str) -> re.Pattern[str]:
    """Compile what a person wrote; what Python may read otherwise one day is no word of theirs.

    Raises:
        ValueError: it is none, and why.

    >>> regular_expression("[[a]").pattern
    '[[a]'
    >>> regular_expression("a{99999999999}")
    Traceback (most recent call last):
    ...
    ValueError: the repetition number is too large
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        try:
            return re.compile(text)
        # Too many repeats, too many brackets in each other.
        except (re.error, OverflowError, RecursionError) as error:
            raise ValueError(str(error)) from error


def show_command(lake: str, run_id: str, policy: str | None = None) -> str:
    """Return the command that shows one run, ready to be typed.

    >>> show_command("my lake", "run-1"), show_command("LAKE", "-1")
    ("trajtab show 'my lake' run-1", 'trajtab show -- LAKE -1')
    """
    named = [] if policy is None else ["--policy", policy]
    # An id that begins with a dash is no option.
    apart = ["--"] if run_id.startswith("-") or lake.startswith("-") else []
    return shlex.join(["trajtab", "show", *named, *apart, lake, run_id])
