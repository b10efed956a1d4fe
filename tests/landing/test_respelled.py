"""Keys are respelled in snake_case wherever they stand, but in what belongs to tools and users."""

from __future__ import annotations

import json
import re
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from pipeline.landing.values.respelled import respelled

OPAQUE = {"args", "arguments", "response", "result", "state", "context", "final_session_state"}
KEYS = st.sampled_from(
    ["args", "functionCall", "function_call", "toolResponses", "content", "aB", "É", 'q"', ""]
)
VALUES = st.recursive(
    st.none() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
)


def _snake(value: Any, *, in_responses: bool = False) -> Any:
    """Return the same of a decoded value: the plainest way to say it."""
    if isinstance(value, list):
        return [_snake(item, in_responses=in_responses) for item in value]
    if not isinstance(value, dict):
        return value
    found = {}
    for key, item in value.items():
        name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", key).lower()
        inside = in_responses or name == "tool_responses"
        opaque = name in OPAQUE or (in_responses and name == "content")
        found[name] = item if opaque else _snake(item, in_responses=inside)
    return found


@given(value=VALUES, indent=st.sampled_from([None, 1]))
def test_keys_are_respelled_but_in_what_belongs_to_others(value, indent):
    text = json.dumps(value, indent=indent, ensure_ascii=False).encode()
    assert json.loads(respelled(text)) == _snake(value)


def test_what_belongs_to_others_stays_byte_for_byte():
    text = b'{ "functionCall" : { "args" : { "sessionId" : 1.0 , "b":[ ] } } , "x" : [ ] }'
    assert respelled(text) == (b'{"function_call":{"args":{ "sessionId" : 1.0 , "b":[ ] }},"x":[]}')
