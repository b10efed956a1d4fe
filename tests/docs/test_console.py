"""What the pages say that commands print is what they print."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "docs"))
from console import commands, refreshed  # noqa: E402 - of the pages, which are no package

PAGES = [page for page in sorted((ROOT / "docs").glob("*.md")) if commands(page.read_text())]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_outputs_are_true(page, tmp_path):
    text = page.read_text(encoding="utf-8")
    assert refreshed(text, tmp_path) == text, f"python docs/console.py docs/{page.name} mends it"


def test_the_tutorial_and_the_first_steps_are_among_them():
    assert {"getting-started.md", "tutorial.md"} <= {page.name for page in PAGES}


def test_what_was_printed_is_replaced(tmp_path):
    page = "```console\n$ echo a \\\n  b\nold\nlines\n$ true\n$ echo c\n```\n"
    wanted = "```console\n$ echo a \\\n  b\na b\n\n$ true\n\n$ echo c\nc\n```\n"
    assert refreshed(page, tmp_path) == wanted
    assert commands(wanted) == ["echo a \\\n  b\n", "true\n", "echo c\n"]
