"""Pages made from code are up to date, and every metric has its heading."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from pipeline.cli.group import COMMANDS
from pipeline.metrics.registry import metrics
from pipeline.workbench import VIEWS

ROOT = Path(__file__).resolve().parents[2]


def test_generated_pages_are_up_to_date() -> None:
    page = ROOT / "docs" / "generate.py"
    done = subprocess.run(
        [sys.executable, page, "--check"], check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_every_metric_has_its_heading() -> None:
    text = (ROOT / "docs" / "metrics.md").read_text(encoding="utf-8")
    assert [name for name in metrics() if f"\n### {name}\n" not in text] == []


def test_every_command_and_every_view_has_its_heading() -> None:
    for page, names in (("commands.md", COMMANDS), ("tables.md", VIEWS)):
        text = (ROOT / "docs" / page).read_text(encoding="utf-8")
        assert [name for name in names if f"\n## {name}\n" not in text] == []
