"""A judge's answer, read strictly: a score the rubric allows, or no score and the reason why.

An answer counts if its text is one JSON object, alone or alone in one code fence, with the rubric's
key once and a value of its type within its range. Nothing is guessed, rounded or searched for: an
object within prose may be quoted from the log, and "7/10" may be a seven or a date.
"""

from __future__ import annotations

import json
import re
from math import isfinite
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from pipeline.judge.rubric import Answer

PARSER_VERSION = 1
"""Part of every landing's name: raise it when an answer would be read otherwise."""

NULL_REASONS = {
    "request_failed": "the service reports an error, an expiry or a cancellation, not an answer",
    "malformed_response": "the service's response holds no message",
    "refused": "the service marks the answer as refused or filtered",
    "truncated": "the service cut the answer off",
    "empty": "the answer has no text",
    "too_long": "the answer has more than 100,000 characters",
    "not_an_object": "the text does not begin with a JSON object",
    "invalid_json": "what begins as a JSON object is none",
    "several_objects": "more than one JSON object: which one is meant is not told",
    "text_around": "further text beside the JSON object, which it may only quote",
    "missing_key": "the object lacks the rubric's key",
    "repeated_key": "the object has the rubric's key more than once",
    "wrong_type": "the value is not of the rubric's type: text, null, a list, 7.5 for a whole number",
    "not_finite": "the value is NaN or infinite",
    "out_of_range": "the value is outside the rubric's range",
}
"""Why an answer has no score: the closed vocabulary of `null_reason`."""

LONGEST = 100_000
LONGEST_EXPLANATION = 2_000
_LONG_INTEGER = 30

_FENCED = re.compile(r"```(?:json|JSON)?[ \t]*\n(.*)\n?[ \t]*```", re.DOTALL)


class Parsed(NamedTuple):
    """A score, or null and why; the judge's own reason where it gave one."""

    score: float | None = None
    null_reason: str | None = None
    explanation: str | None = None


class _Object(list[tuple[str, Any]]):
    """A JSON object as it stands, with repeated keys."""


def parse(text: str, answer: Answer) -> Parsed:
    """Read one answer.

    >>> from pipeline.judge.rubric import Answer
    >>> ten = Answer(low=0, high=10)
    >>> parse('{"reason": "fits", "score": 7}', ten)
    Parsed(score=7.0, null_reason=None, explanation='fits')
    >>> parse("7/10", ten).null_reason
    'not_an_object'
    """
    if len(text) > LONGEST:
        return Parsed(None, "too_long")
    told = text.strip().removeprefix("\ufeff").strip()
    if not told:
        return Parsed(None, "empty")
    fenced = _FENCED.fullmatch(told)
    body = fenced[1].strip() if fenced else told
    if not body.startswith("{"):
        return Parsed(None, "not_an_object")
    try:
        found, end = _DECODER.raw_decode(body)
    except (ValueError, RecursionError):
        return Parsed(None, "invalid_json")
    rest = body[end:].strip()
    if rest:
        return Parsed(None, "several_objects" if "{" in rest else "text_around")
    return _of_object(found, answer)


def _of_object(found: _Object, answer: Answer) -> Parsed:
    values = [value for key, value in found if key == answer.key]
    reasons = [value for key, value in found if key == "reason" and isinstance(value, str)]
    explanation = reasons[0][:LONGEST_EXPLANATION] if reasons else None
    if len(values) != 1:
        return Parsed(None, "repeated_key" if values else "missing_key", explanation)
    score, why = _score(values[0], answer)
    return Parsed(score, why, explanation)


def _score(value: Any, answer: Answer) -> tuple[float | None, str | None]:
    if answer.type == "boolean":
        return (float(value), None) if isinstance(value, bool) else (None, "wrong_type")
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None, "wrong_type"
    if not isfinite(value):
        return None, "not_finite"
    if answer.type == "integer" and value != int(value):
        return None, "wrong_type"
    if answer.low is None or answer.high is None or not answer.low <= value <= answer.high:
        return None, "out_of_range"
    return float(value), None


def _integer(text: str) -> float:
    """Return an integer; of one too long for any range only its sign and size matter."""
    if len(text) <= _LONG_INTEGER:
        return int(text)
    return -1e300 if text.startswith("-") else 1e300


_DECODER = json.JSONDecoder(object_pairs_hook=_Object, parse_int=_integer)
