"""`compare` on the command line: tables to read, everything in JSON, exit codes."""

from __future__ import annotations

import json

import pytest
from arms import BASELINE, CANDIDATE, arms, lake_of

from pipeline.tables.compare import compare
from pipeline.tables.comparison import SCHEMA

VERSIONS = ("--baseline", BASELINE, "--candidate", CANDIDATE)


@pytest.fixture
def flipped(tmp_path):
    """A lake where 25 tasks flip to 0, one to 1, and two are only in one arm."""
    values = [*((f"{i:02}", 1, 0) for i in range(25)), ("up", 0, 1), ("old", 1, []), ("new", [], 1)]
    return lake_of(tmp_path / "flipped", arms("exact_match", values)).path


def test_json_has_rows_tables_facts_and_notes(run, flipped):
    told = json.loads(
        run("compare", flipped, *VERSIONS, "--metric", "exact_match", "--format", "json").stdout
    )
    assert list(told) == ["kind", "rows", "notes", "tables", "facts", "better"]
    assert list(told["rows"][0]) == list(SCHEMA)
    assert told["rows"][0]["verdict"] == "worse"
    assert len(told["tables"]["flips"]) == 26
    assert told["tables"]["flips"][-1]["task_id"] == "up"
    assert [(row["arm"], row["task_id"]) for row in told["tables"]["only_in"]] == [
        ("baseline", "old"), ("candidate", "new"),
    ]  # fmt: skip
    assert (told["facts"]["seed"], told["facts"]["resamples"], told["facts"]["pair"]) == (
        0,
        2000,
        "task",
    )
    assert len({arm["hash"] for arm in told["facts"]["arms"]}) == 2


def test_tables_are_always_there(run, lake):
    told = json.loads(
        run("compare", lake, *VERSIONS, "--format", "json", "--where", "trial > 99 OR true").stdout
    )
    assert told["tables"]["only_in"] == []
    assert {row["metric"] for row in told["rows"]} >= {"f1", "n_steps"}


def test_to_read_there_are_the_first_flips(run, flipped):
    result = run("compare", flipped, *VERSIONS, "--metric", "exact_match")
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0].split()[:5] == ["metric", "n_tasks", "baseline_mean", "candidate_mean", "delta"]
    at = lines.index("flips")
    assert lines.index("only_in") - at == 1 + 2 + 20 + 1
    assert "note: flips: the first 20 of 26; --format json has all\n" in result.stderr
    assert "note: 1 task only in the baseline: old\n" in result.stderr


@pytest.mark.parametrize(
    ("form", "headings"),
    [("md", ("### flips", "### only_in")), ("html", ("<h2>flips</h2>", "<h2>only_in</h2>"))],
)
def test_pages_have_the_further_tables_under_headings(run, flipped, form, headings):
    run("compare", flipped, *VERSIONS, "--metric", "exact_match", "-o", f"out.{form}")
    text = (flipped.parent / f"out.{form}").read_text()
    assert text.index("candidate") < text.index(headings[0]) < text.index(headings[1])


def test_options_reach_the_library(run, lake):
    args = ("--metric", "f1", "--seed", "3", "--resamples", "500", "--pair", "trial")
    told = json.loads(run("compare", lake, *VERSIONS, *args, "--format", "json").stdout)
    library = compare(
        lake,
        baseline=BASELINE,
        candidate=CANDIDATE,
        metrics=["f1"],
        seed=3,
        resamples=500,
        pair="trial",
    )
    assert told["rows"] == library.rows.to_dicts()
    assert told["facts"]["pair"] == "trial"


def test_junit_names_stay_and_worse_is_a_failure(run, flipped):
    run("compare", flipped, *VERSIONS, "--metric", "exact_match,n_steps", "-o", "r.xml")
    text = (flipped.parent / "r.xml").read_text()
    assert 'name="metric=exact_match"' in text
    assert 'failures="1" skipped="1" errors="0"' in text


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (("--baseline", BASELINE), "--candidate"),
        (("--baseline", BASELINE, "--candidate", "agent_version = 'v9'"), "matches none"),
        (("--baseline", BASELINE, "--candidate", "nonsense = 1"), "nonsense"),
        ((*VERSIONS, "--metric", "f11"), "f1"),
        ((*VERSIONS, "--pair", "run"), "--pair"),
        ((*VERSIONS, "--seed", "-1"), "--seed"),
    ],
)
def test_what_cannot_be_used_exits_2(run, lake, args, told):
    result = run("compare", lake, *args)
    assert result.exit_code == 2
    assert told in result.stderr
