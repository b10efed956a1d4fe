"""Landing over an engine: files are cut and decoded by tasks, batches published by the driver.

A batch is named by its bytes, so it must hold the same records wherever it is made. Tasks first
look through whole files: a large one fills batches of its own, which are staged on the way; of a
small one the size comes back. From the sizes the driver knows which small files share a batch,
just as `chunks.cut` would have them share it, and tasks stage those. Batches are then committed
in the order of the files, whatever order they were staged in.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from xxhash import xxh3_64_hexdigest

from pipeline.engines.placing import partitions_of
from pipeline.engines.scattered import Scattered
from pipeline.engines.staged import put_staged, read_staged
from pipeline.engines.units import plan
from pipeline.landing.batch import chunks
from pipeline.landing.batch.stage import stage
from pipeline.landing.records.reader import Source
from pipeline.landing.source.copies import Copies

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from pipeline.engines import Engine
    from pipeline.engines.shelf import Shelf
    from pipeline.landing.batch.chunks import Recognised
    from pipeline.landing.batch.stage import Staged
    from pipeline.landing.options import Options

REGROUPED = "regrouped"

SECONDS_PER_BYTE = 2.4e-8
"""What landing a byte takes, to plan units by (docs/performance.md)."""


class Numbered(NamedTuple):
    """A file and its place among all."""

    file: Recognised
    size: int
    key: str
    """What the file is and when it changed last: a resumed job looks at it again only then."""


class Looked(NamedTuple):
    """What a look at a file found: its batches if it fills any, else how much it holds."""

    key: str
    chunks: list[str]
    records: int
    bytes: int


class SharedCopies(Copies):
    """Copies of packed files where all machines see them."""

    def __init__(self, home: Path) -> None:
        super().__init__()
        self._home = home

    @cached_property
    def folder(self) -> Path:
        """The folder: it goes with the job's shelf."""
        made = self._home / ".copies"
        shutil.rmtree(made, ignore_errors=True)  # of a driver that died
        made.mkdir()
        return made


@dataclass(frozen=True)
class Look:
    """Look through one file; stage the batches that it fills by itself."""

    shelf: Shelf
    options: Options
    known: frozenset[str]

    def __call__(self, item: Numbered) -> dict[str, Any]:
        """Return the file's row, made by an earlier attempt if there was one."""
        if (done := self.shelf.get(item.key)) is not None:
            return done
        names: list[str] = []
        records = size = 0
        small = True
        for chunk in chunks.cut([item.file], self.options.text()):
            records = sum(len(part.places) for part in chunk.slices)
            size = sum(part.places.n_bytes for part in chunk.slices)
            small = not names and records < chunks.MOST_RECORDS and size < chunks.MOST_BYTES
            names.append(chunk.name)
            if not small and chunk.name not in self.known and self.shelf.get(chunk.name) is None:
                put_staged(self.shelf, stage(chunk, self.options))
        row = Looked(item.key, [] if small else names, records, size)
        return self.shelf.put(item.key, {}, row._asdict())


class Pack(NamedTuple):
    """Small files that share a batch."""

    number: int
    files: list[Recognised]
    bytes: int


@dataclass(frozen=True)
class StagePack:
    """Stage the one batch that some small files share."""

    shelf: Shelf
    options: Options
    known: frozenset[str]

    def __call__(self, pack: Pack) -> tuple[int, str]:
        """Return the pack's number and the batch's name."""
        (chunk,) = chunks.cut(pack.files, self.options.text())
        if chunk.name not in self.known and self.shelf.get(chunk.name) is None:
            put_staged(self.shelf, stage(chunk, self.options))
        return pack.number, chunk.name


def regrouped(
    engine: Engine, shelf: Shelf, sources: Iterable[Source], key: str
) -> Iterator[Source]:
    """Bring the rows of each run together, unless an earlier driver has; yield the new files."""
    done = shelf.get(REGROUPED)
    if done is None:
        target = shelf.path / ".regrouped"
        shutil.rmtree(target, ignore_errors=True)  # of a driver that died
        target.mkdir()
        scattered = Scattered([source.path.absolute() for source in sources], key)
        files = engine.regroup(scattered, target, partitions_of(scattered))
        done = shelf.put(REGROUPED, {}, {"regrouped": [str(file) for file in files]})
    for name in done["regrouped"]:
        file = Path(name)
        yield Source(file, f"regrouped/{file.parent.name}/{file.name}")


def staged_batches(
    engine: Engine,
    recognised: Sequence[Recognised],
    shelf: Shelf,
    options: Options,
    known: frozenset[str],
) -> Iterator[str | Staged]:
    """Yield the batches in the order of the files: staged, or the name of one that is known.

    Args:
        engine: where tasks run.
        recognised: the files.
        shelf: where tasks leave what they stage.
        options: of the landing.
        known: the batches that need no staging.
    """
    items = [_numbered(number, file) for number, file in enumerate(recognised)]
    units = plan(items, lambda item: item.size * SECONDS_PER_BYTE, engine.unit_seconds)
    looked = {row["key"]: row for row in engine.map_units(Look(shelf, options, known), units)}
    batches = list(arranged(items, looked))
    packs = [part for part in batches if isinstance(part, Pack)]
    of_packs = plan(packs, lambda pack: pack.bytes * SECONDS_PER_BYTE, engine.unit_seconds)
    rows = engine.map_units(StagePack(shelf, options, known), of_packs)
    for name in _in_order(batches, rows):
        yield name if name in known else read_staged(shelf, name)


def _numbered(number: int, file: Recognised) -> Numbered:
    """Number a file; tasks open it by its absolute path, and look at its head themselves."""
    source = _absolute(file.source)
    told = [one.path.stat() for one in source.files or [source]]
    size = sum(one.st_size for one in told)
    changed = [(one.st_size, one.st_mtime_ns) for one in told]
    part = source.within
    parts = (number, str(source.path), file.format, changed, part)
    key = f"f-{xxh3_64_hexdigest(repr(parts).encode())}"
    return Numbered(file._replace(source=source), part.size if part else size, key)


def _absolute(source: Source) -> Source:
    files = tuple(map(_absolute, source.files))
    return replace(source, path=source.path.absolute(), files=files)


def arranged(
    items: Sequence[Numbered], looked: Mapping[str, Mapping[str, Any]]
) -> Iterator[str | Pack]:
    """Yield what the batches are made of, in the order of `chunks.cut`, whose rule this is."""
    shared: list[Recognised] = []
    number = records = size = 0
    for item in items:
        found = looked[item.key]
        if found["chunks"]:
            yield from found["chunks"]
            continue
        full = (
            records + found["records"] > chunks.MOST_RECORDS
            or size + found["bytes"] > chunks.MOST_BYTES
        )
        if records and full:
            yield Pack(number, shared, size)
            shared, number, records, size = [], number + 1, 0, 0
        shared.append(item.file)
        records += found["records"]
        size += found["bytes"]
    if shared:
        yield Pack(number, shared, size)


def _in_order(batches: Sequence[str | Pack], rows: Iterator[tuple[int, str]]) -> Iterator[str]:
    """Yield the names of the batches, each as soon as it and all before it are staged."""
    names: dict[int, str] = {}
    for part in batches:
        if isinstance(part, str):
            yield part
            continue
        while part.number not in names:
            number, name = next(rows)
            names[number] = name
        yield names[part.number]
