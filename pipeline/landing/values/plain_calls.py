"""Plain calls written as Python, by a pattern: the same as Python's parser tells, or nothing.

Plain are arguments that are texts without escapes and line ends, short numbers, True, False and
None, and flat lists and dicts of these. What the pattern does not fit from end to end is for the parser.
"""

from __future__ import annotations

import re
from keyword import kwlist
from typing import Any, NamedTuple

_WORD = r"[A-Za-z_]\w*"
_TEXT = r"""'[^'\\\x00-\x1f]*+'|"[^"\\\x00-\x1f]*+\""""
_NUMBER = r"-?(?:0|[1-9][0-9]{0,14})(?:\.[0-9]{1,15})?"
_ONE = rf"(?:{_TEXT}|{_NUMBER}|True|False|None)"
_PAIR = rf"(?:{_TEXT}): *{_ONE}"
_LIST = rf"\[(?:{_ONE}(?:, *{_ONE})*+)?\]"
_DICT = rf"\{{(?:{_PAIR}(?:, *{_PAIR})*+)?\}}"
_VALUE = rf"(?:{_ONE}|{_LIST}|{_DICT})"
_GIVEN = rf"(?:{_WORD} *= *)?{_VALUE}"
_CALL = rf"{_WORD}(?:\.{_WORD})*+\((?:{_GIVEN}(?:, *{_GIVEN})*+)?\)"
_CALLS = re.compile(rf"{_CALL}|\[ *{_CALL}(?:, *{_CALL})*+ *\]", re.ASCII)
_PLAIN = re.compile(rf"{_LIST}|{_DICT}", re.ASCII)
_EACH_CALL = re.compile(rf"({_WORD}(?:\.{_WORD})*+)\(((?:{_GIVEN}(?:, *{_GIVEN})*+)?)\)", re.ASCII)
_EACH_GIVEN = re.compile(rf"(?:({_WORD}) *= *)?({_VALUE})", re.ASCII)
_EACH_ONE = re.compile(_ONE, re.ASCII)
_EACH_PAIR = re.compile(rf"({_TEXT}): *({_ONE})", re.ASCII)
_NO_NAMES = frozenset(kwlist)
_CONSTANTS = {"True": True, "False": False, "None": None}


class Plain(NamedTuple):
    """A call, its arguments as values."""

    name: str
    by_position: list[Any]
    named: dict[str, Any]


def plain_calls(text: str) -> list[Plain] | None:
    r"""Return the calls of a text that holds plain ones alone; None where the parser must look.

    >>> plain_calls("[f.g('x', n=-1), h()]")
    [Plain(name='f.g', by_position=['x'], named={'n': -1}), Plain(name='h', by_position=[], named={})]
    >>> plain_calls("f(a=b)"), plain_calls(r"f('\n')"), plain_calls("f(a=1, 2)")
    (None, None, None)
    """
    if _CALLS.fullmatch(text) is None:
        return None
    found = []
    for name, given in _EACH_CALL.findall(text):
        call = Plain(name, [], {})
        for word, value in _EACH_GIVEN.findall(given):
            if word:
                call.named[word] = _value(value)
            elif call.named:
                return None  # by position behind a name: no Python
            else:
                call.by_position.append(_value(value))
        if not (_NO_NAMES.isdisjoint(call.named) and _NO_NAMES.isdisjoint(name.split("."))):
            return None
        found.append(call)
    return found


def plain_value(text: str) -> Any:
    r"""Return the value that a text is, if it is a plain list or dict; None where the parser must look.

    >>> plain_value("{'city': 'Oslo', 'day': None}"), plain_value("{'a': {}}"), plain_value("{'a'}")
    ({'city': 'Oslo', 'day': None}, None, None)
    """
    return _value(text) if _PLAIN.fullmatch(text) else None


def _value(text: str) -> Any:
    mark = text[0]
    if mark in "'\"":
        return text[1:-1]
    if mark == "[":
        return [_value(one) for one in _EACH_ONE.findall(text)]
    if mark == "{":
        return {key[1:-1]: _value(one) for key, one in _EACH_PAIR.findall(text)}
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    return float(text) if "." in text else int(text)
