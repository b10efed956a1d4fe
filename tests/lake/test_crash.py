"""A landing stopped anywhere leaves whole batches or nothing, and landing again completes it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from making import call, run, runs_of, scores_of, steps_of, want, write

from pipeline.errors import LakeError
from pipeline.lake import Lake
from pipeline.landing.batch import chunks
from pipeline.landing.land import land


class StoppedError(BaseException):
    """Stands for a kill: nothing catches it."""


@pytest.fixture
def source(tmp_path: Path) -> Path:
    records = [
        run(f"r{i}", call("a", {"i": i}), task_id="t", expected=[want("a")]) for i in range(9)
    ]
    return write(tmp_path / "runs.jsonl", records)


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunks, "MOST_RECORDS", 3)


def content(lake: Path) -> tuple[pl.DataFrame, pl.DataFrame]:
    return runs_of(lake).drop("landed_at"), steps_of(lake)


def assert_whole(lake: Path) -> None:
    """Every visible batch is complete: its tables have the rows its manifest says."""
    if not (lake / "lake.json").exists():
        return
    for batch in Lake.open(lake).batches():
        for table, rows in batch.manifest["rows"].items():
            assert pl.read_parquet(batch.file(table)).height == rows


@pytest.mark.parametrize("what", ["fsync", "rename", "mkdir", "replace"])
def test_stopped_at_every_write(
    source: Path, tmp_path: Path, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = tmp_path / "whole"
    land([source], whole, workers=1)
    owner = os if what == "fsync" else Path
    real = getattr(owner, what)
    stops = 0
    for point in range(200):
        lake = tmp_path / f"{what}-{point}"
        left = point

        def stop(*args: object, **named: object) -> object:
            nonlocal left
            if left == 0:
                raise StoppedError
            left -= 1
            return real(*args, **named)

        with monkeypatch.context() as patch:
            patch.setattr(owner, what, stop)
            try:
                land([source], lake, workers=1)
            except StoppedError:
                stops += 1
            else:
                break
        assert_whole(lake)
        land([source], lake, workers=1)
        for found, right in zip(content(lake), content(whole), strict=True):
            assert found.equals(right)
    assert stops >= 1


def test_killed_process(source: Path, tmp_path: Path) -> None:
    """Kill -9 after the first batch became visible."""
    lake = tmp_path / "lake"
    program = (
        "import os, signal, sys\n"
        "from pipeline.landing.batch import chunks\n"
        "from pipeline.landing.land import land\n"
        "chunks.MOST_RECORDS = 3\n"
        "land([sys.argv[1]], sys.argv[2], workers=1,"
        " progress=lambda _: os.kill(os.getpid(), signal.SIGKILL))\n"
    )
    done = subprocess.run([sys.executable, "-c", program, source, lake], check=False)
    assert done.returncode == -signal.SIGKILL
    assert_whole(lake)
    assert runs_of(lake).height == 3
    report = land([source], lake)
    assert (report.already, report.runs) == (1, 6)
    assert runs_of(lake).height == 9


def test_two_landings_at_once(source: Path, tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    program = (
        "import sys\n"
        "from pipeline.landing.batch import chunks\n"
        "from pipeline.landing.land import land\n"
        "chunks.MOST_RECORDS = 3\n"
        "land([sys.argv[1]], sys.argv[2], workers=1)\n"
    )
    both = [subprocess.Popen([sys.executable, "-c", program, source, lake]) for _ in range(2)]
    assert [process.wait() for process in both] == [0, 0]
    assert_whole(lake)
    assert runs_of(lake)["run_id"].to_list() == [f"r{i}" for i in range(9)]


def test_a_folder_that_cannot_be_written(source: Path, tmp_path: Path) -> None:
    """Root may write anywhere, so a file stands where a folder is needed."""
    lake = tmp_path / "lake"
    lake.mkdir()
    (lake / "batches").write_text("in the way")
    with pytest.raises(LakeError, match="batches"):
        land([source], lake)


def test_a_full_disk_is_told(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(LakeError, match="No space left on device"):
        land([source], tmp_path / "lake", workers=1)
    monkeypatch.undo()
    assert land([source], tmp_path / "lake").runs == 9


@pytest.mark.parametrize("room", [10, 4000])
def test_a_disk_that_fills_up_in_a_table_is_told_with_the_file(
    source: Path, tmp_path: Path, room: int
) -> None:
    """Polars and Arrow meet it themselves, in a process whose files may have so many bytes."""
    lake, program = tmp_path / "lake", "from pipeline.cli import main; main()"
    limited = (
        "import resource, signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN); "
        f"resource.setrlimit(resource.RLIMIT_FSIZE, ({room}, {room})); {program}"
    )

    def command(text: str, *args: object) -> tuple[int, str]:
        line = [sys.executable, "-c", text, *map(str, args)]
        done = subprocess.run(line, check=False, capture_output=True, text=True)
        return done.returncode, done.stderr

    for args in (["land", source, "--lake", lake, "--workers", 1], ["score", lake]):
        code, told = command(limited, *args)
        assert (code, "cannot write: File too large" in told) == (2, True), told
        assert f"error: {lake}" in told
        assert [path.name for path in (lake / ".tmp").iterdir()] in ([], ["lock"])
        assert command(program, *args)[0] == 0
    assert runs_of(lake).height == scores_of(lake).height == 9


def test_a_disk_that_is_full_before_the_last_columns_is_told_as_well(tmp_path: Path) -> None:
    """Of the header of a page that did not fit Polars says nothing but "transport error"."""
    program = """
import resource, signal, sys
from pathlib import Path

import polars as pl

from pipeline.store.parquet import write_table

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
path = Path(sys.argv[1])
cells = {f"c{n}": [str((i * 7919 + n * 31) % 10007) for i in range(97)] for n in range(240)}
write_table("runs", pl.DataFrame(cells), path)
size = path.stat().st_size
for room in range(0, size, size // 32):
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, resource.RLIM_INFINITY))
    try:
        write_table("runs", pl.DataFrame(cells), path)
        sys.exit(f"{room} of {size} bytes are enough")
    except OSError as error:
        if (error.strerror, error.filename) != ("File too large", str(path)):
            raise
"""
    line = [sys.executable, "-c", program, str(tmp_path / "runs.parquet")]
    done = subprocess.run(line, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_what_a_kill_left_is_removed_after_a_day(source: Path, tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    land([source], lake)
    old, new = lake / ".tmp" / "old", lake / ".tmp" / "new"
    old.mkdir()
    new.mkdir()
    os.utime(old, (0, 0))
    land([source], lake)
    assert not old.exists()
    assert new.exists()
