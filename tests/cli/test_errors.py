"""Where errors end: one line that names the thing, JSON where JSON is wanted, the right exit code."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from pipeline.cli import land as land_command
from pipeline.cli.session import Session
from pipeline.errors import GateFailedError, NotJudgeableError, RejectedError, TrajtabError

TRAJTAB = [sys.executable, "-m", "pipeline"]
HOME = str(Path(__file__).resolve().parents[2])


@pytest.mark.parametrize(
    ("args", "way"),
    [
        (["aggregate", "lake", "--metric", "zz"], "`trajtab metrics` lists them"),
        (["scores", "lake", "--columns", "zzzzzz"], "'DESCRIBE FROM scores'` lists them"),
    ],
)
@pytest.mark.usefixtures("lake")
def test_a_name_near_none_says_where_the_known_ones_are(run, args, way):
    result = run(*args)
    assert (result.exit_code, way in result.stderr) == (2, True)


def _raise(error):
    def land(*_args, **_kwargs):
        raise error

    return land


@pytest.fixture
def failing(monkeypatch):
    """Make `land` raise."""
    return lambda error: monkeypatch.setattr(land_command, "land", _raise(error))


MISTAKES = {
    "mistyped path": (["land", "exprot/", "--lake", "lake"], "exprot/"),
    "empty glob": (["land", "*.jsonl", "--lake", "lake"], "*.jsonl"),
    "folder without files": (["land", "empty", "--lake", "lake"], "empty"),
    "folder without logs": (["land", "docs", "--lake", "lake"], "readme.txt"),
    "unknown format": (["land", "docs", "--lake", "lake", "--from", "trajtap"], "'trajtab'"),
    "no lake": (["scores", "lake"], "lake"),
    "a log for a lake": (["scores", "docs/readme.txt"], "land docs/readme.txt --lake LAKE"),
    "no lake named": (["land", "docs"], "--lake"),
    "unknown metric": (["metrics", "recal"], "'recall'"),
    "unknown command": (["agregate", "lake"], "'aggregate'"),
    "unknown option": (["metrics", "--fromat", "json"], "--format"),
    "unknown output suffix": (["metrics", "-o", "metrics.xlsx"], ".parquet"),
    "output into no folder": (["metrics", "-o", "no/metrics.csv"], "no"),
    "label without value": (["land", "docs", "--lake", "lake", "--set", "team"], "key=value"),
    "no workers": (["land", "docs", "--lake", "lake", "--workers", "0"], "--workers"),
    "quantile above 1": (["percentiles", "lake", "--q", "0.5,95"], "from 0 to 1"),
    "missing configuration": (["metrics", "--config", "no.toml"], "no.toml"),
}


@pytest.fixture
def folders(tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "readme.txt").write_text("no log\n")


@pytest.mark.usefixtures("folders")
@pytest.mark.parametrize(("args", "named"), MISTAKES.values(), ids=MISTAKES)
class TestMistake:
    def test_exits_2_with_one_line_that_names_it(self, run, args, named):
        result = run(*args)
        assert result.exit_code == 2
        assert result.stdout == ""
        assert result.stderr.startswith("trajtab: error: ")
        assert result.stderr.count("\n") == 1
        assert named in result.stderr

    @pytest.mark.parametrize("form", ["json", "jsonl"])
    def test_is_json_on_stdout_where_json_is_wanted(self, run, args, named, form):
        result = run(*args, "--format", form)
        told = json.loads(result.stdout)
        assert result.exit_code == 2
        assert told.keys() == {"kind", "error"}
        assert told["kind"] == "error"
        assert told["error"].keys() == {"kind", "message"}
        assert named in told["error"]["message"]


def test_kinds_come_from_the_error_classes(run):
    kinds = {
        args: json.loads(run(*args.split(), "--format=json").stdout)["error"]["kind"]
        for args in ("land nowhere --lake l", "metrics nothing", "scores nolake", "land")
    }
    assert kinds == {
        "land nowhere --lake l": "source_not_found",
        "metrics nothing": "unknown_name",
        "scores nolake": "source_not_found",
        "land": "usage",
    }


@pytest.mark.parametrize(
    ("error", "code"),
    [(GateFailedError("f1"), 1), (RejectedError("line 3"), 2), (NotJudgeableError("2 tasks"), 3)],
)
def test_an_error_exits_with_the_code_of_its_class(run, failing, error, code):
    failing(error)
    result = run("land", "x", "--lake", "y")
    assert result.exit_code == code
    assert result.stderr == f"trajtab: error: {error}\n"


def test_control_characters_and_newlines_of_a_message_do_not_reach_the_terminal(run, failing):
    failing(TrajtabError("a\nb\x1b[31m\u2028c"))
    assert run("land", "x", "--lake", "y").stderr == "trajtab: error: a b\\x1b[31m c\n"


class TestUnexpected:
    def test_is_one_line_that_asks_for_a_report(self, run, failing):
        failing(KeyError("oops"))
        result = run("land", "x", "--lake", "y")
        assert result.exit_code == 2
        assert result.stderr == (
            "trajtab: error: internal error: KeyError: 'oops'; please report it; "
            "--debug shows the traceback\n"
        )

    def test_panic_that_is_no_exception_ends_the_same(self, run, failing):
        class Panic(BaseException):
            pass

        failing(Panic("in Rust"))
        assert "internal error: Panic: in Rust" in run("land", "x", "--lake", "y").stderr

    def test_refusal_of_the_system_names_the_file(self, run, failing):
        failing(PermissionError(13, "Permission denied", "secret.jsonl"))
        result = run("land", "x", "--lake", "y")
        assert (result.exit_code, result.stderr) == (
            2,
            "trajtab: error: secret.jsonl: Permission denied\n",
        )

    @pytest.mark.parametrize("args", [["--debug", "land"], ["land", "--debug"]])
    def test_comes_through_under_debug(self, run, failing, args):
        error = TrajtabError("here")
        failing(error)
        assert run(*args, "x", "--lake", "y").exception is error

    def test_interrupt_exits_130(self, run, failing):
        failing(KeyboardInterrupt())
        assert run("land", "x", "--lake", "y").exit_code == 130


def test_debug_shows_the_traceback_and_keeps_the_exit_code():
    """Python would exit with 1, which says "gate failed"."""
    done = subprocess.run(
        [*TRAJTAB, "metrics", "recal", "--debug"],
        check=False,
        capture_output=True,
        text=True,
        cwd=HOME,
    )
    assert done.returncode == 2
    assert "Traceback" in done.stderr
    assert "UnknownNameError" in done.stderr


def test_a_reader_that_leaves_early_is_no_error():
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [*TRAJTAB, "metrics", "--format", "jsonl"],
        check=False,
        stdout=writing,
        stderr=subprocess.PIPE,
        text=True,
        cwd=HOME,
    )
    os.close(writing)
    assert done.returncode == 141
    assert done.stderr == ""


def test_format_typed_last_counts_and_not_after_the_options_end():
    assert Session(["land", "--format", "md", "--format=json"]).wants_json
    assert not Session(["land", "--format=json", "--format", "md"]).wants_json
    assert not Session(["land", "--", "--format=json"]).wants_json
    assert not Session(["land", "--format"]).wants_json
    assert not Session([]).wants_json
