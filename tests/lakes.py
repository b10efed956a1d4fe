"""Small lakes made on the spot: runs spelled short, landed, and scored where asked."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from pipeline.cli import main
from pipeline.lake import Lake
from pipeline.landing.land import land
from pipeline.scoring import score

if TYPE_CHECKING:
    from pathlib import Path

Record = dict[str, Any]


def final(text: str = "done", **fields: Any) -> Record:
    """A final answer."""
    return {"kind": "final", "content": text, **fields}


def write(file: Path, *records: Record | str) -> Path:
    """Write JSON lines; a text is a line as it stands."""
    lines = [record if isinstance(record, str) else json.dumps(record) for record in records]
    file.write_text("".join(f"{line}\n" for line in lines))
    return file


def landed(folder: Path, *records: Record | str, form: str = "trajtab", name: str = "log") -> Lake:
    """Land records, as one file, into the lake of `folder`."""
    file = write(folder / f"{name}.jsonl", *records)
    land([file], folder / "lake", format=form, workers=1)
    return Lake.open(folder / "lake")


def scored(folder: Path, *records: Record | str) -> Lake:
    lake = landed(folder, *records)
    score(lake)
    return lake


def trajtab(*args: object) -> int:
    """Run a command line in this process and return its exit code."""
    with pytest.raises(SystemExit) as left:
        main([str(arg) for arg in args])
    return int(left.value.code or 0)
