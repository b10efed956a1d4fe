"""Records that are rows of a Parquet file: gathered by a key, each the JSON array of its rows.

A first look reads the key's column alone; the rows follow in batches, and a record is handed over
as soon as its last row was read. What is held are the records still open.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import msgspec
import polars as pl

from pipeline.errors import InputError
from pipeline.landing.model import RejectError
from pipeline.landing.records.reader import BROKEN_PARQUET, Piece

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pipeline.landing.records.places import Place
    from pipeline.landing.records.reader import Source

BATCH_ROWS = 1024
_OF_PANDAS = r"^__index_level_\d+__$"
"""Columns in which pandas keeps an index that has no name of its own: told in others, or a number."""
DAMAGED = b"\0damaged"
"""Stands for the rows a damaged file does not give: nothing that JSON begins with."""


def gathered_rows(source: Source, key: str) -> Iterator[Piece]:
    """Yield one piece per value of the column `key`, in the order in which they are complete.

    A piece's line and offset are its first row's number, from 1 and from 0.

    Raises:
        InputError: the file cannot be read as Parquet, or has no such column.
    """
    places = sorted(_places(source, key), key=lambda rows: rows[-1])
    number = 0
    # A damaged file may end the stream with an error, or just early.
    with suppress(*BROKEN_PARQUET):
        for data in _assembled(source, places):
            rows = places[number]
            yield Piece(data, rows[0] + 1, rows[0], number, rows)
            number += 1
    if number < len(places):
        yield Piece(DAMAGED, places[number][0] + 1, places[number][0], number)


def reread(source: Source, places: Sequence[Place]) -> Iterator[bytes]:
    """Read gathered rows again; places are in the order in which they were found."""
    whole = [place.parts for place in places if place.parts]
    yield from _assembled(source, whole)
    yield from [DAMAGED] * (len(places) - len(whole))


def refuse_damage(piece: Piece) -> None:
    """Refuse what stands for the rows that a damaged file does not give.

    Raises:
        RejectError: the piece is such a mark.
    """
    if piece.data == DAMAGED:
        raise RejectError("damaged_archive", "the Parquet cannot be read to its end")


def _places(source: Source, key: str) -> list[array[int]]:
    found: dict[Any, array[int]] = defaultdict(lambda: array("Q"))
    try:
        keys = pl.read_parquet(source.path, columns=[key], glob=False)[key]
    except BROKEN_PARQUET as error:
        raise InputError(f"{source.shown}: no Parquet with a column {key}: {error}") from error
    for row, value in enumerate(keys):
        found[value].append(row)
    return list(found.values())


def _assembled(source: Source, places: Sequence[Sequence[int]]) -> Iterator[bytes]:
    """Yield the records whose rows are given, ordered by their last row."""
    owner = {row: number for number, rows in enumerate(places) for row in rows}
    bodies: dict[int, list[bytes]] = defaultdict(list)
    for row, body in _rows(source, min(owner, default=0), max(owner, default=-1) + 1):
        number = owner.get(row)
        if number is None:
            continue
        bodies[number].append(body)
        if len(bodies[number]) == len(places[number]):
            yield b"[%b]" % b",".join(bodies.pop(number))


def _rows(source: Source, start: int, end: int) -> Iterator[tuple[int, bytes]]:
    """Yield rows as JSON objects, without their nulls."""
    frame = pl.scan_parquet(source.path, glob=False).slice(start, end - start)
    frame = frame.select(pl.exclude(_OF_PANDAS))
    row = start
    for batch in frame.collect_batches(chunk_size=BATCH_ROWS, maintain_order=True):
        for values in batch.to_dicts():
            yield row, msgspec.json.encode(_told(values), enc_hook=str)
            row += 1


def _told(value: Any) -> Any:
    """Drop the nulls a table has for what a record does not say, and bytes that are no text."""
    if isinstance(value, dict):
        return {k: _told(v) for k, v in value.items() if v is not None and v == v}  # noqa: PLR0124 - NaN
    if isinstance(value, list):
        return [_told(item) for item in value]
    return value
