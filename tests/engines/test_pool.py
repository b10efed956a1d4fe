"""Where work is to run, as people ask for it: scripts without a guard, masters that are not there."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from reading import SAMPLES

from pipeline.engines import chosen, sessions
from pipeline.errors import EngineError, InputError
from pipeline.lake import Lake
from pipeline.landing.batch import chunks
from pipeline.landing.land import land

if TYPE_CHECKING:
    from collections.abc import Sequence

ROOT = Path(__file__).resolve().parents[2]

PLAIN = """
import os, sys
print("begins", flush=True)
import pipeline
from pipeline.engines import chosen
from pipeline.landing.batch import chunks
chunks.MOST_RECORDS = 4
source, lake = sys.argv[1:]
print(pipeline.land([source], lake, workers=2).batches)
print(pipeline.score(lake, engine=chosen("local", workers=2)).batches)
"""
"""Without `if __name__ == "__main__":`, which each process would otherwise run again."""

LANDS = "\n".join(line for line in PLAIN.splitlines() if "score(" not in line)

DIES = """
import os, sys
if any("spawn_main" in word for word in sys.orig_argv):
    os._exit(1)
"""

DIES_ONCE = """
import os, sys
if any("spawn_main" in word for word in sys.orig_argv):
    from pipeline.landing.batch import stage as room
    stage = room.stage
    def dies_once(chunk, options):
        try:
            os.close(os.open({marker!r}, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return stage(chunk, options)
        os.kill(os.getpid(), 9)
    room.stage = dies_once
"""
"""The process that is the first to decode anything is killed at it."""


def python(*words: object, script: str = "", first: Sequence[Path] = ()) -> tuple[int, str, str]:
    path = os.pathsep.join(map(str, [*first, ROOT]))
    env = {**os.environ, "PYTHONPATH": path, "TRAJTAB_UNIT_SECONDS": "0"}
    command = [sys.executable, *map(str, words)]
    done = subprocess.run(
        command, input=script, env=env, check=False, capture_output=True, text=True
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("stdin", [False, True])
def test_a_script_without_a_guard_runs_once(tmp_path: Path, stdin: bool) -> None:
    (tmp_path / "script.py").write_text(PLAIN)
    name = "-" if stdin else tmp_path / "script.py"
    code, out, err = python(name, SAMPLES / "trajtab", tmp_path / "lake", script=PLAIN)
    assert (code, out.split()) == (0, ["begins", "2", "2"]), err


def test_processes_that_die_again_and_again_in_landing_are_told_of(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(DIES)
    words = ("-", SAMPLES / "trajtab", tmp_path / "lake")
    code, _, err = python(*words, script=PLAIN, first=[tmp_path])
    assert code == 1
    assert "EngineError: a worker process died, and so did the last one, alone: out of" in err


def test_a_process_that_dies_in_landing_costs_no_more_than_its_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sitecustomize.py").write_text(DIES_ONCE.format(marker=str(tmp_path / "died")))
    whole, again = tmp_path / "whole", tmp_path / "again"
    monkeypatch.setattr(chunks, "MOST_RECORDS", 4)
    land([SAMPLES / "trajtab"], whole, workers=1)
    code, out, err = python("-", SAMPLES / "trajtab", again, script=LANDS, first=[tmp_path])
    assert (code, out.split()) == (0, ["begins", "2"]), err
    assert (tmp_path / "died").exists()
    names = [[batch.name for batch in Lake.open(lake).batches()] for lake in (whole, again)]
    assert names[0] == names[1]


def test_the_length_of_a_unit_is_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRAJTAB_UNIT_SECONDS", "ten")
    with pytest.raises(InputError, match="TRAJTAB_UNIT_SECONDS=ten: a number of seconds"):
        chosen("local")


@pytest.mark.parametrize(
    "form",
    [
        "spark://127.0.0.1:{0}",
        "spark://127.0.0.1:{0},127.0.0.1:{0}",
        "sc://127.0.0.1:{0}/;user_id=x",
    ],
)
def test_a_master_nobody_listens_at_is_told_at_once(
    form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark itself tries again for minutes; no Java is started for this."""
    for name in sessions.PROXIES:
        monkeypatch.delenv(name, raising=False)
    with socket.socket() as taken:  # bound, and not listened at
        taken.bind(("127.0.0.1", 0))
        master = form.format(taken.getsockname()[1])
        with pytest.raises(EngineError, match=r"no Spark there: .*[Rr]efused"):
            _ = chosen("spark", master=master).session


def test_a_port_that_is_none_is_told() -> None:
    with pytest.raises(EngineError, match="no Spark there: Port could not be cast"):
        _ = chosen("spark", master="spark://127.0.0.1:x").session
