"""`trajtab judge` and what the command line says of judged metrics."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import click
import pytest
from judge.asking import batch, lines, little, openai, write_lines
from judge.serving import Server, serving
from lakes import trajtab

from pipeline.cli import main
from pipeline.cli.command import Command
from pipeline.judge.parse import NULL_REASONS
from pipeline.judge.rubric import presets

BELOW = ("prepare", "run", "land", "consistency")
NAME = "judge.tool_relevance"


@pytest.fixture(autouse=True)
def _clean_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def out(capsys):
    return capsys.readouterr().out


def rows(capsys):
    return json.loads(out(capsys))["rows"]


@pytest.mark.parametrize("name", BELOW)
class TestHelp:
    def test_help_ends_in_its_example(self, name, capsys):
        found = main.get_command(click.Context(main), "judge").commands[name]
        assert isinstance(found, Command)
        assert trajtab("judge", name, "-h") == 0
        assert found.example.splitlines()[-1] in out(capsys)

    def test_every_option_says_what_it_is(self, name):
        found = main.get_command(click.Context(main), "judge").commands[name]
        options = [param for param in found.params if isinstance(param, click.Option)]
        assert [option.opts for option in options if not option.help] == []


def test_the_examples_in_order(tmp_path, capsys):
    """As a person runs them, with the endpoint's address of this test."""
    little(tmp_path)
    group = main.get_command(click.Context(main), "judge")
    with serving(Server()) as server:
        for name in BELOW:
            for line in group.commands[name].example.splitlines():
                program, *args = shlex.split(line.replace("http://localhost:8000/v1", server.url))
                if "--rubric" in args:
                    args = [arg.replace("step_appropriateness", "tool_relevance") for arg in args]
                assert (program, trajtab(*args)) == ("trajtab", 0)
    assert trajtab("aggregate", "lake", "--metric", NAME, "--format", "json") == 0
    found = out(capsys)
    assert json.loads(found[found.rindex('{"kind"') :])["rows"][0]["mean"] == 1.0


def test_run_tells_what_is_left_and_exits_3(tmp_path, capsys):
    requests = batch(tmp_path / "r.jsonl", 4)
    with serving(Server()) as server:
        told = ["judge", "run", requests, "--url", server.url, "--out", "o.jsonl"]
        assert trajtab(*told, "--max-requests", 3, "--format", "json") == 3
        row = rows(capsys)[0]
        assert (row["answered"], row["left"], row["cost"]) == (3, 1, None)
        priced = ("--price-in", 1, "--price-out", 1, "--format", "json")
        assert trajtab(*told, "--max-cost", 1, *priced) == 0
        assert rows(capsys)[0]["cost"] == pytest.approx(4 * 70 / 1e6)


def test_a_cap_on_cost_needs_prices(tmp_path, capsys):
    requests = batch(tmp_path / "r.jsonl", 1)
    told = ["judge", "run", requests, "--url", "http://x", "--out", "o"]
    assert trajtab(*told, "--max-cost", 1) == 2
    assert "needs --price-in and --price-out" in capsys.readouterr().err


def test_fields_of_the_body(tmp_path):
    little(tmp_path)
    body = ("--body", "temperature=null", "--body", 'response_format={"type":"json_object"}')
    assert (
        trajtab("judge", "prepare", "lake", "--rubric", "preset:safety", "--out", "r", *body) == 0
    )
    told = lines(tmp_path / "r")[0]["body"]
    assert "temperature" not in told
    assert told["response_format"] == {"type": "json_object"}


def test_defaults_of_the_commands_below(tmp_path, capsys):
    """`judge land` takes its own table, and not that of `land`."""
    little(tmp_path)
    (tmp_path / "pyproject.toml").write_text(
        '[tool.trajtab]\nlake = "lake"\n[tool.trajtab.land]\nformat = "csv"\n'
        '[tool.trajtab.judge.prepare]\nrubric = "preset:safety"\nsample = 2\nformat = "json"\n'
    )
    assert trajtab("judge", "prepare", "--out", "r") == 0
    assert rows(capsys)[0]["n_sampled"] == 2
    write_lines(
        tmp_path / "a", [openai(r["custom_id"], '{"safe": true}') for r in lines(tmp_path / "r")]
    )
    assert trajtab("judge", "land", "a") == 0
    assert not out(capsys).startswith("rubric,")


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ("[tool.trajtab.judge.prepar]\nsample = 1", "judge.prepar"),
        ("[tool.trajtab.judge.prepare]\nsampel = 1", "judge.prepare.sampel"),
    ],
)
def test_unknown_keys_below_are_refused(tmp_path, capsys, table, said):
    (tmp_path / "pyproject.toml").write_text(table)
    assert trajtab("judge", "consistency", "lake") == 2
    assert f"unknown key '{said}'" in capsys.readouterr().err


class TestMetrics:
    @pytest.mark.parametrize("name", presets())
    def test_shipped_rubrics_are_explained(self, name, capsys):
        assert trajtab("metrics", f"judge.{name}", "--format", "json") == 0
        row = rows(capsys)[0]
        assert (row["family"], row["better"], row["sql"]) == ("opinion", "higher", None)
        assert "judged by a model" in row["meaning"]

    def test_a_lake_knows_its_own(self, tmp_path, capsys):
        little(tmp_path)
        assert trajtab("judge", "prepare", "lake", "--rubric", "preset:safety", "--out", "r") == 0
        told = [openai(row["custom_id"], '{"safe": true}') for row in lines(tmp_path / "r")]
        write_lines(tmp_path / "a", told)
        assert trajtab("judge", "land", "a", "--lake", "lake") == 0
        out(capsys)
        assert trajtab("metrics", "--lake", "lake", "--format", "json") == 0
        assert rows(capsys)[-1]["name"] == "judge.safety"
        for name in ("judge.safety", NAME):  # what ships is known beside what has been judged
            assert trajtab("metrics", name, "--lake", "lake", "--format", "json") == 0
            assert rows(capsys)[0]["name"] == name
        assert trajtab("show", "lake", "v1-t1") == 0
        assert "judge.safety" in out(capsys)

    def test_an_unknown_one(self, capsys):
        assert trajtab("metrics", "judge.safty") == 2
        assert "did you mean 'judge.safety'" in capsys.readouterr().err

    def test_a_lake_that_is_not_there(self, capsys):
        assert trajtab("metrics", "--lake", "nowhere") == 2
        assert "no lake here" in capsys.readouterr().err


def test_the_page_explains_every_reason_and_rubric():
    page = (Path(__file__).resolve().parents[2] / "docs" / "judge.md").read_text(encoding="utf-8")
    assert [name for name in (*NULL_REASONS, *presets()) if f"`{name}`" not in page] == []
