"""Documents that follow each other in one file are found, wherever and however they stand."""

from __future__ import annotations

import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.landing.records import documents as framed
from pipeline.landing.records import window
from pipeline.landing.records.documents import Extent, documents_of, extents_of, section, several


@pytest.fixture(params=[1 << 20, 4], ids=["one block", "many blocks"])
def _block(request, monkeypatch):
    for module in (framed, window):
        monkeypatch.setattr(module, "BLOCK", request.param)


@pytest.mark.usefixtures("_block")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{\n "a": 1\n}\n{\n "a": 2\n}\n', [(1, 0, '{\n "a": 1\n}'), (4, 12, '{\n "a": 2\n}')]),
        ("\ufeff\n[\n1\n]\r\n\r\n[\n2\n]", [(2, 4, "[\n1\n]"), (6, 13, "[\n2\n]")]),
        ('{\n "a": 1\n}{\n "a": 2\n}', [(1, 0, '{\n "a": 1\n}'), (3, 11, '{\n "a": 2\n}')]),
        ('{\n "a": "cut\n{\n "a": 2\n}', [(1, 0, '{\n "a": "cut'), (3, 13, '{\n "a": 2\n}')]),
        ('{"a": 1}{"a": 2}', [(1, 0, '{"a": 1}'), (1, 8, '{"a": 2}')]),
        ('[{"a": 1}][2]\n', [(1, 0, '[{"a": 1}]'), (1, 10, "[2]")]),
        ('{"a": "}{"} [2]', [(1, 0, '{"a": "}{"}'), (1, 12, "[2]")]),
        ('{"a": 1}{\n "a": 2\n}', [(1, 0, '{"a": 1}'), (1, 8, '{\n "a": 2\n}')]),
        ('{\n}\n  {"a": 2}', [(1, 0, "{\n}"), (3, 6, '{"a": 2}')]),
        ('{"a": 1}\n text', [(1, 0, '{"a": 1}'), (2, 10, "text")]),
        ('{"a": 1}\n\n' + " " * 99 + '\n{"a": 2}', [(1, 0, '{"a": 1}'), (4, 110, '{"a": 2}')]),
        # In one document, a bracket comes after another, a comma or a colon.
        ('{"a": [\n{"b": 1},\n\n{"b":\n[\n[\n2]\n]}\n]}', None),
        ("[\n{}\n]\n", None),
        ("", None),
    ],
)
def test_documents_that_follow_each_other(text, expected):
    assert several(io.BytesIO(text.encode())) == (expected is not None)
    found = [
        (line, at, data.decode()) for data, line, at in documents_of(io.BytesIO(text.encode()))
    ]
    assert found == (expected or ([(1, 0, text.strip())] if text else []))


_DOCUMENTS = st.dictionaries(
    st.text(),
    st.lists(st.text() | st.sampled_from(("}{", "][")) | st.none() | st.lists(st.integers())),
)


@given(st.lists(st.tuples(_DOCUMENTS | st.lists(_DOCUMENTS), st.sampled_from((None, 0, 1, 4)), st.sampled_from(("", " ", "\n", "\r\n\n "))), min_size=1, max_size=4))  # fmt: skip
def test_printed_documents_are_found_again(printed):
    text = "".join(json.dumps(document, indent=indent) + end for document, indent, end in printed)
    file = io.BytesIO(text.encode())
    found = list(documents_of(file))
    assert [json.loads(data) for data, _, _ in found] == [document for document, _, _ in printed]
    for data, line, at in found:
        assert text.encode()[at : at + len(data)] == data
        assert line == 1 + text.encode().count(b"\n", 0, at)
    assert several(file) == (len(printed) > 1)
    assert sum(size for _, _, size, _ in extents_of(file)) <= len(text.encode())


def test_a_section_reads_as_a_file_would():
    whole = io.BytesIO(b"0123456789")
    part = section(whole, Extent(1, 2, 5))
    assert (part.read(2), whole.seek(0), part.read(), part.read(1)) == (b"23", 0, b"456", b"")
    assert (part.seek(-1, io.SEEK_END), part.read(), part.tell()) == (4, b"6", 5)
    part.close()
    assert not whole.closed
    section(whole, Extent(1, 0, 1), closes=True).close()
    assert whole.closed
