"""`trajtab annotations` and `trajtab agreement`: files, tables, exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest


def test_sample_writes_a_file_to_fill_in(run, lake):
    done = run("annotations", "sample", lake, "--out", "todo.jsonl", "--limit", "5", "--seed", "3")
    assert done.exit_code == 0
    assert "wrote todo.jsonl" in done.stderr
    records = [json.loads(line) for line in Path("todo.jsonl").read_text().splitlines()]
    assert len(records) == 5
    assert all(record["overall_quality"] is None for record in records)
    annotated = {f"s0-{n:07}" for n in range(6)}
    assert not annotated & {record["trajectory_id"] for record in records}


def test_sample_as_json_lists_the_picked(run, lake):
    args = ("annotations", "sample", lake, "--out", "todo.jsonl", "--limit", "3", "--annotated")
    told = json.loads(run(*args, "--format", "json").stdout)
    assert told["kind"] == "annotations"
    assert len(told["rows"]) == 3
    assert list(told["rows"][0])[-5:] == ["quarter", "rank_spread", "spread", "n_annotators", "contested"]  # fmt: skip


@pytest.mark.parametrize(
    ("out", "message"),
    [
        ("todo.json", "the file holds JSON lines"),
        ("no/todo.jsonl", "there is no folder no"),
        ("there.jsonl", "there already; it may be half filled in"),
    ],
)
def test_sample_refuses_what_it_cannot_write(run, lake, out, message):
    Path("there.jsonl").touch()
    done = run("annotations", "sample", lake, "--out", out)
    assert done.exit_code == 2
    assert message in done.stderr
    assert run("annotations", "pick", lake, "--out", "a.jsonl").exit_code == 2


def test_sample_of_nothing_leaves_no_file_in_the_way(run, lake):
    args = ("annotations", "sample", lake, "--out", "todo.jsonl", "--where")
    done = run(*args, "agent_version = 'v9'")
    assert done.exit_code == 0
    assert "nothing to annotate; todo.jsonl is not written" in done.stderr
    assert "no scored run matches" in done.stderr
    assert run(*args, "true").exit_code == 0


def test_agreement_as_json_has_every_table(run, lake):
    done = run("agreement", lake, "--format", "json", "--metric", "f1,n_calls", "--item", "all")
    assert done.exit_code == 0
    told = json.loads(done.stdout)
    assert told["kind"] == "agreement"
    assert list(told["tables"]) == ["pairs", "correlations", "detector", "sweep"]
    assert len(told["tables"]["correlations"]) == 2 * 6
    assert len(told["tables"]["sweep"]) == 70
    assert set(told["facts"]) == {"recommended"}
    assert told["rows"][0]["item"] == "overall_quality"
    assert told["rows"][0]["n_units"] == 6


def test_agreement_to_read_is_cut(run, lake):
    done = run("agreement", lake)
    for heading in ("pairs", "correlations", "detector", "sweep"):
        assert f"\n{heading}\n" in done.stdout
    sweep = done.stdout.split("\nsweep\n")[1].splitlines()
    assert len(sweep) == 2 + 10
    assert "the first 10 of 70 settings" in done.stderr


def test_agreement_without_annotations_cannot_be_judged(run, lake):
    run("land", lake.parent / "export", "--lake", "other")
    done = run("agreement", "other", "--format", "json")
    assert done.exit_code == 3
    assert json.loads(done.stdout)["error"]["kind"] == "not_judgeable"


def test_land_counts_annotations(run, lake):
    done = run("land", lake.parent / "export", "--lake", "other", "--format", "json")
    assert json.loads(done.stdout)["rows"][0]["annotations"] == 0
    word = {"trajectory_id": "r", "annotator_id": "a", "overall_quality": 5}
    Path("words.jsonl").write_text(json.dumps(word))
    done = run("land", "words.jsonl", "--lake", "other", "--format", "json")
    told = json.loads(done.stdout)
    assert (told["rows"][0]["annotations"], told["rows"][0]["batches"]) == (1, 1)
    assert not any("0 runs" in note for note in told["notes"])
