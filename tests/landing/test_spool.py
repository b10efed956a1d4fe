"""Copies of packed and streamed sources do not outlive the landing that made them."""

from __future__ import annotations

import gzip
import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from making import call, run, write

from pipeline.landing.land import land
from pipeline.landing.source.spool import spool

if TYPE_CHECKING:
    from pathlib import Path

STOPPED = (
    "import os, signal, sys\n"
    "from pipeline.landing.land import land\n"
    "land([sys.argv[1]], sys.argv[2], workers=1,"
    " progress=lambda _: os.kill(os.getpid(), signal.SIGKILL))\n"
)


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr("tempfile.tempdir", None)
    return folder


@pytest.fixture
def packed(tmp_path: Path) -> Path:
    plain = write(tmp_path / "plain" / "a.jsonl", [run("r1", call("a"))])
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(gzip.compress(plain.read_bytes()))
    return path


@pytest.mark.parametrize("streamed", [False, True])
def test_what_a_killed_landing_leaves_the_next_removes(
    temporary: Path, packed: Path, tmp_path: Path, *, streamed: bool
) -> None:
    source = "-" if streamed else str(packed)
    lake = tmp_path / "lake"
    with packed.open("rb") as stream:
        done = subprocess.run(
            [sys.executable, "-c", STOPPED, source, lake], check=False, stdin=stream, env=os.environ
        )
    assert done.returncode == -signal.SIGKILL
    (left,) = temporary.glob("trajtab-*")
    assert list(left.rglob("*")) != []
    land([packed], lake, workers=1)
    assert list(temporary.iterdir()) == []


def test_the_copies_of_a_landing_under_way_stay(
    temporary: Path, packed: Path, tmp_path: Path
) -> None:
    with spool() as folder:
        (folder / "copy").write_text("in use")
        land([packed], tmp_path / "lake", workers=1)
        assert (folder / "copy").read_text() == "in use"
        assert list(temporary.iterdir()) == [folder]
    assert list(temporary.iterdir()) == []


def test_folders_that_only_look_alike_stay(temporary: Path, packed: Path, tmp_path: Path) -> None:
    (temporary / "trajtab-notes").mkdir()
    land([packed], tmp_path / "lake", workers=1)
    assert [path.name for path in temporary.iterdir()] == ["trajtab-notes"]
