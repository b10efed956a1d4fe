"""What a slip of the pen is told: the nearest name, or why a table says nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from lakes import landed, scored, trajtab
from making import call, run

from pipeline.lake import Lake


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hints")
    runs = (run(f"r{n}", call("search"), task_id="t", trial=n) for n in range(3))
    return scored(folder, *({**one, "labels": {"team": "desk"}} for one in runs)).path


@pytest.mark.parametrize(
    "command",
    [
        ("scores", "--where", "agent_verison = 'v1'"),
        ("percentiles", "--where", "agent_verison = 'v1'"),
        ("compare", "--baseline", "agent_verison = 'v1'", "--candidate", "true"),
        ("passk", "--pass", "agent_verison = 'v1'"),
    ],
    ids=lambda command: f"{command[0]} {command[1]}",
)
def test_a_column_that_is_none_is_told_with_the_nearest(lake, command, capsys):
    name, *options = command
    assert trajtab(name, lake, *options) == 2
    assert 'Candidate bindings: "agent_version"' in capsys.readouterr().err


@pytest.mark.parametrize("option", ["--where", "--baseline"])
def test_a_label_written_as_for_by_is_told_how_filters_name_it(lake, option, capsys):
    arms = ("--baseline", "true", "--candidate", "true")
    assert trajtab("compare", lake, *arms, option, "labels.team = 'desk'") == 2
    assert "a label is labels->>'NAME'" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["aggregate", "percentiles", "trend", "passk"])
@pytest.mark.parametrize(("label", "told"), [("taem", True), ("team", False)])
def test_a_label_that_no_run_has_is_told(lake, command, label, told, capsys):
    assert trajtab(command, lake, "--by", f"labels.{label}") == 0
    assert (f"no run here has a label '{label}'" in capsys.readouterr().err) is told


@pytest.mark.parametrize(
    ("given", "missing"), [((), "--candidate and --gate"), (("--candidate", "true"), "--gate")]
)
def test_a_gate_names_what_is_missing(lake, given, missing, capsys):
    assert trajtab("gate", lake, *given) == 2
    assert f"error: {missing} must be given" in capsys.readouterr().err


def test_a_parameter_that_the_query_lacks_is_named(lake, capsys):
    assert trajtab("sql", lake, "SELECT $x", "--param", "x=1", "--param", "y=2") == 2
    assert "the query has no $y" in capsys.readouterr().err


def test_days_of_runs_without_a_start_are_told(lake, capsys):
    assert trajtab("trend", lake, "--by", "date") == 0
    assert "the runs that have no started_at" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["aggregate", "scores", "passk"])
def test_a_lake_without_a_run_says_so(tmp_path, command, capsys):
    task = {"task_id": "t", "references": [[{"tool_name": "search"}]]}
    lake = landed(tmp_path, task, form="tasks").path
    assert trajtab(command, lake) == 0
    assert "the lake holds no run" in capsys.readouterr().err


@pytest.mark.parametrize(
    "command",
    [
        ("scores", "--where", 'agent = "demo"'),
        ("compare", "--baseline", 'agent = "demo"', "--candidate", "true"),
        ("passk", "--pass", 'agent = "demo"'),
        ("sql", 'SELECT run_id FROM runs WHERE agent = "demo"'),
    ],
    ids=lambda command: command[0],
)
def test_a_text_in_double_quotes_is_told_how_texts_are_written(lake, command, capsys):
    name, *options = command
    assert trajtab(name, lake, *options) == 2
    assert "a text stands in single quotes: 'demo'" in capsys.readouterr().err
    assert trajtab(name, lake, *(option.replace('"', "") for option in options)) == 2
    assert "single quotes" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("command", "meant"),
    [
        (("land", "run.jsonl", "--lake", "l"), "runs.jsonl"),
        (("score", "l", "--policy", "polcy.toml"), "policy.toml"),
    ],
    ids=["logs", "policy"],
)
def test_a_path_that_is_not_there_is_told_with_one_like_it(command, meant, capsys):
    (Path.cwd() / "runs.jsonl").write_text("{}\n")
    (Path.cwd() / "policy.toml").touch()
    Lake.create("l")
    assert trajtab(*command) == 2
    assert f"did you mean '{meant}'?" in capsys.readouterr().err


def test_a_lake_that_is_not_there_is_told_with_one_like_it(capsys):
    Lake.create("night")
    assert trajtab("scores", "nigth") == 2
    told = capsys.readouterr().err
    assert "nigth: no lake here (no such folder); did you mean 'night'?; `trajtab land" in told
    assert trajtab("scores", "elsewhere") == 2
    assert "did you mean" not in capsys.readouterr().err


@pytest.mark.parametrize(
    "command",
    [
        ("aggregate", "LAKE", "--metric", "banana"),
        ("aggregate", "LAKE", "--by", "banana"),
        ("scores", "LAKE", "--columns", "foo"),
        ("score", "LAKE", "--policy", "preset:nope"),
        ("metrics", "banana"),
    ],
    ids=" ".join,
)
def test_what_is_like_no_name_is_told_without_a_guess(lake, command, capsys):
    assert trajtab(*(lake if word == "LAKE" else word for word in command)) == 2
    told = capsys.readouterr().err
    assert "did you mean" not in told
    assert "known: " in told or " lists them" in told


def test_a_condition_that_breaks_off_is_told_by_what_was_typed(lake, capsys):
    assert trajtab("scores", lake, "--where", "f1 <") == 2
    assert "--where 'f1 <': Parser Error: syntax error at the end\n" in capsys.readouterr().err
    assert trajtab("scores", lake, "--where", "(f1 <)") == 2
    assert 'syntax error at or near ")"' in capsys.readouterr().err


def test_a_table_that_is_not_there_is_told_with_the_views(lake, capsys):
    assert trajtab("sql", lake, "FROM banana") == 2
    told = "Table with name banana does not exist! The views are runs, steps, calls, tasks, refs,"
    assert told in capsys.readouterr().err


def test_a_lake_without_runs_says_so_and_what_to_do(capsys):
    Lake.create("empty")
    assert trajtab("compare", "empty", "--baseline", "true", "--candidate", "true") == 2
    told = "--baseline 'true' matches none: the lake holds no run: `trajtab land LOGS --lake LAKE`"
    assert told in capsys.readouterr().err


def test_a_lake_without_judgments_says_how_to_have_some(lake, capsys):
    assert trajtab("judge", "consistency", lake) == 0
    assert "note: no judgment has landed: `trajtab judge prepare`" in capsys.readouterr().err


def test_a_preset_without_its_prefix_is_told(lake, capsys):
    assert trajtab("score", lake, "--policy", "adk") == 2
    assert "adk: no such policy file; did you mean 'preset:adk'?" in capsys.readouterr().err


def test_scores_that_are_missing_are_told_with_their_policy(lake, capsys):
    for command in ("aggregate", "percentiles"):
        assert trajtab(command, lake, "--policy", "preset:adk") == 0
        told = capsys.readouterr().err
        assert (
            "1 of 1 batch is not scored yet: run `trajtab score` with --policy preset:adk" in told
        )
    arms = ("--baseline", "true", "--candidate", "true")
    assert trajtab("compare", lake, *arms, "--candidate-policy", "preset:adk") in {0, 3}
    assert "under its policy: run `trajtab score` with --policy preset:adk" in (
        capsys.readouterr().err
    )


def test_a_format_of_logs_given_as_one_of_results_is_told_its_option(capsys):
    Path("runs.jsonl").touch()
    assert trajtab("land", "runs.jsonl", "--lake", "l", "--format", "otlp") == 2
    assert "what the logs are is --from" in capsys.readouterr().err
    assert trajtab("aggregate", "l", "--format", "otlp") == 2
    assert "--from" not in capsys.readouterr().err


@pytest.mark.parametrize("command", ["aggregate", "percentiles", "trend", "passk"])
def test_a_label_that_is_no_utf8_is_refused(lake, command, capsys):
    assert trajtab(command, lake, "--by", "labels.\udcff") == 2
    assert r"group column 'labels.\udcff': a label's name is UTF-8" in capsys.readouterr().err


def test_a_sample_in_a_folder_that_is_no_utf8_is_told(tmp_path, capsys):
    assert trajtab("sample", tmp_path / "caf\udce9", "--runs", "1") == 0
    assert r"caf\xe9/runs.jsonl" in capsys.readouterr().out
