"""The commands that README and docs show are run, in order, in a folder of their own."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner
from rich_lake import each_chart_once

from pipeline.cli import main

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
PLAIN = re.compile(r"[\w\s.,:=/-]*")
QUOTED = re.compile(r"""'[^']*'|"[^"$`\\]*\"""")
BLOCK = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)


def commands(page: Path) -> list[str]:
    """Return the `trajtab` commands of a page's `sh` blocks, continuation lines joined.

    Those on lakes in object stores are run by `tests/store`, which has one.
    """
    found = []
    for block in BLOCK.findall(page.read_text(encoding="utf-8")):
        for line in re.sub(r"\\\n\s*", " ", block).splitlines():
            text = line.removeprefix("$ ").strip()
            ours = text.startswith("trajtab ") or " | trajtab " in text
            if ours and "://" not in text:
                found.append(text)
    return found


def words(command: str) -> list[str] | None:
    """Return the words of a command; None where a shell might do more than to split it into them."""
    bare = re.sub(r"(?<=\s)#.*", "", QUOTED.sub("quoted", command))
    return shlex.split(command, comments=True) if PLAIN.fullmatch(bare) else None


def ran(command: str) -> tuple[int, str]:
    """Run a command as the shell of the page does; in this process where it starts one program."""
    program, *args = words(command) or [""]
    if program == "trajtab":
        result = CliRunner().invoke(main, args)
        return result.exit_code, result.output
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", command],  # noqa: S607 - the shell of the page
        check=False, capture_output=True, text=True, env={**os.environ, "PATH": path},
    )  # fmt: skip
    return done.returncode, done.stdout + done.stderr


@pytest.fixture(scope="module", autouse=True)
def _charts() -> Iterator[None]:
    """Most pages make a report of the same samples."""
    with each_chart_once():
        yield


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(ROOT / "data_samples", tmp_path / "data_samples")
    monkeypatch.chdir(tmp_path)
    for command in commands(page):
        code, said = ran(command)
        allowed = (0, 1, 3) if " gate " in f" {command} " else (0,)
        assert code in allowed, f"{command}\n{said}"


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ('trajtab sql l "SELECT n * 2 > 0"  # all', ["trajtab", "sql", "l", "SELECT n * 2 > 0"]),
        ("trajtab sql l 'SELECT 1#'", ["trajtab", "sql", "l", "SELECT 1#"]),
        ("X=1 trajtab metrics", ["X=1", "trajtab", "metrics"]),
        ("trajtab land a|trajtab b", None),
        ("trajtab metrics 2>file", None),
        ("trajtab land *.jsonl", None),
        ('trajtab land "$HOME"', None),
        ("trajtab land 'a'#b", None),
        ("trajtab land ~", None),
    ],
)  # fmt: skip
def test_what_needs_a_shell_has_one(command: str, told: list[str] | None) -> None:
    assert words(command) == told


def test_the_readme_shows_commands() -> None:
    assert len(commands(ROOT / "README.md")) >= 3
