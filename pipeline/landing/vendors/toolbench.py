"""ToolBench: what a tool's answer and an agent's last answer say, in both of its file formats."""

from __future__ import annotations

import re
from typing import Any

import msgspec

_ANSWER = re.compile(r"""\s*\{\s*["']error["']\s*:\s*(?P<quote>["'])(?P<text>(?!(?P=quote)).)?""")


def failed(response: Any) -> bool | None:
    r"""Tell whether a tool's answer is an error, also where the text is cut off behind its start.

    >>> failed('{"error": "no quota", "response": ""}'), failed('{"error": "", "respon')
    (True, False)
    >>> failed("<html>"), failed(None)
    (None, None)
    """
    if isinstance(response, dict) and "error" in response:
        return bool(response["error"])
    found = _ANSWER.match(response) if isinstance(response, str) else None
    return None if found is None else found["text"] is not None


def answer(text: Any) -> Any:
    """Return the answer given at the end; None where the agent gave up or said nothing.

    >>> answer('{"return_type": "give_answer", "final_answer": "42"}'), answer("42"), answer("")
    ('42', '42', None)
    >>> answer('{"return_type": "give_up_and_restart"}') is None
    True
    """
    try:
        said = msgspec.json.decode(text or "") if isinstance(text, str | None) else text
    except msgspec.DecodeError:
        return text or None
    if isinstance(said, dict):
        text = said.get("final_answer")
    return None if text == "" else text
