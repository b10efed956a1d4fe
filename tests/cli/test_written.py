"""Files that commands write: whole or not at all, where the user said, as what they were."""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import stat
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

from pipeline.errors import InputError
from pipeline.replacing import replace, replacing

HOME = str(Path(__file__).resolve().parents[2])
GOOD = b"what was there\n"
MODE = 0o640
FULL = Path("/dev/full")
STDOUT = Path("/dev/stdout")

PLAIN = "import sys; from pipeline.cli import main; main(sys.argv[1:])"

WRITERS = {
    "a table": (["formats", "-o", "out.json"], "out.json"),
    "a query": (["sql", "lake", "SELECT * FROM runs", "-o", "out.parquet"], "out.parquet"),
    "a report": (["report", "lake", "-o", "out.html"], "out.html"),
    "a run": (["show", "lake", "s0-0000001", "-o", "out.html"], "out.html"),
    "a difference": (["diff", "lake", "s0-0000001", "-o", "out.json"], "out.json"),
    "requests": (
        ["judge", "prepare", "lake", "--rubric", "preset:safety", "--out", "out.jsonl"], "out.jsonl",
    ),
    "a sample": (["sample", "export", "--runs", "50"], "export/runs.jsonl"),
}  # fmt: skip


def trajtab(*args, before=(), **kwargs):
    return subprocess.run(
        [*before, sys.executable, "-c", PLAIN, *map(str, args)],
        capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": HOME}, **kwargs,
    )  # fmt: skip


def names(folder):
    return sorted(path.name for path in folder.iterdir())


@contextmanager
def full_disk():
    """Let no file grow beyond 512 bytes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (512, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def as_nobody():
    """Return what takes the right to write everything from the owner of the machine."""
    if os.geteuid():
        return []
    setpriv = shutil.which("setpriv")
    if setpriv is None:
        pytest.skip("there is no setpriv")
    rights = "-dac_override,-dac_read_search,-fowner"
    return [setpriv, "--bounding-set", rights, "--inh-caps", rights]


@pytest.mark.usefixtures("lake")
@pytest.mark.parametrize(("args", "name"), WRITERS.values(), ids=WRITERS)
def test_a_full_disk_leaves_what_was_there(args, name, run, tmp_path):
    out = tmp_path / name
    was = out.read_bytes() if out.exists() else GOOD
    out.write_bytes(was)
    around = names(out.parent)

    with full_disk():
        seen = run(*args)

    assert (seen.exit_code, f"{name}: cannot write: File too large" in seen.stderr) == (2, True), (
        seen.stderr
    )
    assert out.read_bytes() == was
    assert names(out.parent) == around


def test_a_killed_command_leaves_what_was_there(run, tmp_path):
    assert run("sample", "logs", "--runs", 3).exit_code == 0
    was = (tmp_path / "logs/runs.jsonl").read_bytes()
    going = subprocess.Popen(
        [sys.executable, "-c", PLAIN, "sample", "logs", "--runs", "100000000"],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": HOME},
    )  # fmt: skip
    while not any(part.stat().st_size for part in (tmp_path / "logs").glob(".*.part")):
        assert going.poll() is None
    going.send_signal(signal.SIGKILL)
    going.wait()

    assert (tmp_path / "logs/runs.jsonl").read_bytes() == was


class TestWhatWasThere:
    def test_keeps_its_mode(self, run, tmp_path):
        out = tmp_path / "out.json"
        out.write_bytes(GOOD)
        out.chmod(MODE)

        assert run("formats", "-o", out).exit_code == 0
        assert stat.S_IMODE(out.stat().st_mode) == MODE
        assert json.loads(out.read_bytes())["kind"] == "formats"

    @pytest.mark.skipif(os.geteuid() != 0, reason="only the owner of the machine gives files away")
    def test_keeps_its_owner(self, tmp_path):
        out = tmp_path / "out.json"
        out.write_bytes(GOOD)
        os.chown(out, 12345, 54321)

        replace(out, b"new")

        assert (out.stat().st_uid, out.stat().st_gid) == (12345, 54321)

    def test_is_older_even_than_nothing(self, tmp_path):
        """An empty result is a result: build tools compare times."""
        out = tmp_path / "out.jsonl"
        out.write_bytes(GOOD)
        os.utime(out, (0, 0))

        replace(out, b"")

        assert out.stat().st_mtime > 0

    def test_may_be_behind_links(self, run, tmp_path):
        (tmp_path / "deep").mkdir()
        (tmp_path / "deep/real.json").write_bytes(GOOD)
        (tmp_path / "deep/link.json").symlink_to("real.json")
        (tmp_path / "out.json").symlink_to("deep/link.json")

        assert run("formats", "-o", "out.json").exit_code == 0
        assert (tmp_path / "out.json").is_symlink()
        assert (tmp_path / "deep/link.json").is_symlink()
        assert json.loads((tmp_path / "deep/real.json").read_bytes())["kind"] == "formats"

    def test_a_link_to_nothing_yet_makes_its_file(self, tmp_path):
        (tmp_path / "out.json").symlink_to("later.json")

        replace(tmp_path / "out.json", b"new")

        assert (tmp_path / "later.json").read_bytes() == b"new"
        assert (tmp_path / "out.json").is_symlink()

    def test_links_in_a_circle_are_told(self, tmp_path):
        (tmp_path / "out.json").symlink_to("../" + tmp_path.name + "/out.json")

        with pytest.raises(InputError, match=r"out\.json: cannot write: Too many levels"):
            replace(tmp_path / "out.json", b"new")

    def test_is_as_it_was_where_what_is_written_fails(self, tmp_path):
        out = tmp_path / "out.json"
        out.write_bytes(GOOD)

        def halves():
            yield b"half"
            raise KeyError

        with pytest.raises(KeyError), replacing(out) as file:
            file.writelines(halves())

        assert (out.read_bytes(), names(tmp_path)) == (GOOD, ["out.json"])

    @pytest.mark.parametrize("error", [FileNotFoundError(2, "No such file", "/lake/x.parquet"),
                                       FileNotFoundError("No such file: /lake/x.parquet"),
                                       OSError(5, "Input/output error", "/lake/x.parquet")])  # fmt: skip
    def test_is_not_blamed_for_a_file_that_cannot_be_read(self, error, tmp_path):
        with pytest.raises(OSError, match=r"x\.parquet") as seen, replacing(tmp_path / "out.json"):
            raise error

        assert seen.value is error
        assert names(tmp_path) == []


def test_a_new_file_has_the_mode_of_any_new_file(tmp_path):
    (tmp_path / "plain").touch()

    replace(tmp_path / ("n" * 250 + ".json"), b"new")

    assert {file.stat().st_mode for file in tmp_path.iterdir()} == {
        (tmp_path / "plain").stat().st_mode
    }


class TestStreams:
    def test_a_pipe_is_written_as_it_is(self, tmp_path):
        os.mkfifo(tmp_path / "out.csv")
        reader = subprocess.Popen(["cat", tmp_path / "out.csv"], stdout=subprocess.PIPE)  # noqa: S607 - as a shell finds it

        seen = trajtab("formats", "-o", "out.csv", cwd=tmp_path)

        assert seen.returncode == 0, seen.stderr
        assert reader.communicate()[0].startswith(b"name,")
        assert stat.S_ISFIFO((tmp_path / "out.csv").stat().st_mode)

    @pytest.mark.skipif(not FULL.exists(), reason="there is no such device here")
    def test_a_full_device_is_told_and_stays_a_device(self, run, tmp_path):
        (tmp_path / "out.csv").symlink_to(FULL)

        seen = run("formats", "-o", "out.csv")

        assert (seen.exit_code, "out.csv: cannot write: No space left" in seen.stderr) == (2, True)
        assert FULL.is_char_device()

    @pytest.mark.skipif(not STDOUT.exists(), reason="there is no such stream here")
    def test_stdout_by_name_is_stdout_though_it_is_a_file(self, tmp_path):
        """What a shell has opened for us is written: a file put in its place would lose the rest."""
        (tmp_path / "out.csv").symlink_to(STDOUT)
        with (tmp_path / "told").open("wb") as told:
            done = subprocess.run(
                [sys.executable, "-c", PLAIN, "formats", "-o", "out.csv", "--format", "csv"],
                check=False, stdout=told, stderr=subprocess.PIPE, cwd=tmp_path,
                env={**os.environ, "PYTHONPATH": HOME},
            )  # fmt: skip
            same = os.fstat(told.fileno()).st_ino == (tmp_path / "told").stat().st_ino

        assert (done.returncode, same) == (0, True), done.stderr
        assert (tmp_path / "told").read_bytes().startswith(b"name,")
        assert STDOUT.exists()


class TestRights:
    def test_a_writable_file_in_a_closed_folder_is_written(self, tmp_path):
        closed = tmp_path / "closed"
        closed.mkdir()
        (closed / "out.json").write_bytes(GOOD)
        closed.chmod(0o555)

        seen = trajtab("formats", "-o", closed / "out.json", before=as_nobody())
        closed.chmod(0o755)

        assert seen.returncode == 0, seen.stderr
        assert json.loads((closed / "out.json").read_bytes())["kind"] == "formats"
        assert names(closed) == ["out.json"]

    def test_a_file_that_is_written_over_is_so_at_the_end(self, tmp_path):
        """What is written may fail on the way."""
        closed = tmp_path / "closed"
        closed.mkdir()
        (closed / "out.json").write_bytes(GOOD)
        closed.chmod(0o555)
        program = (
            "import sys; from pathlib import Path; from pipeline.replacing import replacing\n"
            "with replacing(Path(sys.argv[1])) as file:\n"
            "    file.write(b'half'); file.flush()\n"
            "    sys.exit(9)\n"
        )

        command = [*as_nobody(), sys.executable, "-c", program, str(closed / "out.json")]
        done = subprocess.run(command, check=False, env={**os.environ, "PYTHONPATH": HOME})
        closed.chmod(0o755)

        assert (done.returncode, (closed / "out.json").read_bytes()) == (9, GOOD)
        assert names(closed) == ["out.json"]

    def test_a_closed_folder_takes_no_new_file(self, tmp_path):
        closed = tmp_path / "closed"
        closed.mkdir(mode=0o555)

        seen = trajtab("formats", "-o", closed / "out.json", before=as_nobody())

        assert seen.returncode == 2
        assert "out.json: cannot write: Permission denied" in seen.stderr

    def test_a_file_that_is_write_protected_stays(self, tmp_path):
        """Renaming would not ask: the folder is ours."""
        out = tmp_path / "out.json"
        out.write_bytes(GOOD)
        out.chmod(0o444)

        seen = trajtab("formats", "-o", out, before=as_nobody())

        assert (seen.returncode, out.read_bytes()) == (2, GOOD)
        assert "out.json: cannot write: Permission denied" in seen.stderr

    @pytest.mark.skipif(os.geteuid() != 0, reason="only the owner of the machine gives files away")
    def test_a_shared_file_stays_its_owners(self, tmp_path):
        out = tmp_path / "out.json"
        out.write_bytes(GOOD)
        out.chmod(0o666)
        os.chown(out, 12345, 54321)
        tmp_path.chmod(0o777)
        rights = "-dac_override,-dac_read_search,-fowner,-chown"
        before = ["setpriv", "--bounding-set", rights, "--inh-caps", rights]
        if shutil.which(before[0]) is None:
            pytest.skip("there is no setpriv")

        seen = trajtab("formats", "-o", out, before=before)

        assert seen.returncode == 0, seen.stderr
        assert (out.stat().st_uid, names(tmp_path)) == (12345, ["out.json"])
        assert json.loads(out.read_bytes())["kind"] == "formats"
