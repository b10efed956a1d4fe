"""Lines found a block at a time: the same as one by one."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import pipeline.landing.batch.chunks
import pipeline.landing.records.lines
import pipeline.landing.records.printed
from pipeline import land
from pipeline.lake import Lake
from pipeline.landing.records.glue import unglued
from pipeline.landing.records.printed import ALONE, goes_on, printed
from pipeline.landing.records.reader import Piece, Source

LINE = st.sampled_from(
    [
        b"", b" ", b"\t", b"\r", b"{}", b'{"a": 1}', b' {"a": 2}', b'{"b": "\xc3\xa9"} ', b"[1]\r",
        b"{", b'  "a": 1', b"}", b"nonsense", b"\x00", b"\xef\xbb\xbf{}", b'{"c": 1}{"d": 2}',
    ]
)  # fmt: skip


def line_by_line(path: Path, *, glued: bool) -> list[Piece]:
    """Return what stands on each line, until a document printed over many begins."""
    found: list[Piece] = []
    offset = 0
    with path.open("rb") as file:
        for number, line in enumerate(path.read_bytes().split(b"\n"), 1):
            data = (line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line).strip()
            begin = offset + line.index(data)
            offset += len(line) + 1
            for at, value in [(0, data)] if glued else unglued(data):
                if value in ALONE and goes_on(file, number, begin + at):
                    return [*found, *printed(file, number, begin + at, len(found))]
                if value:
                    found.append(Piece(value, number, begin + at, len(found)))
    return found


@given(
    lines=st.lists(LINE, max_size=12),
    ended=st.booleans(),
    block=st.sampled_from([1, 7, 1 << 18]),
    glued=st.booleans(),
)
@example(lines=[b"{}", b"{", b'  "a": 1', b"}", b"{}"], ended=True, block=1, glued=True)
@example(lines=[b'{"a": 1}', b"", b"{", b"\x00"], ended=False, block=7, glued=True)
@example(lines=[b'{"c": 1}{"d": 2}', b'{"c": 1}{"d'], ended=True, block=1 << 18, glued=False)
def test_blocks_hold_the_lines(lines: list[bytes], ended: bool, block: int, glued: bool) -> None:
    data = b"\n".join(lines) + (b"\n" if ended else b"")
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(pipeline.landing.records.lines, "BLOCK", block)
        path = Path(folder) / "log.jsonl"
        path.write_bytes(data)
        patch.setattr(pipeline.landing.records.printed, "MOST_TRIES", 99)
        found = list(Source(path, str(path)).lines(glued=glued))
        assert found == line_by_line(path, glued=glued)


def run(number: int) -> bytes:
    return json.dumps({"run_id": f"r{number}", "steps": [{"kind": "final", "content": "x" * number}]}).encode()  # fmt: skip


@pytest.mark.parametrize(("records", "size"), [(4, 1 << 20), (1 << 16, 300), (1, 1 << 20), (7, 70)])
def test_full_batches_lose_no_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, records: int, size: int
) -> None:
    monkeypatch.setattr(pipeline.landing.batch.chunks, "MOST_RECORDS", records)
    monkeypatch.setattr(pipeline.landing.batch.chunks, "MOST_BYTES", size)
    monkeypatch.setattr(pipeline.landing.records.lines, "BLOCK", 100)
    lines = [run(number) for number in range(20)]
    (tmp_path / "log.jsonl").write_bytes(b"\n\n".join(lines) + b"\nno json\n")
    report = land([tmp_path / "log.jsonl"], tmp_path / "lake", workers=1)
    assert (report.runs, report.rejects) == (20, {"not_json": 1})
    batches = Lake.open(tmp_path / "lake").batches()
    assert max(batch.rows("runs") for batch in batches) <= records
    assert len(batches) > 1
    again = land([tmp_path / "log.jsonl"], tmp_path / "lake", workers=1)
    assert (again.runs, again.replaced) == (0, 0)
