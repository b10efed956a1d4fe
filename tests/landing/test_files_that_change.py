"""Files that go, change, or cannot be read: the others land, and nothing lands that is not so."""

from __future__ import annotations

import bz2
import gzip
import io
import tarfile
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from making import call, run, runs_of, write

from pipeline.errors import InputError, RejectedError, UnrecognisedError
from pipeline.landing import land as landing
from pipeline.landing.land import land

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


def logs(folder: Path) -> Path:
    write(folder / "a.jsonl", [run("r1", call("f")), run("r2", call("f"))])
    write(folder / "b.jsonl", [run("r3", call("f"))])
    return folder


def ids(lake: Path) -> list[str]:
    return runs_of(lake)["run_id"].to_list()


def after(monkeypatch: pytest.MonkeyPatch, step: str, act: Callable[[], object]) -> None:
    """Do something between two steps of a landing."""
    real = getattr(landing, step)

    def then(*given: object) -> Iterator[object]:
        for found in list(real(*given)):
            act()
            yield found

    monkeypatch.setattr(landing, step, then)


def test_a_file_that_is_gone_or_closed_does_not_keep_the_others(tmp_path, monkeypatch):
    export = logs(tmp_path / "export")
    after(monkeypatch, "expand", lambda: (export / "a.jsonl").unlink(missing_ok=True))
    report = land([str(export)], tmp_path / "lake", workers=1)
    assert ids(tmp_path / "lake") == ["r3"]
    (told,) = report.unrecognised
    assert told == f"{export}/a.jsonl: it cannot be read: No such file or directory"


def test_a_file_that_may_not_be_read_is_told_and_one_named_outright_is_refused(
    tmp_path, monkeypatch
):
    export = logs(tmp_path / "export")
    real = type(export).open

    def opened(path: Path, *given: object, **more: object) -> object:
        if path.name == "a.jsonl":
            raise PermissionError(13, "Permission denied", str(path))
        return real(path, *given, **more)

    monkeypatch.setattr(type(export), "open", opened)
    report = land([str(export)], tmp_path / "lake", workers=1)
    assert ids(tmp_path / "lake") == ["r3"]
    assert report.unrecognised == [f"{export}/a.jsonl: it cannot be read: Permission denied"]
    with pytest.raises(RejectedError, match="it cannot be read: Permission denied"):
        land([str(export)], tmp_path / "strict", strict=True, workers=1)
    for form in ("auto", "trajtab"):
        named = [str(export / "a.jsonl"), str(export / "b.jsonl")]
        with pytest.raises(UnrecognisedError, match="Permission denied"):
            land(named, tmp_path / "other", format=form, workers=1)


OTHERS = b"".join(b'{"run_id": "s%d", "steps": []}\n' % number for number in range(40))


@pytest.mark.parametrize("content", [b'{"run_id": "r1", "st', b"x" * 500, b"\n\n\n", OTHERS])
def test_a_file_written_anew_while_it_is_read_is_not_taken_for_what_it_was(
    tmp_path, monkeypatch, content
):
    export = logs(tmp_path / "export")
    whole = (export / "a.jsonl").read_bytes()
    with monkeypatch.context() as patched:
        after(patched, "cut", lambda: (export / "a.jsonl").write_bytes(content))
        with pytest.raises(InputError, match=r"a\.jsonl: it changed while it was read"):
            land([str(export)], tmp_path / "lake", workers=1)
    (export / "a.jsonl").write_bytes(whole)
    land([str(export)], tmp_path / "lake", workers=1)
    assert ids(tmp_path / "lake") == ["r1", "r2", "r3"]


def test_a_file_gone_while_it_is_read_is_an_error_of_ours(tmp_path, monkeypatch):
    export = logs(tmp_path / "export")
    after(monkeypatch, "cut", lambda: (export / "a.jsonl").unlink(missing_ok=True))
    with pytest.raises(InputError, match="it cannot be read: No such file"):
        land([str(export)], tmp_path / "lake", workers=1)


def test_a_log_that_grows_lands_as_it_was(tmp_path, monkeypatch):
    export = logs(tmp_path / "export")
    with (export / "a.jsonl").open("a") as half:
        half.write('not JSON\n{"run_id": "r4", "st')

    def grow() -> None:
        with (export / "a.jsonl").open("a") as file:
            file.write('eps": []}\n{"run_id": "r5", "steps": []}\n')

    with monkeypatch.context() as patched:
        after(patched, "cut", grow)
        report = land([str(export)], tmp_path / "lake", workers=1)
    assert (ids(tmp_path / "lake"), dict(report.rejects)) == (
        ["r1", "r2", "r3"],
        {"not_json": 1, "truncated": 1},
    )
    land([str(export)], tmp_path / "lake", workers=1)
    assert ids(tmp_path / "lake") == ["r1", "r2", "r3", "r4", "r5"]


def tar(data: bytes) -> bytes:
    body = io.BytesIO()
    with tarfile.open(fileobj=body, mode="w") as archive:
        member = tarfile.TarInfo("a.jsonl")
        member.size = len(data)
        archive.addfile(member, io.BytesIO(data))
    return body.getvalue()


@pytest.mark.parametrize(
    ("name", "pack", "told"),
    [
        ("a.tar", tar, "it is a tar archive"),
        ("a.tar.gz", lambda data: gzip.compress(tar(data)), "it is a tar archive"),
        ("a.bz2", bz2.compress, "it is packed by bzip2"),
    ],
)
def test_what_is_packed_otherwise_is_refused_by_name_and_not_in_part(tmp_path, name, pack, told):
    export = logs(tmp_path / "export")
    (export / name).write_bytes(pack((export / "a.jsonl").read_bytes()))
    report = land([str(export)], tmp_path / "lake", workers=1)
    assert (ids(tmp_path / "lake"), report.rejects.total()) == (["r1", "r2", "r3"], 0)
    assert report.unrecognised == [
        f"{export}/{name}: {told}, which is not read; unpack or export it first"
    ]


def test_frames_of_zstd_that_hold_no_data_are_passed_over(tmp_path):
    data = logs(tmp_path / "export") / "a.jsonl"
    frame = b"\x52\x2a\x4d\x18\x04\x00\x00\x00size"
    packed = pa.compress(data.read_bytes(), codec="zstd", asbytes=True)
    (tmp_path / "a.zst").write_bytes(frame + packed + frame)
    land([str(tmp_path / "a.zst")], tmp_path / "lake", workers=1)
    assert ids(tmp_path / "lake") == ["r1", "r2"]
