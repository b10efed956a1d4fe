"""Packed and streamed logs land as the plain ones do; damage costs what it hit and is told once."""

from __future__ import annotations

import gzip
import io
import json
import lzma
import os
import random
import subprocess
import sys
import tempfile
import threading
import zipfile
from typing import TYPE_CHECKING

import polars as pl
import pyarrow as pa
import pytest
from making import call, run, runs_of, steps_of, write
from reading import SAMPLES

from pipeline.errors import LakeError, RejectedError, UnrecognisedError
from pipeline.lake import Lake
from pipeline.landing.batch import chunks
from pipeline.landing.land import land
from pipeline.landing.source import transport

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

RECORDS = [run(f"r{i:03}", call("look", {"i": i})) for i in range(300)]
_random = random.Random(7)  # noqa: S311 - text that packs badly, so that a file has several blocks
LONG = [run(f"r{i:03}", call("look", {"x": _random.randbytes(900).hex()})) for i in range(300)]


def _zstd(data: bytes) -> bytes:
    packed = pa.BufferOutputStream()
    with pa.CompressedOutputStream(packed, "zstd") as stream:
        stream.write(data)
    return bytes(packed.getvalue())


PACKERS = {"gz": gzip.compress, "xz": lzma.compress, "zst": _zstd}


def lines(records: list[dict[str, object]], folder: Path) -> bytes:
    return write(folder / "plain" / "log.jsonl", records).read_bytes()


def rejects_of(lake: Path) -> pl.DataFrame:
    files = [batch.file("rejects") for batch in Lake.open(lake).batches() if batch.rows("rejects")]
    return pl.concat([pl.read_parquet(file) for file in files])


def ids(lake: Path) -> list[str]:
    return runs_of(lake)["run_id"].to_list()


@pytest.fixture(autouse=True)
def own_temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    monkeypatch.setenv("TMPDIR", str(folder))
    return folder


@pytest.mark.parametrize("suffix", PACKERS)
@pytest.mark.parametrize("name", ["log.jsonl.{}", "named_otherwise"])
def test_packed_is_plain(
    tmp_path: Path, own_temporary_folder: Path, suffix: str, name: str
) -> None:
    data = lines(RECORDS, tmp_path)
    path = tmp_path / name.format(suffix)
    path.write_bytes(PACKERS[suffix](data))
    land([tmp_path / "plain" / "log.jsonl"], tmp_path / "a")
    report = land([path], tmp_path / "b")
    gone = "landed_at", "source_path"
    assert runs_of(tmp_path / "b").drop(gone).equals(runs_of(tmp_path / "a").drop(gone))
    assert steps_of(tmp_path / "b").equals(steps_of(tmp_path / "a"))
    assert set(runs_of(tmp_path / "b")["source_path"]) == {str(path)}
    assert report.recognised[0].source.shown == str(path)
    assert list(own_temporary_folder.iterdir()) == []


@pytest.mark.parametrize("suffix", PACKERS)
def test_streams_that_follow_each_other(tmp_path: Path, suffix: str) -> None:
    first, second = lines(RECORDS[:5], tmp_path), lines(RECORDS[5:9], tmp_path)
    packed = PACKERS[suffix](first) + PACKERS[suffix](second)
    (tmp_path / "log").write_bytes(packed)
    assert land([tmp_path / "log"], tmp_path / "lake").runs == 9


@pytest.mark.parametrize("suffix", PACKERS)
def test_what_came_before_the_end_lands(tmp_path: Path, suffix: str) -> None:
    data = lines(LONG, tmp_path)
    packed = PACKERS[suffix](data)
    path = tmp_path / "log"
    path.write_bytes(packed[: len(packed) * 2 // 3])
    report = land([path], tmp_path / "lake")
    assert report.rejects == {"damaged_archive": 1}
    found = ids(tmp_path / "lake")
    assert found == [f"r{i:03}" for i in range(len(found))]
    assert 0 < len(found) < 300
    ((source, line, offset, detail),) = rejects_of(tmp_path / "lake").select(
        "source_path", "line", "byte_offset", "detail"
    ).rows()  # fmt: skip
    assert source == str(path)
    assert line == len(found) + 1
    assert len(b"".join(data.splitlines(keepends=True)[: len(found)])) <= offset < len(data)
    assert detail
    again = land([path], tmp_path / "lake")
    assert (again.already, again.batches) == (1, 0)


def test_a_whole_copy_of_what_was_cut_off_lands_the_rest(tmp_path: Path) -> None:
    packed = gzip.compress(lines(RECORDS, tmp_path))
    (tmp_path / "cut.gz").write_bytes(packed[:-9])
    (tmp_path / "whole.gz").write_bytes(packed)
    land([tmp_path / "cut.gz"], tmp_path / "lake")
    report = land([tmp_path / "whole.gz"], tmp_path / "lake")
    assert report.rejects == {}
    assert len(ids(tmp_path / "lake")) == 300


@pytest.mark.parametrize("suffix", ["gz", "xz"])
def test_a_changed_byte_is_noticed(tmp_path: Path, suffix: str) -> None:
    packed = bytearray(PACKERS[suffix](lines(LONG, tmp_path)))
    packed[len(packed) // 2] ^= 0xFF
    (tmp_path / "log").write_bytes(packed)
    report = land([tmp_path / "log"], tmp_path / "lake")
    assert report.rejects["damaged_archive"] == 1


def test_a_damaged_array_is_one_reject(tmp_path: Path) -> None:
    cases = [{"case_id": f"c{i}", "actual": [{"name": "a", "args": {"i": i}}]} for i in range(50)]
    text = json.dumps(cases).encode()
    packed = gzip.compress(text[:-30])
    (tmp_path / "pairs.gz").write_bytes(packed[:-9])
    report = land([tmp_path / "pairs.gz"], tmp_path / "lake")
    assert report.rejects == {"damaged_archive": 1}
    assert report.runs == 49


def test_damage_after_a_blank_is_one_reject(tmp_path: Path) -> None:
    data = lines(RECORDS[:2], tmp_path) + b'{"run_id": '
    (tmp_path / "log.gz").write_bytes(gzip.compress(data)[:-8])
    report = land([tmp_path / "log.gz"], tmp_path / "lake")
    assert (report.runs, report.rejects) == (2, {"damaged_archive": 1})
    told = rejects_of(tmp_path / "lake").select("line", "byte_offset").rows()
    assert told == [(3, len(data) - 1)]


def test_a_bad_line_of_a_damaged_file_is_told_too(tmp_path: Path) -> None:
    data = lines(RECORDS[:2], tmp_path) + b'{"run_id":"x"}\n{"run_id":"y"}'
    (tmp_path / "log.gz").write_bytes(gzip.compress(data)[:-8])
    report = land([tmp_path / "log.gz"], tmp_path / "lake")
    assert (report.runs, report.rejects) == (2, {"missing_field": 2, "damaged_archive": 1})


def test_strict_stops_at_damage(tmp_path: Path) -> None:
    (tmp_path / "log.gz").write_bytes(gzip.compress(lines(RECORDS, tmp_path))[:-9])
    with pytest.raises(RejectedError, match=r"log\.gz:301: damaged_archive: "):
        land([tmp_path / "log.gz"], tmp_path / "lake", strict=True)


def test_nothing_left_of_an_archive_is_told(tmp_path: Path) -> None:
    (tmp_path / "log.gz").write_bytes(gzip.compress(b"x")[:10])
    with pytest.raises(UnrecognisedError, match=r"log\.gz: damaged archive: it ends inside"):
        land([tmp_path / "log.gz"], tmp_path / "lake")


def test_damage_of_a_file_of_many_batches_is_told_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chunks, "MOST_RECORDS", 40)
    (tmp_path / "log.gz").write_bytes(gzip.compress(lines(RECORDS, tmp_path))[:-9])
    report = land([tmp_path / "log.gz"], tmp_path / "lake", workers=1)
    assert (report.batches, report.runs) == (8, 300)
    assert report.rejects == {"damaged_archive": 1}


@pytest.mark.parametrize("flag", ["encrypted", "deflate64"])
def test_a_member_that_cannot_be_unpacked_is_told(tmp_path: Path, flag: str) -> None:
    """The other members land; --from lands what there is of it: nothing, and a reject."""
    files = {"a.jsonl": lines(RECORDS[:3], tmp_path), "b.jsonl": lines(RECORDS[3:5], tmp_path)}
    packed = bytearray(zipped(tmp_path / "x.zip", files).read_bytes())
    for mark, flags_at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        at = packed.index(mark) + flags_at
        packed[at : at + 4] = b"\1\0\x08\0" if flag == "encrypted" else b"\0\0\x09\0"
    (tmp_path / "x.zip").write_bytes(packed)
    report = land([tmp_path / "x.zip"], tmp_path / "lake")
    assert report.runs == 2
    (told,) = report.unrecognised
    assert "x.zip!a.jsonl: damaged archive: " in told
    report = land([tmp_path / "x.zip"], tmp_path / "named", format="trajtab")
    assert (report.runs, report.rejects) == (2, {"damaged_archive": 1})


def test_workers_read_the_copies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunks, "MOST_RECORDS", 100)
    (tmp_path / "log.gz").write_bytes(gzip.compress(lines(RECORDS, tmp_path)))
    assert land([tmp_path / "log.gz"], tmp_path / "lake", workers=2).batches == 3
    assert len(ids(tmp_path / "lake")) == 300


def zipped(path: Path, files: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return path


@pytest.fixture
def three(tmp_path: Path) -> dict[str, bytes]:
    return {
        "day/a.jsonl": lines(RECORDS[:3], tmp_path),
        "day/b.jsonl.gz": gzip.compress(lines(RECORDS[3:5], tmp_path)),
        "c.jsonl": lines(RECORDS[5:9], tmp_path),
        "__MACOSX/c.jsonl": b"no log",
        "day/.hidden": b"no log",
    }


@pytest.mark.parametrize(
    "method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA]
)
def test_each_member_is_a_source(tmp_path: Path, three: dict[str, bytes], method: int) -> None:
    path = zipped(tmp_path / "x.zip", three, method)
    report = land([path], tmp_path / "lake")
    assert report.unrecognised == []
    shown = runs_of(tmp_path / "lake").select("run_id", "source_path").rows()
    names = ["day/a.jsonl"] * 3 + ["day/b.jsonl.gz"] * 2 + ["c.jsonl"] * 4
    assert shown == [(f"r{i:03}", f"{path}!{name}") for i, name in enumerate(names)]


@pytest.mark.parametrize(
    ("method", "streamed"),
    [(zipfile.ZIP_STORED, False), (zipfile.ZIP_DEFLATED, False), (zipfile.ZIP_DEFLATED, True)],
)
def test_an_archive_without_its_directory(
    tmp_path: Path, three: dict[str, bytes], method: int, *, streamed: bool
) -> None:
    """Cut off before the directory at its end: every member lands, the last tells of it."""
    files = {name: three[name] for name in ("day/a.jsonl", "c.jsonl")}
    whole = zipped(tmp_path / "x.zip", files, method).read_bytes()
    if streamed:
        into = io.BytesIO()
        sink = io.BufferedWriter(_Unseekable(into))
        with zipfile.ZipFile(sink, "w", method) as archive:  # type: ignore[arg-type]
            for name, data in files.items():
                archive.writestr(name, data)
        sink.flush()
        whole = into.getvalue()
    (tmp_path / "x.zip").write_bytes(whole[: whole.index(b"PK\x01\x02")])
    report = land([tmp_path / "x.zip"], tmp_path / "lake")
    assert report.runs == 7
    assert report.rejects == {"damaged_archive": 1}
    (source,) = rejects_of(tmp_path / "lake")["source_path"]
    assert source.endswith("x.zip!c.jsonl")


class _Unseekable(io.RawIOBase):
    def __init__(self, into: io.BytesIO) -> None:
        self._into = into

    def writable(self) -> bool:
        return True

    def write(self, data: bytes) -> int:  # type: ignore[override]
        return self._into.write(data)


def test_a_member_cut_off_lands_as_far_as_it_goes(tmp_path: Path) -> None:
    files = {"a.jsonl": lines(RECORDS[:3], tmp_path), "b.jsonl": lines(LONG[3:], tmp_path)}
    whole = zipped(tmp_path / "x.zip", files).read_bytes()
    (tmp_path / "x.zip").write_bytes(whole[: len(whole) // 2])
    report = land([tmp_path / "x.zip"], tmp_path / "lake")
    assert report.rejects == {"damaged_archive": 1}
    found = ids(tmp_path / "lake")
    assert found == [f"r{i:03}" for i in range(len(found))]
    assert 100 < len(found) < 200


def test_a_damaged_member_leaves_the_others_whole(tmp_path: Path) -> None:
    files = {"a.jsonl": lines(LONG[:200], tmp_path), "b.jsonl": lines(LONG[200:], tmp_path)}
    packed = bytearray(zipped(tmp_path / "x.zip", files).read_bytes())
    packed[len(packed) // 3] ^= 0xFF
    (tmp_path / "x.zip").write_bytes(packed)
    report = land([tmp_path / "x.zip"], tmp_path / "lake")
    assert report.rejects["damaged_archive"] == 1
    assert set(ids(tmp_path / "lake")) >= {f"r{i:03}" for i in [*range(50), *range(200, 300)]}


def test_names_in_an_archive_stay_inside(tmp_path: Path) -> None:
    files = {
        "../../out.jsonl": lines(RECORDS[:1], tmp_path),
        "/abs.jsonl": lines(RECORDS[1:2], tmp_path),
        "x": lines(RECORDS[2:3], tmp_path),
        "x/y": lines(RECORDS[3:4], tmp_path),
        "./x": lines(RECORDS[4:5], tmp_path),
    }
    path = zipped(tmp_path / "x.zip", files)
    before = {p for p in tmp_path.rglob("*") if "lake" not in p.parts}
    assert land([path], tmp_path / "lake").runs == 5
    assert {p for p in tmp_path.rglob("*") if "lake" not in p.parts} == before


def test_packed_again_and_again(tmp_path: Path) -> None:
    """A few layers come off; an archive may hold itself, so not any number of them."""
    data = lines(RECORDS[:2], tmp_path)
    for layer in range(1, 7):
        data = zipped(tmp_path / "x.zip", {"inner": gzip.compress(data)}).read_bytes()
        if layer <= 2:
            assert land([tmp_path / "x.zip"], tmp_path / "lake", dry_run=True).runs == 2
    (tmp_path / "x.gz").write_bytes(gzip.compress(data))
    for name in ("x.zip", "x.gz"):  # what is left is a zip archive, and gzip
        with pytest.raises(UnrecognisedError, match=rf"{name}!inner.*: packed more than 4 times"):
            land([tmp_path / name], tmp_path / "lake")


def test_packed_too_deep_is_told_whatever_its_bytes_spell(tmp_path: Path) -> None:
    """A line of packed bytes may be JSON by chance, as the 7 here, which is stored as it is."""
    data = zipped(tmp_path / "x.zip", {"inner": b"\n7\n"}, zipfile.ZIP_STORED).read_bytes()
    for _ in range(4):
        data = gzip.compress(data)
    (tmp_path / "log").write_bytes(data)
    with pytest.raises(UnrecognisedError, match="log: packed more than 4 times over; unpack it"):
        land([tmp_path / "log"], tmp_path / "lake")


def test_a_member_with_a_name_no_file_system_takes(tmp_path: Path) -> None:
    path = zipped(
        tmp_path / "x.zip", {f"{'long' * 100}/{'ü' * 200}.jsonl": lines(RECORDS, tmp_path)}
    )
    assert land([path], tmp_path / "lake").runs == 300


def test_no_room_for_copies_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> tuple[int, None]:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(transport, "_write", full)
    (tmp_path / "log.gz").write_bytes(gzip.compress(b"x"))
    with pytest.raises(LakeError, match=r"cannot unpack here: No space left .* TMPDIR"):
        land([tmp_path / "log.gz"], tmp_path / "lake")


@pytest.mark.parametrize("files", [{}, {"a/": b""}])
def test_an_archive_without_files(tmp_path: Path, files: dict[str, bytes]) -> None:
    with pytest.raises(UnrecognisedError, match=r"x\.zip: .*no file in it can be unpacked"):
        land([zipped(tmp_path / "x.zip", files)], tmp_path / "lake")


def test_an_inspect_archive_is_one_source(tmp_path: Path) -> None:
    log = json.loads((SAMPLES / "inspect_log/trip_desk.json").read_text())
    samples = log.pop("samples")
    files = {f"samples/{s['id']}_epoch_{s['epoch']}.json": json.dumps(s).encode() for s in samples}
    files = {"header.json": json.dumps(log).encode(), **files}
    path = zipped(tmp_path / "log.eval", files)
    report = land([path], tmp_path / "lake")
    assert [(f.format, f.source.shown) for f in report.recognised] == [("inspect_log", str(path))]
    assert report.runs == len(samples) > 0
    outer = zipped(tmp_path / "x.zip", {"log.eval": path.read_bytes()})
    again = land([outer], tmp_path / "lake")
    assert (again.runs, again.duplicates) == (0, len(samples))


def test_a_model_is_named_by_the_file_inside(tmp_path: Path) -> None:
    """These results are named for their model, which no line names."""
    (path,) = (SAMPLES / "bfcl_result").iterdir()
    (tmp_path / "aurora.jsonl.gz").write_bytes(gzip.compress(path.read_bytes()))
    land([tmp_path / "aurora.jsonl.gz"], tmp_path / "lake")
    assert set(runs_of(tmp_path / "lake")["model"]) == {"aurora"}
    land([zipped(tmp_path / "birch.zip", {"BFCL_v4_x.json": path.read_bytes()})], tmp_path / "zip")
    assert set(runs_of(tmp_path / "zip")["model"]) == {"birch"}


def test_formats_find_names_and_neighbours_inside(tmp_path: Path) -> None:
    """What a format reads of a file's name, or of the file beside it, is there when packed."""
    folder = SAMPLES / "tau2_directory"
    file = next(path for path in sorted((SAMPLES / "bfcl_result").rglob("*")) if path.is_file())
    land([file, folder], tmp_path / "plain")
    inside = {
        str(path.relative_to(SAMPLES)): path.read_bytes()
        for path in [file, *folder.rglob("*")]
        if path.is_file()
    }
    land([zipped(tmp_path / "x.zip", inside)], tmp_path / "lake")
    gone = "landed_at", "source_path", "run_key"
    order = "run_id", "task_id"
    found, right = (runs_of(tmp_path / lake).drop(gone).sort(order) for lake in ("lake", "plain"))
    assert found.height > 1
    assert found.equals(right)
    assert land([tmp_path / "x.zip"], tmp_path / "lake").batches == 0


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_standard_input(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    data = pack(lines(RECORDS, tmp_path))
    command = [sys.executable, "-m", "pipeline", "land", "-", "--lake", str(tmp_path / "lake")]
    done = subprocess.run(command, input=data, check=True, capture_output=True)
    assert b"-: trajtab" in done.stderr
    assert len(ids(tmp_path / "lake")) == 300
    assert set(runs_of(tmp_path / "lake")["source_path"]) == {"-"}


def test_nothing_on_standard_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO()))
    with pytest.raises(UnrecognisedError, match=r"^-: the file is empty"):
        land(["-"], tmp_path / "lake")


def test_a_pipe_with_a_name(tmp_path: Path) -> None:
    """As a shell's <(...) gives it: read once, in order."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    data = lines(RECORDS, tmp_path)
    writer = threading.Thread(target=pipe.write_bytes, args=(data,))
    writer.start()
    report = land([pipe], tmp_path / "lake", workers=1)
    writer.join()
    assert report.runs == 300
