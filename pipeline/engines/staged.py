"""A staged batch on the shelf: its tables as Parquet, the rest of it in the manifest."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

import polars as pl

from pipeline.landing.batch.stage import Staged

if TYPE_CHECKING:
    from pipeline.engines.shelf import Shelf


def put_staged(shelf: Shelf, staged: Staged) -> None:
    """Leave a staged batch under its name."""
    parts = {field.name: getattr(staged, field.name) for field in fields(Staged)}
    tables = {name: part for name, part in parts.items() if isinstance(part, pl.DataFrame)}
    rest = {name: part for name, part in parts.items() if name not in tables}
    shelf.put(staged.name, tables, {"staged": rest})


def read_staged(shelf: Shelf, name: str) -> Staged:
    """Read a staged batch again."""
    folder = shelf.folder(name)
    manifest = folder.manifest
    tables = {table: pl.read_parquet(folder.file(table), glob=False) for table in manifest["rows"]}
    parts: dict[str, Any] = {**manifest["staged"], **tables}
    return Staged(**parts)
