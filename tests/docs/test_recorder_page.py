"""The Python that the recorder's page shows runs as it stands, and what it records lands."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.landing.land import land

if TYPE_CHECKING:
    import pytest

PAGE = Path(__file__).resolve().parents[2] / "docs" / "recorder.md"


def test_the_examples_run_and_land(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), {})  # noqa: S102 - our own page
    report = land(["runs.jsonl"], "lake", workers=1)
    assert len(blocks) == 3
    assert (report.runs, report.steps, report.rejects.total()) == (3, 6 + 1 + 2, 0)
