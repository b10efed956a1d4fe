"""Values at the edge of what a machine holds, blank ones, and streams that are closed or full."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

HOME = str(Path(__file__).resolve().parents[2])
FULL = Path("/dev/full")

REFUSED = {
    "k beyond counting": (["passk", "lake", "--k", "99999999999999999999"], "from 1 to 2147483647"),
    "more draws than memory": (
        ["compare", "lake", "--baseline", "true", "--candidate", "true", "--resamples", "99999999999"],
        "1000000",
    ),
    "blank baseline": (
        ["compare", "lake", "--baseline", "", "--candidate", "true"], "--baseline is empty",
    ),
    "blank candidate": (
        ["gate", "lake", "--candidate", " ", "--gate", "limits.toml"], "--candidate is empty",
    ),
    "blank filter": (["aggregate", "lake", "--where", ""], "--where is empty; give a condition"),
    "blank filter of scores": (["scores", "lake", "--where", " "], "--where is empty"),
    "blank filter of arms": (
        ["compare", "lake", "--baseline", "true", "--candidate", "true", "--where", "\n"],
        "--where is empty",
    ),
    "blank rule": (["passk", "lake", "--pass", ""], "--pass is empty"),
    "filter of no UTF-8": (
        ["scores", "lake", "--where", "agent = '\udcff'"], "'\\udcff'\": SQL must be UTF-8",
    ),
    "rule of no UTF-8": (["passk", "lake", "--pass", "\udcff"], "SQL must be UTF-8"),
    "query of no UTF-8": (["sql", "lake", "SELECT '\udcff'"], "the query must be UTF-8"),
    "folder for a gate file": (
        ["gate", "lake", "--baseline", "true", "--candidate", "true", "--gate", "."],
        ".: a folder; a gate file was expected",
    ),
    "folder for a policy": (["score", "lake", "--policy", "."], ".: a folder; a policy file was"),
    "no file for a policy": (
        ["score", "lake", "--policy", "/dev/null"],
        "/dev/null: a pipe or a device; a policy file was expected, save it as one first",
    ),
    "nothing between commas": (["aggregate", "lake", "--by", "agent,"], "'agent,' names nothing between"),
    "a share of 95": (["percentiles", "lake", "--q", "0.5,95"], "'0.5,95': each number must be from 0 to 1"),
    "a share below 0": (["percentiles", "lake", "--q", "-0.1"], "each number must be from 0 to 1"),
    "a share in words": (["percentiles", "lake", "--q", "0.5,half"], "is no list of numbers like"),
    "a label without a value": (
        ["land", "lake", "--lake", "l", "--set", "team"], "'team' is not of the form key=value",
    ),
    "a label without a name": (
        ["land", "lake", "--lake", "l", "--set", " =a"], "' =a' is not of the form key=value",
    ),
    "a file of no format": (
        ["metrics", "-o", "a.txt"], "a.txt: the suffix names the format, one of .json .jsonl .csv",
    ),
    "a folder for a file": (["metrics", "-o", "folder.json"], "folder.json: a folder; name a file"),
    "a file in no folder": (["metrics", "-o", "none/a.json"], "none/a.json: there is no folder none"),
    "no arm to split": (
        ["gate", "lake", "--self-test", "--baseline", "true"], "--self-test splits one arm: --candidate",
    ),
    "no candidate and no limits": (["gate", "lake"], "--candidate and --gate must be given"),
    "no limits": (["gate", "lake", "--candidate", "true"], "error: --gate must be given"),
    "blank lake": (["land", "lake", "--lake", ""], "the lake's name is empty"),
    "lake of no UTF-8": (["land", "lake", "--lake", "l\udcff"], "must be UTF-8"),
}  # fmt: skip


@pytest.fixture
def lake(made_lake, monkeypatch):
    monkeypatch.chdir(made_lake)
    return made_lake / "lake"


@pytest.mark.usefixtures("lake")
@pytest.mark.parametrize(("args", "told"), REFUSED.values(), ids=REFUSED)
def test_is_refused_by_name(args, told, run, tmp_path):
    limits = tmp_path / "limits.toml"
    limits.write_text('[[gate]]\nmetric = "f1"\nmin = 0.1\n')
    Path("folder.json").mkdir(exist_ok=True)
    seen = run(*[str(limits) if arg == limits.name else arg for arg in args])

    assert seen.exit_code == 2
    assert told in seen.stderr
    assert "internal error" not in seen.stderr


@pytest.mark.usefixtures("lake")
def test_a_limit_beyond_counting_is_no_limit(run):
    seen = run("scores", "lake", "--limit", 10**23, "--columns", "run_id", "--format", "csv")

    assert (seen.exit_code, len(seen.stdout.splitlines())) == (0, 1 + 48)


@pytest.mark.usefixtures("lake")
def test_a_comment_ends_where_the_filter_ends(run):
    seen = run("aggregate", "lake", "--where", "trial = 0 -- the first", "--metric", "f1")

    assert seen.exit_code == 0, seen.stderr


def test_gate_files_have_a_limit_of_draws(lake, run, tmp_path):
    limits = tmp_path / "limits.toml"
    limits.write_text('resamples = 99999999999\n[[gate]]\nmetric = "f1"\nmax_drop = 0.1\n')
    seen = run("gate", lake, "--baseline", "true", "--candidate", "true", "--gate", limits)

    assert seen.exit_code == 2
    assert "resamples is 99999999999; from 1 to 1000000 are possible" in seen.stderr


def test_a_group_alone_shows_its_commands(run):
    seen = run("judge")

    assert seen.exit_code == 0
    assert seen.stdout.startswith("Usage: ")
    assert "prepare" in seen.stdout


def test_no_filter_is_named_where_none_was_given(run, tmp_path):
    (tmp_path / "tasks.jsonl").write_text('{"task_id": "t", "references": [[]]}\n')
    run("land", "tasks.jsonl", "--lake", "tasks")
    seen = run("judge", "prepare", "tasks", "--rubric", "preset:safety", "--out", "r.jsonl")

    assert seen.exit_code == 2
    assert "the lake holds no run" in seen.stderr


def _shell(line: str) -> subprocess.CompletedProcess[str]:
    command = line.replace("trajtab ", f"{sys.executable} -m pipeline ")
    return subprocess.run(
        ["/bin/sh", "-c", command], check=False, capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": HOME},
    )  # fmt: skip


STREAMS = {
    "stdout closed": ("trajtab metrics >&-", 0),
    "stdin closed": ("trajtab sql lake - <&-", 2),
    "no stdin, no query": ("trajtab sql lake <&-", 2),
    "all closed": ("trajtab metrics <&- >&- 2>&-", 0),
    "stdout full": (f"trajtab metrics >{FULL}", 2),
    "stderr full": (f"trajtab aggregate lake --metric f1 2>{FULL}", 0),
    "error on a full stderr": (f"trajtab no-such-command 2>{FULL}", 2),
    "error on a full stdout": (f"trajtab no-such-command --format json >{FULL}", 2),
}


@pytest.mark.usefixtures("lake")
@pytest.mark.skipif(not FULL.exists(), reason="no device that is always full")
@pytest.mark.parametrize(("line", "code"), STREAMS.values(), ids=STREAMS)
def test_streams_that_cannot_be_used(line, code):
    seen = _shell(line)

    assert seen.returncode == code
    assert "internal error" not in seen.stderr
    assert "Traceback" not in seen.stderr


def test_results_come_where_talk_cannot(lake):
    seen = _shell(f"trajtab aggregate {lake} --metric f1 --format csv 2>{FULL}")

    assert seen.stdout.splitlines()[1].startswith("f1,48,")


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_results_cut_short_are_told(tmp_path, unbuffered):
    """A file that may not grow: the system takes a part, and Python without a buffer is content."""
    line = (
        f"ulimit -f 8; PYTHONUNBUFFERED={unbuffered} trajtab metrics --format json > {tmp_path}/m"
    )
    seen = _shell(line)

    assert (seen.returncode, seen.stderr) == (2, "trajtab: error: cannot write: File too large\n")


@pytest.mark.usefixtures("lake")
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_reader_that_leaves_in_the_middle(unbuffered):
    writing = f"PYTHONUNBUFFERED={unbuffered} trajtab sql lake 'FROM range(100000)' --format csv"
    seen = _shell(f"{{ {writing}; echo $? >&2; }} | head -c 10")

    assert seen.stdout == "range\n0\n1\n"
    assert seen.stderr == "141\n"
