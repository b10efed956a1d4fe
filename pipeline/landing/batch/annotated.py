"""Annotation files into the lake: decoded, refused or kept, and committed as batches are.

They are cut into chunks and named like batches, so that landing a file again changes nothing; but
they hold no run, and so go to a room of their own: `LAKE/annotations/a-HEX/`.
"""

from __future__ import annotations

from datetime import UTC, datetime
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import polars as pl
from xxhash import xxh3_64_intdigest

from pipeline.errors import RejectedError, TrajtabError
from pipeline.lake import Decision, Draft
from pipeline.landing import formats
from pipeline.landing.batch.chunks import cut
from pipeline.landing.batch.commit import refuse_rejects
from pipeline.landing.model import RejectError, as_reject
from pipeline.landing.records.reader import Piece
from pipeline.landing.values.canonical import canonical_json
from pipeline.landing.values.decode import refuse_invalid_utf8
from pipeline.redact import excerpt, redact, redact_value
from pipeline.schema import DIMENSIONS, UTC_MICROS, Annotations, Rejects

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pipeline.annotation.model import Annotation
    from pipeline.lake import Folder, Lake
    from pipeline.landing.batch.chunks import Chunk, Recognised
    from pipeline.landing.options import Options
    from pipeline.landing.records.slices import Slice

WHO = ("trajectory_id", "task_id", "agent", "agent_version", "model", "annotator_id")
"""What makes an annotation one person's word on one run."""
PLACE = (*WHO, "source_path", "source_line")
"""The same, and where it was written down."""


class Annotated(NamedTuple):
    """What became of one chunk of annotations."""

    annotations: int = 0
    duplicates: int = 0
    rejects: Mapping[str, int] = MappingProxyType({})
    already: bool = False


class _Staged(NamedTuple):
    rows: pl.DataFrame
    rejects: pl.DataFrame


def annotate(
    recognised: Sequence[Recognised], lake: Lake | None, options: Options
) -> Iterator[Annotated]:
    """Land annotation files, chunk by chunk; without a lake only count.

    Raises:
        RejectedError: `options.strict`, and a record cannot land, or could not when it did.
    """
    for chunk in cut(recognised, options.text()):
        name = "a-" + chunk.name.removeprefix("b-")
        if lake is not None and lake.has(f"annotations/{name}"):
            yield _landed_before(lake.folder(f"annotations/{name}"), options)
            continue
        staged = _stage(chunk, options)
        yield _counted(staged) if lake is None else _commit(lake, name, chunk, staged, options)


def _landed_before(known: Folder, options: Options) -> Annotated:
    refuse_rejects(known, options)
    again = known.rows("annotations") + int(known.manifest["duplicates"])
    return Annotated(duplicates=again, already=True)


def _stage(chunk: Chunk, options: Options) -> _Staged:
    rows: list[dict[str, Any]] = []
    rejects: list[tuple[str, int, int, str, str, str]] = []
    for part in chunk.slices:
        shown = part.source.shown
        for piece, error, found in _decoded(part):
            if error is None:
                rows += [_row(one, shown, piece, options) for one in found]
                continue
            if options.strict:
                raise RejectedError(f"{shown}:{piece.line}: {error}") from error
            told = redact(error.detail)
            rejects.append(
                (shown, piece.line, piece.offset, error.reason, told, excerpt(piece.data))
            )
    return _Staged(
        pl.DataFrame(rows, schema=Annotations.polars()).with_columns(
            pl.int_range(pl.len(), dtype=pl.UInt32).alias("position")
        ),
        pl.DataFrame(rejects, schema=Rejects.polars(), orient="row"),
    )


def _decoded(part: Slice) -> Iterator[tuple[Piece, RejectError | None, list[Annotation]]]:
    """Yield each record with its annotations, or with why it cannot land."""
    form = formats.get(part.format)
    for piece, _ in part.pieces():
        try:
            refuse_invalid_utf8(piece.data)
            found: list[Annotation] = list(form.decode(piece, part.context))
        except (TrajtabError, MemoryError):
            raise
        except Exception as error:  # noqa: BLE001 - one hostile record never stops a landing
            reject = as_reject(error)
            if not part.cut_off(reject.reason, piece.offset, piece.data):
                yield piece, reject, []
        else:
            yield piece, None, found
    damage = part.source.damage
    if part.first and damage is not None:
        told = RejectError(damage.reason, damage.detail)
        yield Piece(b"", damage.line, damage.offset), told, []


def _row(found: Annotation, shown: str, piece: Piece, options: Options) -> dict[str, Any]:
    notes, labels = found.notes, {**found.labels, **options.labels}
    if options.redact:
        notes, labels = redact_value(notes), redact_value(labels)
    said = {
        **{name: getattr(found, name) for name in WHO},
        "overall_quality": found.overall_quality,
        **{name: found.scores.get(name) for name in DIMENSIONS},
        **{f"{name}_note": notes.get(name) for name in DIMENSIONS},
        "critical_steps": found.critical_steps,
        "backtrack_steps": found.backtrack_steps,
        "annotation_time_seconds": found.annotation_time_seconds,
        "labels": canonical_json(labels) if labels else None,
    }
    key = xxh3_64_intdigest(msgspec.json.encode(said))
    return {**said, "content_key": key, "source_path": shown, "source_line": piece.line}


def _counted(staged: _Staged) -> Annotated:
    reasons = staged.rejects.group_by("reason").len().sort("reason")
    counts = dict(zip(reasons["reason"].to_list(), reasons["len"].to_list(), strict=True))
    return Annotated(staged.rows.height, 0, counts)


def _commit(lake: Lake, name: str, chunk: Chunk, staged: _Staged, options: Options) -> Annotated:
    now = datetime.now(UTC)
    return lake.publish(lambda: _decided(lake, name, chunk, staged, options, now))


def _decided(
    lake: Lake, name: str, chunk: Chunk, staged: _Staged, options: Options, now: datetime
) -> Decision[Annotated]:
    """Decide what of `staged` is new to the lake as it is."""
    folders = lake.annotations()
    holding = [folder for folder in folders if folder.rows("annotations")]
    columns = [*PLACE, "content_key"]
    known = [
        pl.read_parquet(
            folder.file("annotations", columns), columns=columns, glob=False
        ).with_columns(pl.lit(number).alias("landing"))
        for number, folder in enumerate(holding)
    ]
    news = _news(pl.concat(known) if known else None, staged.rows)
    landed_at = pl.lit(now, dtype=UTC_MICROS).alias("landed_at")
    tables = {"annotations": Annotations.conform(news.with_columns(landed_at))}
    if staged.rejects.height:
        tables["rejects"] = staged.rejects
    found = _counted(staged)._replace(
        annotations=news.height, duplicates=staged.rows.height - news.height
    )
    manifest = {
        "name": name,
        "sequence": folders[-1].manifest["sequence"] + 1 if folders else 0,
        "sources": [
            {"path": part.source.shown, "records": len(part.places)} for part in chunk.slices
        ],
        "set": options.labels,
        "reasons": dict(found.rejects),
        "duplicates": found.duplicates,
    }
    return Decision([Draft(f"annotations/{name}", tables, manifest)], found)


def _news(known: pl.DataFrame | None, rows: pl.DataFrame) -> pl.DataFrame:
    """Return the rows that say something else than the same person's word on the run before.

    A record that stands where it stood, as it stood, is no new word: an older file that lands
    again, with others or alone, does not bring back what has been revised since.
    """
    if known is not None:
        latest = known.filter(pl.col("landing") == pl.col("landing").max().over(PLACE))
        same = [*PLACE, "content_key"]
        rows = rows.join(latest, on=same, how="anti", nulls_equal=True, maintain_order="left")
    marked = rows.with_columns(pl.lit(value=True).alias("new"))
    every = (
        marked
        if known is None
        else pl.concat(
            [known.with_columns(pl.lit(value=False).alias("new")), marked], how="diagonal"
        )
    )
    before = pl.col("content_key").shift(1).over(WHO)
    found = every.filter(pl.col("new") & pl.col("content_key").ne_missing(before))
    return found.select(rows.columns)
