"""What a slip of the pen is told: the nearest name, or why a table says nothing."""

from __future__ import annotations

import pytest
from lakes import landed, scored, trajtab
from making import call, run


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
