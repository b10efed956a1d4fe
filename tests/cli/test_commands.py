"""What all commands share: help with an example that runs, and a light start."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import click
import pytest

from pipeline.cli import main
from pipeline.cli.command import Command
from pipeline.cli.group import COMMANDS
from pipeline.cli.values import LakePath
from pipeline.landing.land import land
from pipeline.sample import sample
from pipeline.scoring import score

HOME = str(Path(__file__).resolve().parents[2])
HEAVY = ("polars", "duckdb", "pyarrow", "rich", "altair")


def _command(name):
    found = main.get_command(click.Context(main), name)
    assert isinstance(found, Command)
    return found


def _as_a_shell_reads(line):
    """Split a line into words; what stands for a variable in double quotes is lost, as it would be."""
    told = subprocess.run(
        ["/bin/sh", "-fc", f"printf '%s\\n' {line}"],
        check=True,
        capture_output=True,
        text=True,
        env={},
    )
    return told.stdout.splitlines()


@pytest.mark.parametrize("name", COMMANDS)
class TestCommand:
    def test_help_ends_in_its_example_as_it_stands(self, run, name):
        for flag in ("-h", "--help"):
            result = run(name, flag)
            assert result.exit_code == 0
            example = "".join(f"  {line}\n" for line in _command(name).example.splitlines())
            assert result.stdout.endswith(f"\nExample:\n{example}")

    def test_every_option_says_what_it_is(self, name):
        options = [param for param in _command(name).params if isinstance(param, click.Option)]
        assert [option.opts for option in options if not option.help] == []

    def test_first_line_of_its_help_is_the_one_of_the_list(self, run, name):
        assert COMMANDS[name] in run(name, "-h").stdout.splitlines()[2]
        assert COMMANDS[name] in run("-h").stdout

    def test_example_runs(self, run, lake, name):
        """Lines that need another program (a pipe, duckdb) are for people to try."""
        assert lake.is_dir()
        lines = [
            line
            for line in _command(name).example.splitlines()
            if not {"|", ">", "&"} & set(line.split())
        ]
        for line in lines:
            program, *args = _as_a_shell_reads(line)
            result = run(*args)
            assert (program, result.exit_code, result.exception) == (
                "trajtab",
                0,
                result.exception,
            ), result.output


def test_every_command_has_a_file_and_every_file_is_listed():
    """A command is a module with a `command` in it."""
    folder = Path(HOME, "pipeline", "cli")
    files = [*folder.glob("*.py"), *folder.glob("*/__init__.py")]
    names = {path.relative_to(folder).parts[0].removesuffix(".py"): path for path in files}
    declared = {name for name, path in names.items() if "\n@declare(" in path.read_text()}
    assert declared == set(COMMANDS)


def test_without_a_command_there_is_help(run):
    result = run()
    assert result.exit_code == 0
    assert result.stdout.startswith("Usage: trajtab ")


def test_version(run):
    assert run("--version").stdout == f"trajtab {version('trajtab')}\n"


def _loaded(args, heavy, cwd=HOME):
    """Return which modules a command loads, of some."""
    script = (
        "import sys\nfrom pipeline.cli import main\n"
        f"try: main({args!r})\nexcept SystemExit as done: assert not done.code\n"
        f"print(sorted({set(heavy)!r} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        check=True,
        capture_output=True,
        text=True,
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": HOME},
    )
    return done.stdout.splitlines()[-1]


@pytest.fixture(scope="module")
def plain_lake(tmp_path_factory):
    """Land and score a few runs that nobody annotated."""
    folder = tmp_path_factory.mktemp("plain")
    sample(folder / "export", runs=8)
    land([folder / "export"], folder / "lake", workers=1)
    score(folder / "lake")
    return folder


def test_landing_a_plain_log_loads_no_arrow(tmp_path):
    sample(tmp_path / "export", runs=8)
    args = ["land", "export", "--lake", "lake"]
    assert _loaded(args, {"pyarrow", "numpy", "duckdb"}, tmp_path) == "[]"


@pytest.mark.parametrize("args", [["--version"], ["--help"]])
def test_start_is_light(args):
    assert _loaded(args, HEAVY) == "[]"


@pytest.mark.parametrize(
    "args",
    [
        ["aggregate", "lake", "--by", "agent_version"],
        ["scores", "lake"],
        ["percentiles", "lake"],
        ["passk", "lake"],
        ["trend", "lake", "--by", "date"],
    ],
    ids=lambda args: args[0],
)
def test_tables_load_neither_the_landing_nor_arrow(args, plain_lake):
    """A fifth of what such a command costs on a small lake, and forty megabytes."""
    heavy = {"pyarrow", "numpy", "scipy", "pipeline.landing", "pipeline.scoring"}
    assert _loaded(args, heavy, plain_lake) == "[]"


def test_module_is_the_command():
    done = subprocess.run(
        [sys.executable, "-m", "pipeline", "--version"],
        check=True,
        capture_output=True,
        text=True,
        cwd=HOME,
    )
    assert done.stdout == f"trajtab {version('trajtab')}\n"


def test_every_command_takes_a_lake_in_an_object_store():
    """A path would make `s3:/` of `s3://`."""
    asked = [main.get_command(click.Context(main), name) for name in COMMANDS]
    below = [inner for found in asked for inner in getattr(found, "commands", {}).values()]
    lakes = [
        (found.name, param.type)
        for found in (*asked, *below)
        for param in found.params
        if param.name == "lake"
    ]

    assert len(lakes) > len(COMMANDS) // 2
    assert [name for name, kind in lakes if not isinstance(kind, LakePath)] == []
