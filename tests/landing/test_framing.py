"""Members and elements are found in a large document without holding it."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.landing.records import window
from pipeline.landing.records.framing import member_of


def _member(text: str, name: str) -> Any:
    data = member_of(io.BytesIO(text.encode()), name)
    return None if data is None else json.loads(data)


@pytest.fixture(params=[1 << 20, 4], ids=["one block", "many blocks"])
def _block(request, monkeypatch):
    monkeypatch.setattr(window, "BLOCK", request.param)


@pytest.mark.usefixtures("_block")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"info": {"a": [1, {"info": 2}]}, "rest": []}', {"a": [1, {"info": 2}]}),
        ('{"rest": [{"info": 1}, "info"], "info": 2}', 2),
        ('{"rest": "info", "other": 1, "info": "a,}]\\"b"}', 'a,}]"b'),
        ('{"a": "{\\\\", "info"  :  null  }', None),
        ('{"a": {"info": 1}}', None),
        ('[{"info": 1}]', None),
        ("", None),
    ],
    ids=["first", "last", "as a value", "null", "deeper", "array", "empty"],
)
def test_member_of_the_top_object(text, expected):
    assert _member(text, "info") == expected


@pytest.mark.usefixtures("_block")
def test_member_that_is_cut_off_comes_as_far_as_it_goes():
    assert member_of(io.BytesIO(b'{"a": 1, "info": {"b": [1, '), "info") == b'{"b": [1,'


_VALUES = st.recursive(
    st.none() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(document=st.dictionaries(st.sampled_from("abc"), _VALUES), indent=st.sampled_from([None, 1]))
def test_member_of_agrees_with_the_standard_library(document, indent):
    text = json.dumps(document, indent=indent)
    for name in "abc":
        assert _member(text, name) == document.get(name)
