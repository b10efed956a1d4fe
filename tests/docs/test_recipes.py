"""The files that docs/recipes.md shows can be read by the programs they are for."""

from __future__ import annotations

import ast
import configparser
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import click
import pytest

from pipeline.cli import main
from pipeline.cli.group import COMMANDS
from pipeline.sample import sample
from pipeline.tables.gate_file import load

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "recipes.md").read_text(encoding="utf-8")


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def refuse_unknown(words):
    """Fail on a command or option of trajtab that does not exist."""
    assert words[0] in COMMANDS
    command = main.get_command(click.Context(main), words[0])
    known = {name for param in command.params for name in param.opts}
    assert {word for word in words if re.match(r"--?[a-z]", word)} <= known


@pytest.fixture
def home(tmp_path):
    """A folder as the script finds it, with two nights of logs and trajtab on the path."""
    sample(tmp_path / "export", runs=200)
    (tmp_path / "nightly.sh").write_text(blocks("bash")[0])
    (tmp_path / "gate.toml").write_text(blocks("toml")[0])
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "trajtab"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m pipeline "$@"\n')
    program.chmod(0o755)
    return tmp_path


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash")
def test_the_script_judges_and_leaves_a_report(home):
    script = (home / "nightly.sh").read_text().replace("current_date - 1", "'2025-12-01T00:11:40Z'")
    env = {
        **os.environ,
        "AGENTS_HOME": str(home),
        "PATH": f"{home / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
    }
    done = subprocess.run(
        ["bash", "-c", script],  # noqa: S607 - the shell of the script
        check=False, capture_output=True, text=True, env=env,
    )  # fmt: skip
    # The made-up tasks come one after the other: no task is in both halves, bar one.
    assert done.returncode in (1, 3), done.stderr
    assert {"gate.md", "gate.xml", "report.html"} <= {path.name for path in home.iterdir()}


def test_the_gate_file_is_one(tmp_path):
    (text,) = blocks("toml")
    assert [gate["metric"] for gate in tomllib.loads(text)["gate"]] == ["success", "error_rate"]
    (tmp_path / "gate.toml").write_text(text)
    load(tmp_path / "gate.toml")


def test_cron_has_five_fields_and_a_command():
    lines = [line for line in blocks("cron")[0].splitlines() if "=" not in line.split(" ")[0]]
    assert len(lines) == 1
    assert re.fullmatch(r"(?:[\d*/,-]+ ){5}flock .*nightly\.sh .*", lines[0])


def test_systemd_units_have_their_sections():
    units = []
    for text in blocks("ini"):
        unit = configparser.ConfigParser(interpolation=None, delimiters=["="])
        unit.optionxform = str
        unit.read_string(text)
        units.append(unit)
    assert [unit.sections() for unit in units] == [
        ["Unit", "Service"],
        ["Unit", "Timer", "Install"],
    ]
    assert units[0]["Service"]["ExecStart"] == "/opt/agents/nightly.sh"


def test_the_workflow_is_yaml_and_its_commands_exist():
    yaml = pytest.importorskip("yaml")
    (text,) = blocks("yaml")
    (job,) = yaml.safe_load(text)["jobs"].values()
    lines = [line for step in job["steps"] for line in step.get("run", "").splitlines()]
    calls = [shlex.split(line)[1:] for line in lines if line.startswith("trajtab ")]
    assert [call[0] for call in calls] == ["land", "land", "score", "gate", "report"]
    for call in calls:
        refuse_unknown(call)


def test_pipelines_are_python_and_their_commands_exist():
    found = []
    for text in blocks("python"):
        calls = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)]
        found += [
            [part.value for part in call.args if isinstance(part, ast.Constant)]
            for call in calls
            if getattr(call.func, "id", "") == "trajtab"
        ]
        found += [shlex.split(line)[1:] for line in re.findall(r'"(trajtab [^"]*)"', text)]
    for words in found:
        refuse_unknown(words)
    assert {words[0] for words in found} == {"land", "score", "gate", "report"}
