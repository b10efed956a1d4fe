"""Records with a frame around each land as the lines within do: text sequences, sent events."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lakes import trajtab
from making import call, run, runs_of, steps_of, write
from reading import SAMPLES

from pipeline.errors import UnrecognisedError
from pipeline.lake import Lake
from pipeline.landing.land import land
from pipeline.landing.source import transport
from pipeline.landing.source.framed import blanked, unframed

if TYPE_CHECKING:
    from pathlib import Path

RECORDS = [run(f"r{i}", call("look", {"i": i, "text": "data: \u00e9"})) for i in range(3)]
LINES = [json.dumps(record, ensure_ascii=False).encode() for record in RECORDS]


def rejects_of(lake: Path) -> list[tuple[object, ...]]:
    """Return line, offset and reason of what was refused."""
    files = [batch.file("rejects") for batch in Lake.open(lake).batches() if batch.rows("rejects")]
    found = pl.concat([pl.read_parquet(file) for file in files])
    return found.select("line", "byte_offset", "reason").rows()


def _printed(record: object) -> bytes:
    return json.dumps(record, indent=1, ensure_ascii=False).encode()


FRAMED = {
    "a sequence": b"".join(b"\x1e%b\n" % line for line in LINES),
    "marks that come twice, blanks, carriage returns": b"".join(
        b"\x1e\x1e %b\r\n" % line for line in LINES
    ),
    "no end of lines at all": b"".join(b"\x1e%b" % line for line in LINES),
    "printed over many lines": b"".join(b"\x1e%b\n" % _printed(record) for record in RECORDS),
    "marks that end every line, too": b"".join(b"\x1e%b\x1e\n" % line for line in LINES),
    "marks that end every line, alone": b"".join(b"%b \x1e\r\n" % line for line in LINES),
    "its writer killed right behind a mark": b"".join(b"\x1e%b\n" % line for line in LINES)[:-1]
    + b"\x1e",
    "marks on lines of their own": b"".join(b"\x1e\n%b\n" % line for line in LINES),
    "events": b"".join(b"data: %b\n\n" % line for line in LINES),
    "events with all that may stand around them": b": hello\nretry: 10\n\n"
    + b"".join(b"event: run\nid: %d\ndata:%b\n\n" % told for told in enumerate(LINES))
    + b"data: [DONE]\n\n",
    "events with carriage returns": b"".join(b"event: run\r\ndata: %b\r\n\r\n" % x for x in LINES),
    "events whose data are many lines": b"".join(
        b"".join(b"data: %b\n" % line for line in _printed(record).split(b"\n")) + b"\n"
        for record in RECORDS
    ),
    "events that are indented, behind a blank line": b"  \n"
    + b"".join(b" \t data: %b\n\n" % line for line in LINES),
    "marked as UTF-8": b"\xef\xbb\xbf" + b"".join(b"data: %b\n\n" % line for line in LINES),
}


@pytest.mark.parametrize("how", FRAMED)
@pytest.mark.parametrize("packed", [False, True])
def test_framed_is_plain(tmp_path: Path, how: str, packed: bool) -> None:
    plain = write(tmp_path / "plain.jsonl", RECORDS)
    path = tmp_path / "stream"
    path.write_bytes(gzip.compress(FRAMED[how]) if packed else FRAMED[how])
    land([plain], tmp_path / "a", workers=1)
    report = land([path], tmp_path / "b", workers=1)
    assert (report.runs, report.rejects.total()) == (3, 0)
    gone = "landed_at", "source_path", "source_line", "run_key"
    assert runs_of(tmp_path / "b").drop(gone).equals(runs_of(tmp_path / "a").drop(gone))
    assert set(runs_of(tmp_path / "b")["source_path"]) == {str(path)}
    for_each = steps_of(tmp_path / "b").drop("run_key")
    assert for_each.equals(steps_of(tmp_path / "a").drop("run_key"))


def test_a_cut_off_record_of_a_sequence_costs_itself_alone(tmp_path: Path) -> None:
    """The second was never finished: the next writer's mark follows on its line; nor the last."""
    path = tmp_path / "log.json-seq"
    path.write_bytes(
        b"\x1e%b\n\x1e%b\x1e%b\n\x1e%b" % (LINES[0], LINES[1][:20], LINES[2], b'{"run_id": "r9')
    )
    report = land([path], tmp_path / "lake", workers=1)
    assert report.runs == 2
    first = len(LINES[0]) + 2  # its mark, and the line's end
    last = first + 1 + 20 + 1 + len(LINES[2]) + 1
    told = rejects_of(tmp_path / "lake")
    assert told == [(2, first + 1, "truncated"), (3, last + 1, "truncated")]
    assert runs_of(tmp_path / "lake")["source_line"].to_list() == [1, 2]


def test_a_cut_off_record_printed_over_many_lines_costs_itself_alone(tmp_path: Path) -> None:
    whole = _printed(RECORDS[0])
    path = tmp_path / "log.json-seq"
    path.write_bytes(b"\x1e%b\n\x1e%b\n\x1e%b\n" % (whole, whole[:40], _printed(RECORDS[2])))
    report = land([path], tmp_path / "lake", workers=1)
    assert (report.runs, report.rejects.total()) == (2, 1)
    (told,) = rejects_of(tmp_path / "lake")
    assert told[:2] == (whole.count(b"\n") + 2, len(whole) + 3)


def test_frames_are_taken_off_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A copy in which some were left would be copied again, up to four times."""
    copied = []
    monkeypatch.setattr(
        transport, "blanked", lambda *told: (copied.append(told[0]), blanked(*told))[1]
    )
    for number, framed in enumerate(FRAMED.values()):
        path = tmp_path / f"stream{number}"
        path.write_bytes(framed)
        land([path], tmp_path / "lake", workers=1)
    assert len(copied) == len(FRAMED)


def test_a_mark_inside_a_text_is_no_frame(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(LINES[0] + b"\n" + LINES[1].replace(b"look", b"lo\x1eok") + b"\n")
    assert land([path], tmp_path / "lake", workers=1).rejects == {"control_character": 1}


def test_damage_in_events_is_where_it_is_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "capture.txt"
    lead = b": hello\nevent: run\ndata: %b\n\nevent: run\n" % LINES[0]
    path.write_bytes(lead + b'data: {"run_id": NaN}\n\ndata: %b\n\n' % LINES[1])
    assert land([path], tmp_path / "lake", workers=1).runs == 2
    assert rejects_of(tmp_path / "lake") == [(6, len(lead) + 6, "nan_or_infinity")]
    assert runs_of(tmp_path / "lake")["source_line"].to_list() == [3, 8]


def test_a_session_lands_from_events(tmp_path: Path) -> None:
    """Formats of whole files see lines, too."""
    session = next(path for path in (SAMPLES / "codex_exec").rglob("*") if path.is_file())
    lines = session.read_bytes().splitlines()
    path = tmp_path / "capture"
    path.write_bytes(b"".join(b"data: %b\n\n" % line for line in lines))
    land([session], tmp_path / "a", workers=1)
    report = land([path], tmp_path / "b", workers=1)
    assert [file.format for file in report.recognised] == ["codex_exec"]
    columns = ["kind", "tool_name", "tool_args", "output", "content", "input_tokens"]
    assert steps_of(tmp_path / "b")[columns].equals(steps_of(tmp_path / "a")[columns])


CHUNK = {"id": "c", "object": "chat.completion.chunk", "choices": [{"delta": {"content": "Hi"}}]}
PIECES = {
    "chat.completion.chunk": CHUNK,
    "content_block_delta": {"type": "content_block_delta", "index": 0, "delta": {"text": "Hi"}},
    "message_start": {"type": "message_start", "message": {"role": "assistant", "content": []}},
    "response.created": {"type": "response.created", "response": {"output": []}},
    "response.output_text.delta": {"type": "response.output_text.delta", "delta": "Hi"},
    "text-delta": {"type": "text-delta", "id": "0", "delta": "Hi"},
}


@pytest.mark.parametrize("name", PIECES)
@pytest.mark.parametrize("line", [b"data: %b\n\n", b"%b\n"])
def test_pieces_of_answers_are_refused_and_told_why(tmp_path: Path, name: str, line: bytes) -> None:
    path = tmp_path / "capture.txt"
    path.write_bytes(2 * (line % json.dumps(PIECES[name]).encode()) + line % b"[DONE]")
    with pytest.raises(UnrecognisedError) as refused:
        land([path], tmp_path / "lake", workers=1)
    told = f"it holds pieces of an answer as they streamed ({name}), and no whole message"
    assert told in str(refused.value)
    assert "save the finished" in str(refused.value)


def test_the_command_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "capture.txt"
    path.write_text(f"data: {json.dumps(CHUNK)}\n\ndata: [DONE]\n")
    assert trajtab("land", path, "--lake", tmp_path / "lake") == 2
    assert "(chat.completion.chunk)" in capsys.readouterr().err


@pytest.mark.parametrize(
    "text", [b'{"data": 1}\n', b"data: 5\n", b"note: x\ndata: {}\n", b"", b": only a comment\n"]
)
def test_what_is_no_frame_is_left_alone(text: bytes) -> None:
    assert unframed(text) is None


@given(
    st.lists(
        st.sampled_from([b"\x1e", b'{"a": 1}', b"\n", b"\r\n", b"data: ", b"event: x", b": c"]),
        max_size=12,
    )
)
def test_every_byte_that_stays_stays_in_its_place(parts: list[bytes]) -> None:
    for text in (b"\x1e" + b"".join(parts), b"data: {}\n" + b"".join(parts)):
        blank = unframed(text)
        assert blank is not None
        found = blank(text)
        assert len(found) == len(text)
        for at, (old, new) in enumerate(zip(text, found, strict=True)):
            if new not in b" \n":
                assert (old, text.count(b"\n", 0, at)) == (new, found.count(b"\n", 0, at))
