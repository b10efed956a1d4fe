"""The formats as the documentation counts and names them."""

from __future__ import annotations

import re
from pathlib import Path

from pipeline.landing import formats
from pipeline.landing.model import REASONS

ROOT = Path(__file__).resolve().parents[2]


def test_the_page_has_every_format_in_the_order_they_are_tried() -> None:
    page = (ROOT / "docs" / "formats.md").read_text(encoding="utf-8")
    headings = re.findall(r"^## (\w+)$", page, re.MULTILINE)
    assert headings == list(formats.names())
    assert [name for name in REASONS if f"- `{name}`: " not in page] == []


def test_the_readme_counts_them() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert re.findall(r"^(\d+) formats", readme, re.MULTILINE) == [str(len(formats.names()))]
