"""The commands that README and docs show are run, in order, in a folder of their own."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
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


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_run(page: Path, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "data_samples", tmp_path / "data_samples")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    for command in commands(page):
        done = subprocess.run(
            ["bash", "-c", command],  # noqa: S607 - the shell of the page
            check=False, capture_output=True, text=True, cwd=tmp_path, env={**os.environ, "PATH": path},
        )  # fmt: skip
        allowed = (0, 1, 3) if " gate " in f" {command} " else (0,)
        assert done.returncode in allowed, f"{command}\n{done.stdout}{done.stderr}"


def test_the_readme_shows_commands() -> None:
    assert len(commands(ROOT / "README.md")) >= 3
