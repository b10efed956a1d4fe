"""Shell completion, through the variables that the shells set."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest

from pipeline.cli import main
from pipeline.cli.group import COMMANDS

ROOT = Path(__file__).resolve().parents[2]
NAMING = {
    "--policy",
    "--baseline-policy",
    "--candidate-policy",
    "--gate",
    "--from",
    "--metric",
    "--by",
}
"""Options whose values have names that can be completed."""


@pytest.fixture
def completed(run):
    """Return what bash is told for a line; a trailing space begins a new word."""

    def ask(line, shell="bash"):
        words = line.split(" ")
        where = len(words) - 1
        env = {
            "_TRAJTAB_COMPLETE": f"{shell}_complete",
            "COMP_WORDS": line.strip(),
            "COMP_CWORD": str(where),
        }
        if shell == "fish":
            env["COMP_CWORD"] = words[-1]
        return [item for item in run(env=env).stdout.splitlines() if item]

    return ask


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("trajtab perc", ["plain,percentiles"]),
        ("trajtab aggregate lake --metric backtracking_rate_c", ["plain,backtracking_rate_calls"]),
        ("trajtab aggregate lake --metric f1,in_order_n", ["plain,f1,in_order_names"]),
        ("trajtab aggregate lake --by model,agent_", ["plain,model,agent_version"]),
        ("trajtab aggregate lake --by agent,agen", ["plain,agent,agent_version"]),
        (
            "trajtab aggregate lake --by '\"labels.a,agent_v\",agent_'",
            ['plain,"labels.a,agent_v",agent_version'],
        ),
        ("trajtab aggregate lake --by '\"labels.a,agent_'", []),
        ("trajtab scores lake --sort total_t", ["plain,total_tokens"]),
        ("trajtab scores lake --columns run_id,prompt", ["plain,run_id,prompt_hash"]),
        ("trajtab trend lake --by we", ["plain,week"]),
        ("trajtab diff lake r1 --metric backtracking_rate_c", ["plain,backtracking_rate_calls"]),
        ("trajtab metrics backtracking_rate_c", ["plain,backtracking_rate_calls"]),
        ("trajtab land logs --from claude", ["plain,claude_code"]),
        ("trajtab report logs --from claude", ["plain,claude_code"]),
        ("trajtab score lake --policy preset:ad", ["plain,preset:adk"]),
        ("trajtab score lake --policy strict", ["file,strict"]),
        ("trajtab gate lake --gate preset:", ["plain,preset:five-percent"]),
        ("trajtab judge prepare lake --rubric preset:saf", ["plain,preset:safety"]),
        ("trajtab judge prepare lake --rubric own", ["file,own"]),
        ("trajtab aggregate la", ["dir,la"]),
        ("trajtab aggregate lake --format parq", ["plain,parquet"]),
    ],
)
def test_names_are_completed(completed, line, told):
    if ":" in line:  # zsh keeps a word with a colon whole
        kind, value = told[0].split(",", 1)
        assert completed(line, "zsh")[:2] == [kind, value]
    else:
        assert completed(line) == told


@pytest.mark.usefixtures("lake")
def test_a_lakes_own_metrics_are_completed(completed):
    """What people said of its runs, and what its policy defines."""
    assert completed("trajtab aggregate lake --metric f1,human.overall") == [
        "plain,f1,human.overall_quality"
    ]
    Path("own.toml").write_text('[[metric]]\nname = "zeal"\nsql = "n_calls"\ndirection = "lower"\n')
    line = "trajtab aggregate lake --policy own.toml --metric zea"
    assert completed(line) == ["plain,zeal"]


def test_fish_is_told_as_well(completed):
    assert [line.split("\t")[0] for line in completed("trajtab perc", "fish")] == [
        "plain,percentiles"
    ]


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_with_known_values_completes(name):
    """Commands to come included: the shared options bring it along."""
    command = main.get_command(click.Context(main), name)
    options = [param for param in command.params if NAMING & set(param.opts)]
    silent = [
        option.opts
        for option in options
        if not isinstance(option.type, click.Choice)
        and not option.shell_complete(click.Context(command), "")
    ]
    assert silent == []


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash")
def test_bash_completes_after_a_colon(tmp_path):
    """Bash takes the colon for a word of its own, and inserts what follows it."""
    (tmp_path / "trajtab").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m pipeline "$@"\n')
    (tmp_path / "trajtab").chmod(0o755)
    script = """
        eval "$(_TRAJTAB_COMPLETE=bash_source trajtab)"
        tell() { COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); COMPREPLY=(); _trajtab_completion trajtab; echo "${COMPREPLY[*]}"; }
        COMP_WORDS=(trajtab score lake --policy preset : ad) && tell
        COMP_WORDS=(trajtab score lake --policy preset :) && tell
        COMP_WORDS=(trajtab score lake --pol) && tell
    """
    done = subprocess.run(
        ["bash", "-c", script],  # noqa: S607 - the shell that completes
        check=True, capture_output=True, text=True, cwd=ROOT,
        env={**os.environ, "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"},
    )  # fmt: skip
    after_letters, after_colon, option = done.stdout.splitlines()
    assert after_letters == "adk"
    assert {"adk", "azure", "tau2"} <= set(after_colon.split())
    assert option == "--policy"


def test_completing_does_not_open_polars_for_a_command():
    """Every press of Tab starts the program."""
    script = "import sys\nfrom pipeline.cli import main\ntry: main()\nexcept SystemExit: pass\nprint('polars' in sys.modules)"
    env = {"_TRAJTAB_COMPLETE": "bash_complete", "COMP_WORDS": "trajtab perc", "COMP_CWORD": "1"}
    done = subprocess.run(
        [sys.executable, "-c", script],
        check=True, capture_output=True, text=True, cwd=ROOT, env={**os.environ, **env},
    )  # fmt: skip
    assert done.stdout.splitlines()[-1] == "False"
