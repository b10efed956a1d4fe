"""What files are called: names that are no UTF-8, files named outright, lakes among the logs."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from making import call, run, runs_of, write

from pipeline.errors import InputError, SourceNotFoundError, UnrecognisedError
from pipeline.landing.land import land
from pipeline.sample import sample
from pipeline.scoring import score

HOME = str(Path(__file__).resolve().parents[2])

no_utf8 = pytest.mark.skipif(sys.platform != "linux", reason="file names are UTF-8 there")


@pytest.fixture
def logs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(Path("logs/a.jsonl"), [run("a", call("x"))])
    return Path("logs")


@no_utf8
def test_a_name_that_is_no_utf8_costs_nothing(logs):
    odd = os.fsencode(logs) + b"/caf\xe9.jsonl"
    os.rename(write(logs / "b.jsonl", [run("b", call("x"))]), odd)  # noqa: PTH104 - a name of bytes
    report = land([logs], "lake", workers=1)

    assert runs_of("lake").select("run_id", "source_path").rows() == [
        ("a", "logs/a.jsonl"), ("b", r"logs/caf\xe9.jsonl"),
    ]  # fmt: skip
    assert not report.unrecognised


@no_utf8
def test_such_a_name_in_a_reject_and_as_an_id(logs):
    odd = os.fsencode(logs) + b"/\xff.traj"
    text = '{"trajectory": [{"action": "ls", "observation": "x"}], "info": {}}'
    Path(os.fsdecode(odd)).write_text(text)
    Path(os.fsdecode(odd + b".jsonl")).write_text('{"run_id": "c", "steps": []}\n{"run_id": 1}\n')
    land([logs], "lake", workers=1)

    assert r"\xff" in runs_of("lake")["task_id"].to_list()


@pytest.mark.parametrize(
    "spelled", ["readme.md", "./readme.md", "logs/../readme.md", ".//readme.md"]
)
def test_a_file_named_outright_is_refused_however_it_is_spelled(logs, spelled):
    Path("readme.md").write_text("no log\n")
    with pytest.raises(UnrecognisedError, match=r"readme\.md: line 1 is no JSON"):
        land([spelled, logs], "lake", workers=1)


@pytest.mark.parametrize(
    "text", ["run_id,score\nr1,4\n", '\ufeff"run_id";"score"\r\n', "1;ann;4\n"]
)
def test_rows_of_a_table_are_told_as_what_they_are(logs, text):
    Path("labels.csv").write_text(text)
    with pytest.raises(UnrecognisedError, match=r"labels\.csv: rows of a table \(\.csv\)"):
        land(["labels.csv", logs], "lake", workers=1)


@pytest.mark.usefixtures("logs")
def test_json_lines_under_the_name_of_a_table_land():
    Path("runs.csv").write_text('{"run_id": "c", "steps": []}\n')
    assert land(["runs.csv"], "lake", workers=1).runs == 1


def test_an_empty_name_is_not_the_current_folder(logs):
    with pytest.raises(SourceNotFoundError, match="empty"):
        land([logs, ""], "lake", workers=1)
    with pytest.raises(InputError, match="empty"):
        sample("", runs=1)
    assert not Path("lake").exists()
    assert not Path("runs.jsonl").exists()


def test_lakes_among_the_logs_are_no_logs(logs):
    lake = logs / "lake"
    land([logs], lake, workers=1)
    score(lake)
    again = land([logs], lake, workers=1)

    assert not again.unrecognised
    assert [found.source.shown for found in again.recognised] == ["logs/a.jsonl"]
    with pytest.raises(SourceNotFoundError, match="lake: a lake; what stands in its folder"):
        land([lake], "other", workers=1)


@pytest.mark.parametrize(("named", "lake"), [("logs", "logs"), (".", "."), (".", "logs")])
def test_a_new_lake_is_not_made_among_the_logs_it_would_hide(logs, named, lake):
    with pytest.raises(InputError, match=r"a lake needs a folder of its own: --lake .*lake is one"):
        land([named], lake, workers=1)
    assert not Path(lake, "lake.json").exists()
    assert land([logs], ".", workers=1).runs == 1
    assert land([logs], ".", workers=1).runs == 0


@pytest.mark.usefixtures("logs")
def test_a_folder_of_a_lake_to_be_may_hold_hidden_files():
    Path("new").mkdir()
    Path("new/.gitkeep").touch()
    assert land(["."], "new", workers=1).runs == 1


@pytest.mark.parametrize("mode", [0o000, 0o444])
def test_a_folder_within_that_cannot_be_read_is_told_of(logs, mode):
    """The owner of the machine reads everything: another process, without that right, is asked."""
    write(logs / "closed" / "b.jsonl", [run("b", call("x"))])
    (logs / "closed" / "lake.json").touch()
    (logs / "closed").chmod(mode)
    script = "import sys; from pipeline.cli import main; main(['land', 'logs', '--lake', 'lake'])"
    done = subprocess.run(
        [*_without_the_right_to_read_all(), sys.executable, "-c", script],
        capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": HOME},
    )  # fmt: skip
    (logs / "closed").chmod(0o755)
    assert (done.returncode, runs_of("lake")["run_id"].to_list()) == (0, ["a"])
    assert re.search(r"logs/closed(/b\.jsonl)?: it cannot be read: Permission denied", done.stderr)


def _without_the_right_to_read_all() -> list[str]:
    if os.geteuid():
        return []
    setpriv = shutil.which("setpriv")
    if setpriv is None:
        pytest.skip("there is no setpriv")
    rights = "-dac_override,-dac_read_search"
    return [setpriv, "--bounding-set", rights, "--inh-caps", rights]
