"""Objects to local files: whole and checked, or only the parts that some columns are in."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from pipeline.errors import LakeError
from pipeline.store.client import PART

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable
    from pathlib import Path

    from pipeline.store.client import Client

SIDE_BY_SIDE = 8
TAIL = 64 << 10
"""The last bytes of a Parquet file: nearly always its whole footer."""

CLOSE = 256 << 10
"""Parts no further apart than this come in one request."""

Span = tuple[int, int]


def fetch(client: Client, name: str, size: int, path: Path) -> None:
    """Fetch a whole object into a new file."""
    with path.open("wb") as file:
        _fill(client, name, [(0, size)], file.fileno())
        os.fsync(file.fileno())


def fetch_columns(
    client: Client, name: str, size: int, columns: Collection[str], path: Path
) -> None:
    """Fetch a Parquet file's footer and the chunks of some columns, each to its own place.

    The new file has the size of the whole; what was not fetched is a hole, which takes no room
    on the disk and which nobody who keeps to those columns reads.
    """
    from pyarrow import parquet  # noqa: PLC0415 - heavy, and only here

    with path.open("wb") as file:
        handle = file.fileno()
        os.ftruncate(handle, size)
        start = max(0, size - TAIL)
        _fill(client, name, [(start, size)], handle)
        with path.open("rb") as written:
            written.seek(size - 8)
            footer = size - 8 - int.from_bytes(written.read(4), "little")
        if not 0 <= footer < size:
            raise LakeError(f"{client.address}/{name}: not a Parquet file")
        if footer < start:
            _fill(client, name, [(footer, start)], handle)
        wanted = _spans(parquet.read_metadata(path), set(columns))
        _fill(client, name, _joined(span for span in wanted if span[0] < start), handle)
        os.fsync(handle)


def _spans(metadata: Any, columns: set[str]) -> list[Span]:
    """Return where the chunks of columns are, nested ones by the name of the whole."""
    chunks = [
        metadata.row_group(group).column(number)
        for group in range(metadata.num_row_groups)
        for number in range(metadata.num_columns)
    ]
    found = [(0, 4)]
    for chunk in chunks:
        if chunk.path_in_schema in columns or chunk.path_in_schema.split(".")[0] in columns:
            first = chunk.dictionary_page_offset
            start = chunk.data_page_offset if first is None else min(first, chunk.data_page_offset)
            found.append((start, start + chunk.total_compressed_size))
    return sorted(found)


def _joined(spans: Iterable[Span]) -> list[Span]:
    """Join spans that are close to each other.

    >>> _joined([(0, 10), (20, 30), (5_000_000, 5_000_010)])
    [(0, 30), (5000000, 5000010)]
    """
    found: list[Span] = []
    for start, end in spans:
        if found and start - found[-1][1] <= CLOSE:
            found[-1] = (found[-1][0], max(found[-1][1], end))
        else:
            found.append((start, end))
    return found


def _fill(client: Client, name: str, spans: Iterable[Span], handle: int) -> None:
    pieces = [(at, min(at + PART, end)) for start, end in spans for at in range(start, end, PART)]

    def one(piece: Span) -> None:
        data = client.range(name, *piece)
        if os.pwrite(handle, data, piece[0]) != len(data):
            raise LakeError(f"{client.address}/{name}: the cache's disk took only part of it")

    if len(pieces) < 2:  # noqa: PLR2004 - one needs no threads
        for piece in pieces:
            one(piece)
        return
    with ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
        list(pool.map(one, pieces))
