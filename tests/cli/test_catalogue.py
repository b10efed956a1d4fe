"""`trajtab formats` and `trajtab metrics`: what there is, and what it means."""

from __future__ import annotations

import csv
import io
import json

import pytest

from pipeline.landing import formats
from pipeline.metrics import registry


def _rows(result):
    return json.loads(result.stdout)["rows"]


def test_formats_are_listed_in_the_order_they_are_tried(run):
    rows = _rows(run("formats", "--format", "json"))
    assert [row["name"] for row in rows] == list(formats.names())
    assert all(list(row) == ["name", "title", "fills", "lacks"] for row in rows)
    assert all(all(row.values()) for row in rows)


def test_metrics_are_listed_in_the_order_of_the_score_columns(run):
    result = run("metrics", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(result.stdout)))
    assert [row["name"] for row in rows] == list(registry.metrics())
    assert list(rows[0]) == ["name", "family", "range", "better", "meaning"]


@pytest.mark.parametrize(
    ("name", "spread", "better", "sql"),
    [
        ("f1", "0 to 1", "higher", "f1(expected, actual)"),
        ("precision", "0 to 1", "higher", '"precision"(expected, actual)'),
        ("exact_match_names", "0 or 1", "higher", "exact_match_names(expected, actual)"),
        ("error_rate", "0 to 1", "lower", "error_rate(is_errors)"),
        ("n_steps", "0 and up", "lower", "n_steps(kinds)"),
        ("cost_usd", "0 and up", "lower", None),
    ],
)
def test_definition_is_complete(run, name, spread, better, sql):
    (row,) = _rows(run("metrics", name, "--format", "json"))
    assert (row["name"], row["range"], row["better"], row["sql"]) == (name, spread, better, sql)
    assert all(row[key] for key in ("family", "kind", "meaning", "formula", "null", "rests_on"))


def test_definition_to_read_is_one_line_per_property(run):
    lines = run("metrics", "in_order").stdout.splitlines()
    assert "formula          matched / n; 1 when n = 0" in lines
    assert not any(line.startswith("unit") for line in lines)


OWN = """
scores.metrics = ["n_calls"]
[[metric]]
name = "patience"
direction = "lower"
sql = "n_calls - 1"
"""


def test_a_policy_adds_metrics_of_its_own(run, made_lake, tmp_path, monkeypatch):
    monkeypatch.chdir(made_lake)
    path = tmp_path / "policy.toml"
    path.write_text(OWN)
    names = [row["name"] for row in _rows(run("metrics", "--policy", path, "--format", "json"))]
    assert names == [*registry.metrics(), "patience"]
    (row,) = _rows(run("metrics", "patience", "--policy", path, "--format", "json"))
    assert (row["formula"], row["better"]) == ("n_calls - 1", "lower")
    (unscored,) = _rows(
        run("metrics", "f1", "--policy", path, "--lake", "lake", "--format", "json")
    )
    assert unscored["name"] == "f1"


@pytest.mark.parametrize("name", ["judge.of_my_own", "human.patience"])
def test_what_only_a_lake_knows_is_told(run, name):
    result = run("metrics", name)
    assert result.exit_code == 2
    assert "; with --lake LAKE those of a lake are known\n" in result.stderr


def test_unknown_metric_names_the_nearest(run):
    result = run("metrics", "inorder")
    assert result.exit_code == 2
    assert result.stderr == "trajtab: error: unknown metric 'inorder'; did you mean 'in_order'?\n"
