"""Whether the files of a lake are still what was written: damage that a disk does in silence."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pipeline.errors import LakeError
from pipeline.store.parquet import file_name
from pipeline.store.whole import damaged, hash_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pipeline.lake import Folder, Lake

KINDS = ("batches", "tasks", "annotations", "judge_requests", "judgments", "scores")


class Damage(NamedTuple):
    """A file that is not what was written, and what is amiss and to be done."""

    file: str
    detail: str


def tables(lake: Lake) -> Iterator[tuple[Folder, str]]:
    """Yield every table of a lake with its folder; of scores those under any policy."""
    for kind in KINDS:
        for folder in lake.folders(kind):
            for table in folder.manifest["rows"]:
                yield folder, table


def damage_of(lake: Lake, folder: Folder, table: str) -> Damage | None:
    """Read a table's file whole, a block or a column at a time, and return what is amiss.

    Of an object store it is fetched anew: a copy in the cache tells nothing of what is there.
    Where the manifest tells a hash the bytes are compared with it; manifests of earlier versions
    tell none, and every column is decoded then, which does not notice every flipped bit.
    """
    file = f"{folder.relative}/{file_name(folder.manifest, table)}"
    told = folder.manifest.get("files", {}).get(table)
    try:
        with folder.fresh(table) as path:
            if told is not None and hash_of(path) != told["hash"]:
                raise damaged(lake.path, file, "damaged: its content is not what its manifest says")
            _refuse_unreadable(lake, file, path, folder.rows(table), whole=told is None)
    except LakeError as error:
        return Damage(file, str(error).removeprefix(f"{lake.path}/{file}: "))
    return None


def _refuse_unreadable(lake: Lake, file: str, path: Path, rows: int, *, whole: bool) -> None:
    """Refuse a file whose footer, or one of whose columns, cannot be read, or of other rows."""
    import pyarrow as pa  # noqa: PLC0415 - heavy, and only who looks for damage needs it
    from pyarrow import parquet  # noqa: PLC0415 - same

    try:
        with parquet.ParquetFile(path) as opened:
            found = opened.metadata.num_rows
            groups = range(opened.num_row_groups if whole else 0)
            for group in groups:
                for column in opened.schema_arrow.names:
                    opened.read_row_group(group, columns=[column])
    except (pa.ArrowException, OSError) as error:
        why = str(error).partition("\n")[0] or type(error).__name__
        raise damaged(lake.path, file, f"damaged: it cannot be read: {why}") from error
    if found != rows:
        raise damaged(lake.path, file, f"damaged: {found} rows, of {rows} that its manifest tells")
