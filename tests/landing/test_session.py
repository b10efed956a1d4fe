"""A session is one record of many lines: what can be read lands, what cannot is reported."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import msgspec
import polars as pl
import pytest

from pipeline.errors import RejectedError
from pipeline.lake import Lake
from pipeline.landing.land import land
from pipeline.landing.records.reader import Piece
from pipeline.landing.records.session import first_and_last, parents_first, read_lines
from pipeline.landing.values.decode import values_of

if TYPE_CHECKING:
    from pathlib import Path


class Line(msgspec.Struct):
    a: int


_decode = msgspec.json.Decoder(Line).decode


def _read(
    text: bytes, line: int = 1, offset: int = 0
) -> tuple[list[int], list[tuple[object, ...]]]:
    good, damaged = read_lines(Piece(text, line, offset), _decode)
    return [x.a for x in good], [(x.line, x.offset, x.reason, x.data) for x in damaged]


@pytest.mark.parametrize(
    ("line", "values"),
    [
        (b'{"a":1}', [(0, b'{"a":1}')]),
        (b'{"a":"\xc3\xa9"} {"a":2}', [(0, b'{"a":"\xc3\xa9"}'), (11, b'{"a":2}')]),
        (b'{"a":1}TRAILER', [(0, b'{"a":1}'), (7, b"TRAILER")]),
        (b'{"a', [(0, b'{"a')]),
        (b'{"a":1}{"b":"\xff"}', [(0, b'{"a":1}'), (7, b'{"b":"\xff"}')]),
    ],
)
def test_values_glued_on_one_line(line, values):
    assert list(values_of(line)) == values


def test_good_lines_are_kept_and_bad_ones_placed():
    # Offsets by hand: 8 bytes a good line with its end, a blank line of 3, then `[1]`.
    text = b'{"a":1}\n \r\n[1]\n{"a":2}\n{"a":"x"}\n{"a":3'
    assert _read(text) == (
        [1, 2],
        [
            (3, 11, "not_an_object", b"[1]"),
            (5, 23, "wrong_type", b'{"a":"x"}'),
            (6, 33, "truncated", b'{"a":3'),
        ],
    )
    assert _read(b'{"a":"x"}', line=4, offset=30)[1][0][:2] == (4, 30)


def test_both_values_of_a_glued_line_are_read():
    assert _read(b'{"a":1}{"a":2}\n{"a":3}') == ([1, 2, 3], [])
    assert _read(b'{"a":"x"}{"a":2}') == ([2], [(1, 0, "wrong_type", b'{"a":"x"}')])
    assert _read(b'{"a":1}{"a":') == ([1], [(1, 7, "truncated", b'{"a":')])


def test_values_printed_over_many_lines_are_read():
    # Offsets by hand: 2 + 7 + 2 bytes a printed value with its line end; the second is bad.
    bad = (4, 11, "wrong_type", b'{\n"a": "x"\n}')
    assert _read(b'{\n"a": 1\n}\n{\n"a": "x"\n}\n{"a": 3}') == ([1, 3], [bad])
    line, offset, *rest = bad
    assert _read(b'{\n"a": 1\n}\n{\n"a": "x"\n}', line=3, offset=9)[1] == [
        (line + 2, offset + 9, *rest)
    ]
    assert _read(b'{"a":1}\n{\n"a": 2,\n"b": [\n{}]}\n{"a":3}') == ([1, 2, 3], [])
    assert _read(b'{"a": 1,\n"b": {}}\n{"a": 2,\n"b": {}}') == ([1, 2], [])
    assert _read(b'[{"a":1},\n{"a":"x"},\n{"a":2}]') == ([1, 2], [(2, 10, "wrong_type", b'{"a":"x"}')])  # fmt: skip


def test_a_printed_value_cut_off_is_refused_alone():
    assert _read(b'{\n"a": 1\n}\n{\n"a": 2,\n"b": "\n{\n"a": 3\n}') == (
        [1, 3],
        [(4, 11, "truncated", b'{\n"a": 2,\n"b": "')],
    )


def test_a_line_that_is_no_utf8_does_not_lose_the_others():
    good, damaged = _read(b'{"a":1}\n{"a":2,"b":"\xff"}\n{"a":3}')
    assert (good, [reason for _, _, reason, _ in damaged]) == ([1, 3], ["invalid_utf8"])


def _ordered(*items: str) -> list[str]:
    return parents_first(items, lambda x: x[0], lambda x: x[1:] or None)


def test_order_is_the_files_unless_a_parent_comes_late():
    assert _ordered("a", "ba", "ca", "db") == ["a", "ba", "ca", "db"]
    assert _ordered("a", "cb", "x", "ba") == ["a", "ba", "cb", "x"]
    assert _ordered("cb", "ba", "a") == ["a", "ba", "cb"]
    assert _ordered("bz", "a") == ["bz", "a"]  # the parent is in another file


def test_a_circle_of_parents_ends():
    assert sorted(_ordered("ab", "ba")) == ["ab", "ba"]


def test_first_and_last_moment():
    assert first_and_last([None, "x"]) == (None, None)
    assert first_and_last(["2026-01-01T02:00:00+02:00", "2026-01-01T00:00:01Z", None]) == (
        "2026-01-01T02:00:00+02:00",
        "2026-01-01T00:00:01Z",
    )


SESSION = "7b7f3a9e-0b0f-4b36-8f6f-3f5a5d0c1e2a"


def _write(path: Path, *lines: str) -> Path:
    path.write_text("\n".join(lines))
    return path


def _user(text: str, uuid: str) -> str:
    message = {"role": "user", "content": text}
    return json.dumps({"type": "user", "sessionId": SESSION, "uuid": uuid, "message": message})


def test_a_damaged_line_is_refused_and_its_run_lands(tmp_path):
    bad = '{"type":"assistant","message":{"api_key":"sk-0123456789abcdef"'
    file = _write(tmp_path / "s.jsonl", _user("a", "1"), bad, _user("b", "2"))
    report = land([file], tmp_path / "lake", workers=1)
    (batch,) = Lake.open(tmp_path / "lake").batches()
    refused = pl.read_parquet(batch.file("rejects"))
    assert (report.runs, report.rejects) == (1, {"truncated": 1})
    at = len(_user("a", "1")) + 1
    assert refused.select("line", "byte_offset", "reason").rows() == [(2, at, "truncated")]
    assert "sk-0123" not in refused["excerpt"][0]
    assert pl.read_parquet(batch.file("steps"))["content"].to_list() == ["a", "b"]


def test_strict_refuses_a_damaged_line_with_its_place(tmp_path):
    file = _write(tmp_path / "s.jsonl", _user("a", "1"), "{")
    with pytest.raises(RejectedError, match=r"s\.jsonl:2: truncated"):
        land([file], tmp_path / "lake", strict=True, workers=1)


def test_a_longer_export_of_a_session_takes_the_place_of_its_snapshot(tmp_path):
    lines = [_user("a", "1"), _user("b", "2")]
    for number in (1, 2):
        file = _write(tmp_path / f"{number}.jsonl", *lines[:number])
        report = land([file], tmp_path / "lake", workers=1)
    assert (report.runs, report.replaced) == (1, 1)
