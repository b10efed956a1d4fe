"""A decoder finds a document's members as the scanner does, and leaves to it what is odd."""

from __future__ import annotations

import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.landing import framing, whole
from pipeline.landing.members import members_but

KEYS = st.sampled_from(["a", "b", "info", 'q"', "é", "\n", ""])
VALUES = st.recursive(
    st.none() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(KEYS, inner),
)


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


def test_what_is_too_large_is_scanned(monkeypatch):
    monkeypatch.setattr(whole, "MOST_BYTES", 4)
    assert list(members_but(io.BytesIO(b'{"b": 1, "c": [2]}'), {"b"})) == [("c", b"[2]")]
