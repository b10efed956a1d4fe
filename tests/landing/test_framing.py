"""Members and elements are found in a large document without holding it."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.landing import framing
from pipeline.landing.framing import documents_of, holds_several, member_of


def _member(text: str, name: str) -> Any:
    data = member_of(io.BytesIO(text.encode()), name)
    return None if data is None else json.loads(data)


@pytest.fixture(params=[1 << 20, 4], ids=["one block", "many blocks"])
def _block(request, monkeypatch):
    monkeypatch.setattr(framing, "BLOCK", request.param)


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


@pytest.mark.usefixtures("_block")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{\n "a": 1\n}\n{\n "a": 2\n}\n', [(1, 0, '{\n "a": 1\n}'), (4, 12, '{\n "a": 2\n}')]),
        ("\ufeff\n[\n1\n]\r\n\r\n[\n2\n]", [(2, 4, "[\n1\n]"), (6, 13, "[\n2\n]")]),
        ('{\n "a": 1\n}{\n "a": 2\n}', [(1, 0, '{\n "a": 1\n}'), (3, 11, '{\n "a": 2\n}')]),
        ('{\n "a": "cut\n{\n "a": 2\n}', [(1, 0, '{\n "a": "cut'), (3, 13, '{\n "a": 2\n}')]),
        # In one document, a bracket comes after another, a comma or a colon.
        ('{"a": [\n{"b": 1},\n\n{"b":\n[\n[\n2]\n]}\n]}', None),
        ("[\n{}\n]\n", None),
        ("", None),
    ],
)
def test_documents_that_follow_each_other(text, expected):
    assert holds_several(io.BytesIO(text.encode())) == (expected is not None)
    found = [
        (line, at, data.decode()) for data, line, at in documents_of(io.BytesIO(text.encode()))
    ]
    assert found == (expected or ([(1, 0, text.strip())] if text else []))


@given(st.lists(st.dictionaries(st.text(), st.lists(st.text() | st.none() | st.lists(st.integers()))), min_size=1, max_size=4), st.sampled_from((0, 1, 4)))  # fmt: skip
def test_printed_documents_are_found_again(documents, indent):
    text = "\n".join(json.dumps(document, indent=indent) for document in documents).encode()
    assert [json.loads(data) for data, _, _ in documents_of(io.BytesIO(text))] == documents
    assert holds_several(io.BytesIO(text)) == (len(documents) > 1)
