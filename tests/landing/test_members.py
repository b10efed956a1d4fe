"""A decoder finds a document's members as the scanner does, and leaves to it what is odd."""

from __future__ import annotations

import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.landing.records import framing, reader, whole, window
from pipeline.landing.records.members import members_but
from pipeline.landing.records.reader import Source
from pipeline.landing.records.reading import layout
from pipeline.landing.records.whole import is_one_value

KEYS = st.sampled_from(["a", "b", "info", 'q"', "é", "\n", ""])
VALUES = st.recursive(
    st.none() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(KEYS, inner),
)
SHORT = st.recursive(
    st.none() | st.integers(-9, 10**9) | st.text(max_size=4),
    lambda inner: st.lists(inner) | st.dictionaries(KEYS, inner),
)
"""Texts and numbers fit into a window that is tried; not all lists and objects do."""


def _both(data: bytes) -> tuple[list[tuple[str, bytes]], list[tuple[str, bytes]]]:
    quick = list(members_but(io.BytesIO(data), {"a", "é"}))
    return quick, list(framing.members_but(io.BytesIO(data), {"a", "é"}))


@given(
    pairs=st.lists(st.tuples(KEYS, VALUES), max_size=5),
    indent=st.sampled_from([None, 1]),
    plain=st.booleans(),
    cut=st.integers(0, 9) | st.none(),
)
def test_both_find_the_same_members(pairs, indent, plain, cut):
    """Also of a name that stands twice, and of a document that is cut off."""
    bodies = [json.dumps({k: v}, indent=indent, ensure_ascii=plain)[1:-1] for k, v in pairs]
    data = ("{" + ",".join(bodies) + "}").encode()
    quick, scanned = _both(data if cut is None else data[: len(data) - cut])
    assert quick == scanned


@pytest.mark.parametrize(
    "text",
    ["", "[1]", '"a"', "{}", " {\n} ", '{"b": 1}{"c": 2}', '{"b": 1}\n[', '{"b": NaN, "c": 1}',
     '{"\\u0062": 1, "b": 2}', '{"b": 1, "b": 1}', '{"b" : 1 , "c":2}', '{"b": [1, {"c": 2}]}',
     '\ufeff{"b": 1}', '{"b": 1 "c": 2}', '{"b": 1,}'],
)  # fmt: skip
def test_odd_documents_are_read_as_the_scanner_reads_them(text):
    quick, scanned = _both(text.encode())
    assert quick == scanned


@given(
    pairs=st.lists(st.tuples(KEYS, SHORT), max_size=5),
    indent=st.sampled_from([None, 1]),
    block=st.sampled_from([1, 7, 1 << 20]),
    cut=st.integers(0, 9),
    behind=st.sampled_from(["", "\n", " {}", "x"]),
)
def test_a_document_larger_than_memory_shows_the_same(pairs, indent, block, cut, behind):
    """Whether it is read as a whole, or in blocks, values larger than any window among them."""
    bodies = [json.dumps({k: v}, indent=indent)[1:-1] for k, v in pairs]
    data = ("{" + ",".join(bodies) + "}").encode()
    data = data[: len(data) - cut] + behind.encode()
    at_once = layout(io.BytesIO(data))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(whole, "MOST_BYTES", -1)
        patch.setattr(window, "BLOCK", block)
        patch.setattr(window, "MOST_BLOCKS", 64 // block + 1)
        in_blocks = layout(io.BytesIO(data))
    assert _values(data, in_blocks) == _values(data, at_once)
    assert (at_once is None) == (not is_one_value(data))
    if at_once is not None:
        told = [(member.name, json.loads(value)) for member, value in _values(data, at_once)]
        assert told == [(name, value) for name, value in pairs]


def _values(data, found):
    """Return members and values; where values end, blanks may be counted or not."""
    if found is None:
        return None
    return [
        (
            one._replace(extent=one.extent._replace(size=0)),
            data[one.extent.offset : one.extent.offset + one.extent.size].strip(),
        )
        for one in found
    ]


@pytest.mark.parametrize(
    ("text", "found"),
    [("[1, [2], {}]", []), ("7", []), ('"a" ', []), ("", None), ("[1] [2]", None), ("[1,]", None),
     ("[1 2]", None), ('{"a" 1}', None), ('{"a": }', None), ('{"a": NaN}', None), ("[" * 99999, None),
     ('{"a":' * 9999, None), ('["\\ud800"]', None), ("[1", None), ("{}\ufeff", None), ("\ufeff{}", []), ("\ufeff\ufeff{}", None)],
)  # fmt: skip
@pytest.mark.parametrize("most", [-1, 1 << 20])
def test_what_is_no_sound_document_is_none(monkeypatch, text, found, most):
    monkeypatch.setattr(whole, "MOST_BYTES", most)
    if text.strip() in {"7", '"a"'} and most < 0:
        found = None  # a large file that is one number or one text holds no records
    assert layout(io.BytesIO(text.encode())) == found


def test_a_document_is_looked_at_once_whatever_is_asked_of_it(tmp_path, monkeypatch):
    data = {"info": {"a": 1}, "tasks": [1, 2], "runs": [{"b": 2}], "rest": None}
    text = json.dumps(data, indent=1)
    (tmp_path / "a.json").write_text(text)
    looked = []
    monkeypatch.setattr(reader, "layout", lambda file: looked.append(1) or layout(file))
    source = Source(tmp_path / "a.json", "a.json")
    assert source.head.framing == "object"
    assert [piece.data for piece in source.elements("tasks")] == [b"1", b"2"]
    assert [(p.line, p.offset) for p in source.elements("runs")] == [
        (10, text.index("{", text.index("runs")))
    ]
    assert list(source.elements("info")) == []
    assert json.loads(source.member("info")) == {"a": 1}
    assert list(source.others("info", {"info", "tasks", "runs"})) == [("rest", b"null")]
    assert looked == [1]
