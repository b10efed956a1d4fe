"""Fill in what the commands of a page print: `python docs/console.py [PAGE...]`.

A block marked `console` holds commands after `$ `, each followed by what it prints on stdout. All
blocks of a page are run in order, in one folder with the samples in it.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
BLOCK = re.compile(r"(?<=^```console\n).*?(?=^```)", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^\$ (?:.*\\\n)*.*\n", re.MULTILINE)


def commands(page: str) -> list[str]:
    """Return the commands of a page's console blocks, in order."""
    return [
        found.removeprefix("$ ")
        for block in BLOCK.findall(page)
        for found in COMMAND.findall(block)
    ]


def told(command: str, folder: Path) -> str:
    """Run a command in a folder and return what it prints on stdout.

    Raises:
        RuntimeError: it fails.
    """
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    # A page is as wide as it is, however wide the terminal of whoever makes it.
    own = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
    done = subprocess.run(  # noqa: S603 - the pages' own commands
        ["bash", "-c", command],  # noqa: S607 - the shell of the page
        check=False,
        capture_output=True,
        text=True,
        cwd=folder,
        env={**own, "PATH": path},
    )
    if done.returncode:
        raise RuntimeError(f"{command}exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def refreshed(page: str, folder: Path) -> str:
    """Return the page with what its commands print today."""
    shutil.copytree(HERE.parent / "data_samples", folder / "data_samples")

    def answered(block: re.Match[str]) -> str:
        found = COMMAND.findall(block[0])
        return "".join(f"{command}{told(command[2:], folder)}\n" for command in found)[:-1]

    return BLOCK.sub(answered, page)


def main() -> None:
    """Fill in the pages named, or all that have console blocks."""
    for page in map(Path, sys.argv[1:] or sorted(map(str, HERE.glob("*.md")))):
        text = page.read_text(encoding="utf-8")
        if commands(text):
            with tempfile.TemporaryDirectory() as folder:
                page.write_text(refreshed(text, Path(folder)), encoding="utf-8")


if __name__ == "__main__":
    main()
