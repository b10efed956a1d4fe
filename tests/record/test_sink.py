"""The sink: whole lines whoever writes, and what was open when a process died."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pipeline.landing.land import land
from pipeline.record import LostRunWarning, Recorder, Sink
from pipeline.record import sink as sink_module
from pipeline.record.sink import append

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).resolve().parents[2]
LONG = 1 << 17
"""Far above PIPE_BUF, and more than a write of these tests takes at once."""


WRITES = """
import sys
from pipeline.record import Recorder, Sink
path, writer, long = sys.argv[1], sys.argv[2], int(sys.argv[3])
for number in range(40):
    with Recorder(Sink(path, fsync=False), run_id=f"{writer}-{number}") as run:
        run.tool_call("f", {"writer": writer}, writer * (long if number % 10 == 0 else 9))
"""


def test_several_processes_append_whole_lines(tmp_path: Path) -> None:
    path = str(tmp_path / "r.jsonl")
    env = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "error"}
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITES, path, str(n), str(LONG)], env=env)
        for n in range(4)
    ]
    assert [writer.wait() for writer in writers] == [0] * 4
    found = {}
    for line in Path(path).read_bytes().splitlines():
        run = json.loads(line)
        (step,) = run["steps"]
        writer = run["run_id"].partition("-")[0]
        assert step["tool_args"] == {"writer": writer}
        assert set(step["output"]) == {writer}
        found[run["run_id"]] = run
    assert len(found) == 4 * 40
    assert not (tmp_path / ".r.jsonl.open").exists()


def short_writes(most: int, real: Callable[..., int]) -> Callable[..., int]:
    return lambda handle, data: real(handle, bytes(data)[:most])


def test_a_short_write_is_continued(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sink_module.os, "write", short_writes(7, os.write))
    append(tmp_path / "r", b"x" * 100)
    append(tmp_path / "r", b"y")
    assert (tmp_path / "r").read_bytes() == b"x" * 100 + b"\ny\n"


def test_a_write_that_fails_is_taken_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    append(tmp_path / "r", b"first")
    real, calls = os.write, []

    def full(handle: int, data: Any) -> int:
        calls.append(len(data))
        if len(calls) > 1:
            raise OSError(28, "No space left on device")
        return real(handle, bytes(data)[:3])

    with monkeypatch.context() as patched:
        patched.setattr(sink_module.os, "write", full)
        with pytest.raises(OSError, match="No space"):
            append(tmp_path / "r", b"second")
    append(tmp_path / "r", b"third")
    assert (tmp_path / "r").read_bytes() == b"first\nthird\n"


@pytest.mark.parametrize("torn", ['{"run_id":"r0","steps":[{"kind":', '{"run_id":"r0","ste'])
@pytest.mark.parametrize("before", [0, 1, 3])
def test_a_torn_line_spoils_no_other(tmp_path: Path, torn: str, before: int) -> None:
    path = tmp_path / "r.jsonl"
    for number in range(before):
        append(path, b'{"run_id":"%d","steps":[],"final_output":"%b"}' % (number, b"x" * LONG))
    with path.open("a") as file:
        file.write(torn)
    with Recorder(path, run_id="r1"):
        pass
    report = land([path], tmp_path / "lake", workers=1)
    assert (report.runs, report.rejects.total()) == (before + 1, 1)


def test_a_whole_line_without_its_end_stays_whole(tmp_path: Path) -> None:
    (tmp_path / "r.jsonl").write_text('{"run_id":"r0","steps":[]}')
    with Recorder(tmp_path / "r.jsonl", run_id="r1"):
        pass
    report = land([tmp_path / "r.jsonl"], tmp_path / "lake", workers=1)
    assert (report.runs, report.rejects.total()) == (2, 0)


def test_a_file_moved_away_is_made_anew(tmp_path: Path) -> None:
    with Recorder(tmp_path / "r.jsonl", run_id="r1"):
        (tmp_path / "r.jsonl").touch()
        (tmp_path / "r.jsonl").rename(tmp_path / "old.jsonl")
    assert (tmp_path / "old.jsonl").read_text() == ""
    assert '"r1"' in (tmp_path / "r.jsonl").read_text()


def test_a_file_moved_away_while_its_lock_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, real, waits = tmp_path / "r.jsonl", fcntl.flock, []

    def slow(handle: int, kind: int) -> None:
        if not waits:
            path.rename(tmp_path / "old.jsonl")
        waits.append(kind)
        real(handle, kind)

    monkeypatch.setattr(sink_module.fcntl, "flock", slow)
    append(path, b"line")
    assert path.read_bytes() == b"line\n"
    assert (tmp_path / "old.jsonl").read_bytes() == b""


DIES = """
import os, signal, sys
from pipeline.record import Recorder
path = sys.argv[1]
with Recorder(path, run_id="whole"):
    pass
with Recorder(path, run_id="other", task_id="t2") as other:
    with Recorder(path, run_id="open", task_id="t1", agent="desk") as run:
        run.tool_call("search", {"q": "x"}, output="y")
        os.kill(os.getpid(), signal.SIGKILL)
"""


def dies(path: Path, script: str = DIES) -> None:
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", script, path], check=False, env=env)
    assert done.returncode == -signal.SIGKILL


def test_a_killed_process_loses_its_open_runs_and_the_next_says_so(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    dies(path)
    with pytest.warns(LostRunWarning) as told, Recorder(Sink(path), run_id="next"):
        pass
    texts = sorted(str(warning.message) for warning in told)
    assert len(texts) == 2
    assert f"{path}: run 'open' of task 't1', open since 20" in texts[0]
    assert "run 'other' of task 't2'" in texts[1]
    report = land([path], tmp_path / "lake", workers=1)
    assert (report.runs, report.rejects.total()) == (2, 0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # it is said once
        with Recorder(Sink(path), run_id="later"):
            pass


def test_a_run_whose_line_is_there_was_not_lost(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    script = """
import os, signal, sys
from pipeline.record import Recorder
from pipeline.record.open_runs import OpenRuns
OpenRuns.end = lambda self, marker: os.kill(os.getpid(), signal.SIGKILL)
with Recorder(sys.argv[1], run_id="whole"):
    pass
"""
    dies(path, script)
    assert len(list((tmp_path / ".r.jsonl.open").glob("*.json"))) == 1
    sink = Sink(path)
    with Recorder(sink, run_id="next"):
        pass
    assert sink.lost == []


def test_runs_open_elsewhere_are_not_lost(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    with Recorder(Sink(path), run_id="open"):
        other = Sink(path)
        with Recorder(other, run_id="next"):
            pass
        assert other.lost == []


def test_a_forked_child_records_for_itself(tmp_path: Path) -> None:
    """What is open in the parent stays the parent's: the child may die without taking it."""
    path = tmp_path / "r.jsonl"
    script = """
import os, sys
from pipeline.record import Recorder
with Recorder(sys.argv[1], run_id="parent"):
    child = os.fork()
    if not child:
        with Recorder(sys.argv[1], run_id="child"):
            pass
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
"""
    env = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "error"}
    subprocess.run([sys.executable, "-c", script, path], check=True, env=env)
    runs = [json.loads(line)["run_id"] for line in path.read_text().splitlines()]
    assert runs == ["child", "parent"]
    sink = Sink(path)
    with Recorder(sink):
        pass
    assert sink.lost == []


def test_a_child_forked_in_the_middle_of_a_line_keeps_nobody_waiting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As pools that fork do beside threads that record: the child holds a copy of the lock."""
    path, children = tmp_path / "r.jsonl", []

    def forks(_: int) -> None:
        children.append(os.fork())
        if not children[0]:
            signal.pause()

    monkeypatch.setattr(sink_module.os, "fsync", forks)
    try:
        append(path, b"{}")
        with path.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    finally:
        os.kill(children[0], signal.SIGKILL)
        os.waitpid(children[0], 0)


def test_a_forked_childs_copy_of_a_run_is_not_written(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    script = """
import os, sys
from pipeline.record import Recorder
with Recorder(sys.argv[1], run_id="parent") as run:
    child = os.fork()
    if not child:
        sys.exit(0)  # leaves the with statement, in the child
    assert os.waitpid(child, 0)[1] == 0
    run.final("done")
"""
    env = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "error"}
    subprocess.run([sys.executable, "-c", script, path], check=True, env=env)
    (line,) = path.read_text().splitlines()
    assert json.loads(line)["final_output"] == "done"
