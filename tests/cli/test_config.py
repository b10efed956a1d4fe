"""Defaults: where they come from, what they may say, and that what is typed wins."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pipeline.lake import Lake


@pytest.fixture
def project():
    """Write ./pyproject.toml."""
    return lambda text: Path("pyproject.toml").write_text(text, encoding="utf-8")


def test_project_sets_shared_options(run, project):
    project('[tool.trajtab]\nformat = "json"\n')
    assert json.loads(run("metrics").stdout)["kind"] == "metrics"


def test_what_is_typed_wins(run, project):
    project('[tool.trajtab]\nformat = "json"\n')
    assert run("metrics", "--format", "csv").stdout.startswith("name,family,")


def test_commands_own_table_wins_over_the_shared_one(run, project):
    project('[tool.trajtab]\nformat = "json"\n[tool.trajtab.metrics]\nformat = "csv"\n')
    assert run("metrics").stdout.startswith("name,family,")


def test_a_projects_other_tables_are_not_ours(run, project):
    project('format = "json"\n[tool.other]\nx = 1\n')
    assert run("metrics").stdout.startswith("name  ")


def test_file_named_replaces_the_project(run, project, tmp_path):
    project('[tool.trajtab]\nformat = "json"\n')
    (tmp_path / "my.toml").write_text('format = "csv"\n')
    for args in (["--config", "my.toml", "metrics"], ["metrics", "--config", "my.toml"]):
        assert run(*args).stdout.startswith("name,family,")


def test_file_named_may_be_a_project(run, tmp_path):
    (tmp_path / "my.toml").write_text('[tool.trajtab]\nformat = "csv"\n')
    assert run("metrics", "--config", "my.toml").stdout.startswith("name,family,")


@pytest.mark.parametrize("labels", ['["team=x", "night=1"]', '{team = "x", night = 1}'])
def test_lake_labels_and_flags_can_be_set(run, project, lake, labels):
    project(f'[tool.trajtab]\nlake = "other"\n[tool.trajtab.land]\nset = {labels}\nsuite = "s"\n')
    assert run("land", lake.parent / "export").exit_code == 0
    (batch,) = Lake.open("other").batches()
    rows = run(
        "sql",
        "other",
        "SELECT DISTINCT suite, labels->>'night' AS night FROM runs",
        "--format",
        "csv",
    )
    assert batch.rows("runs") == 48
    assert rows.stdout.splitlines() == ["suite,night", "s,1"]


def test_lake_set_stands_in_for_the_argument(run, project, lake):
    project(f'[tool.trajtab]\nlake = "{lake}"\nby = ["agent_version", "suite"]\n')
    assert run("scores", "--format", "jsonl").stdout.count("\n") == 48


def test_shared_option_a_command_does_not_have_does_not_touch_it(run, project):
    project('[tool.trajtab]\npolicy = "preset:default"\nwhere = "true"\nlake = "l"\n')
    assert run("metrics").exit_code == 0


UNKNOWN = {
    "shared": ('[tool.trajtab]\nlaek = "x"\n', "'laek'", "'lake'"),
    "of the command": (
        "[tool.trajtab.metrics]\nformatt = 1\n",
        "'metrics.formatt'",
        "'metrics.format'",
    ),
    "of another command": ("[tool.trajtab.land]\nworker = 2\n", "'land.worker'", "'land.workers'"),
    "command": ("[tool.trajtab.metric_s]\nformat = 1\n", "'metric_s'", "'metrics'"),
}


@pytest.mark.parametrize(("text", "key", "nearest"), UNKNOWN.values(), ids=UNKNOWN)
def test_unknown_key_is_refused_with_the_nearest_and_the_file(run, project, text, key, nearest):
    project(text)
    result = run("metrics")
    assert result.exit_code == 2
    assert result.stderr.count("\n") == 1
    assert f"unknown key {key} in pyproject.toml; did you mean {nearest}?" in result.stderr


BAD = {
    "value outside its choices": '[tool.trajtab]\nformat = "xls"\n',
    "value instead of a table": '[tool.trajtab]\nmetrics = "f1"\n',
    "no table": '[tool]\ntrajtab = "x"\n',
    "no TOML": "[tool.trajtab\n",
}


@pytest.mark.parametrize("text", BAD.values(), ids=BAD)
def test_bad_value_is_refused_and_the_file_named(run, project, text):
    project(text)
    result = run("metrics")
    assert result.exit_code == 2
    assert result.stderr.count("\n") == 1
    assert "pyproject.toml" in result.stderr


def test_failure_is_json_if_the_configuration_says_json(run, project):
    project('[tool.trajtab]\nformat = "json"\n')
    assert json.loads(run("metrics", "recal").stdout)["error"]["kind"] == "unknown_name"
    assert json.loads(run("scores").stdout)["error"]["kind"] == "usage"


def test_help_does_not_need_a_sound_configuration(run, project):
    project("[tool.trajtab\n")
    assert run("metrics", "-h").exit_code == 0


BENT = {
    "a fraction for a whole number": (
        "compare.seed = 1.5",
        "seed is 1.5; a whole number is needed",
    ),
    "a fraction among whole numbers": (
        "passk.k = [1, 2.5]",
        "[1, 2.5] is no list of whole numbers",
    ),
    "true for a number": ("scores.limit = true", "limit is True; a whole number is needed"),
    "a word for a flag": ('passk.tasks = "no"', "tasks is 'no'; true or false is needed"),
    "a list for one text": (
        'scores.policy = ["a"]',
        "policy is ['a']; a text or a number is needed",
    ),
    "a table for a list": ("passk.by = {a = 1}", "by is {'a': 1}; a text or a number is needed"),
    "a number for a name": ("compare.metric = 1", "unknown metric '1'"),
}


@pytest.mark.parametrize(("text", "told"), BENT.values(), ids=BENT)
def test_no_value_is_bent_into_another_kind(run, made_lake, project, text, told):
    project(f"[tool.trajtab]\n{text}\n")
    arms = ["--baseline", "true", "--candidate", "true"]
    command = text.partition(".")[0]
    result = run(command, made_lake / "lake", *(arms if command == "compare" else []))

    assert result.exit_code == 2
    assert told in result.stderr
    assert "internal error" not in result.stderr
