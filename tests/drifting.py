"""Samples with fields that no format knows, and what lands of them."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any

import polars as pl

from pipeline.landing.land import land

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator
    from pathlib import Path


def _places(value: Any, at: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each object with its place: members by name, items of lists all alike."""
    if isinstance(value, dict):
        yield at, value
        for name, member in value.items():
            yield from _places(member, f"{at}.{name}")
    elif isinstance(value, list):
        for item in value:
            yield from _places(item, f"{at}.*")


class Drift:
    """Documents with one new field in the first object of every place."""

    def __init__(
        self,
        source: Path,
        target: Path,
        only: set[str] | None = None,
        but: Collection[str] = (),
    ) -> None:
        self.fields: dict[str, str] = {}
        self._but = but
        self._only = only
        shutil.copytree(source, target)
        for file in sorted(path for path in target.rglob("*") if path.is_file()):
            file.write_text(self._drifted(file.read_text(), file.suffix))

    def _drifted(self, text: str, suffix: str) -> str:
        try:
            return json.dumps(self._added(json.loads(text), suffix))
        except json.JSONDecodeError:
            lines = [json.loads(line) for line in text.splitlines() if line]
            # Lines differ in kind: what tells them apart is mostly their type.
            named = [(line, self._kind(line)) for line in lines]
            return "".join(json.dumps(self._added(*pair)) + "\n" for pair in named)

    @staticmethod
    def _kind(line: Any) -> str:
        return str(line.get("type", "")) if isinstance(line, dict) else ""

    def _added(self, document: Any, at: str) -> Any:
        for place, found in list(_places(document, at)):
            wanted = place not in self._but if self._only is None else place in self._only
            if wanted and place not in self.fields:
                self.fields[place] = f"zz_new_{len(self.fields)}_"
                found[self.fields[place]] = self.fields[place] + "told"
        return document


TABLES = ("runs", "steps", "tasks", "references", "tools", "annotations", "rejects")
OF_A_LANDING = (
    "run_id", "identity", "run_key", "landed_at", "source_path", "source_line",
    "content_key", "byte_offset", "excerpt",
)  # fmt: skip
"""What depends on where, when and from which bytes a run landed."""


def landed(source: Path, lake: Path) -> dict[str, pl.DataFrame]:
    """Land logs and return what the lake holds, table by table."""
    land([source], lake, workers=1)
    files = {name: sorted(lake.rglob(f"{name}.parquet")) for name in TABLES}
    return {
        name: pl.concat([pl.read_parquet(file, glob=False) for file in found], how="diagonal")
        for name, found in files.items()
        if found
    }


def text_of(tables: Iterable[pl.DataFrame]) -> str:
    """Return every cell of tables, as text."""
    return "\n".join(repr(table.rows()) for table in tables)


def but_labels(table: pl.DataFrame) -> pl.DataFrame:
    """Return what a table says but for its labels, and for what depends on its landing."""
    return table.drop("labels", *OF_A_LANDING, strict=False)
