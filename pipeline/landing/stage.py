"""One chunk to the rows of one batch: decoding, refusing, naming. Touches no lake."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl
from xxhash import xxh3_64_hexdigest

from pipeline.errors import RejectedError, TrajtabError
from pipeline.landing import formats
from pipeline.landing.canonical import Keyer, canonical_json
from pipeline.landing.columns import runs_frame, steps_frame, tasks_frame, tools_frame
from pipeline.landing.decode import refuse_invalid_utf8
from pipeline.landing.identity import identity
from pipeline.landing.masking import Item, withhold
from pipeline.landing.model import Damage, RejectError, Run, Task
from pipeline.landing.reader import Piece
from pipeline.landing.references import ReferenceBook
from pipeline.redact import excerpt, redact
from pipeline.schema import Rejects, Runs, Steps

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pipeline.landing.chunks import Chunk, Slice
    from pipeline.landing.formats import Format

MOST_UINT32 = (1 << 32) - 1
FLUSH_RUNS = 4096
FLUSH_BYTES = 1 << 24
"""Decoded records become columns this often: objects cost ten times what columns do."""


@dataclass(frozen=True)
class Options:
    """What a landing adds to every record of its own."""

    labels: dict[str, str] = field(default_factory=dict)
    suite: str | None = None
    strict: bool = False
    redact: bool = False
    """Are secrets masked before anything is stored?"""
    drop: tuple[str, ...] = ()
    """What is stored as null: outputs, contents."""

    def text(self) -> str:
        """Return the options as the text that goes into a batch's name."""
        told: dict[str, Any] = {"set": self.labels, "suite": self.suite}
        # Only what was asked for: batches landed without either keep their names.
        if self.redact:
            told["redact"] = True
        if self.drop:
            told["drop"] = self.drop
        return canonical_json(told)


@dataclass
class Staged:
    """The rows of one batch, not yet in a lake (runs without `landed_at` and `run_key`)."""

    name: str
    runs: pl.DataFrame
    steps: pl.DataFrame
    rejects: pl.DataFrame
    tasks: pl.DataFrame
    tools: pl.DataFrame
    references: pl.DataFrame
    formats: list[str]
    sources: list[dict[str, str | int]]


class _Waiting(NamedTuple):
    """A decoded run, and the record it came from."""

    run: Run
    run_id: str
    piece: Piece


class _Rows:
    """Decoded runs waiting to become columns, and the columns so far."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._key = Keyer()
        self.book = ReferenceBook()
        self._tasks: dict[str, Task] = {}
        self.runs: list[pl.DataFrame] = []
        self.steps: list[pl.DataFrame] = []
        self.rejects: list[tuple[str, int, int, str, str, str]] = []
        self._waiting: list[_Waiting] = []
        self._bytes = 0

    def add(
        self, shown: str, piece: Piece, occurrence: int, found: Iterable[Run | Task | Damage]
    ) -> None:
        """Take in what a record holds: all of it, or none where something cannot land."""
        runs: list[_Waiting] = []
        tasks: dict[str, Task] = {}
        damages: list[Damage] = []
        for number, item in enumerate(found):
            if isinstance(item, Damage):
                damages.append(item)
                continue
            if isinstance(item, Task):
                task = self._withheld(item)
                tasks.setdefault(self._told(task), task)
                continue
            if self._options.suite is not None:
                item.suite = self._options.suite
            run_id = item.run_id or self._derived(piece, item, number, occurrence)
            runs.append(_Waiting(self._withheld(item), run_id, piece))
        for damage in damages:
            self._refuse(shown, *damage)
        self._waiting += runs
        self._tasks |= {told: task for told, task in tasks.items() if told not in self._tasks}
        self._bytes += len(piece.data)

    def _withheld(self, item: Item) -> Item:
        return withhold(item, secrets=self._options.redact, drop=self._options.drop)

    @property
    def tasks(self) -> list[Task]:
        return list(self._tasks.values())

    def _told(self, task: Task) -> str:
        """Return what makes a task another one."""
        if task.min_steps is not None and not 0 <= task.min_steps <= MOST_UINT32:
            raise RejectError("number_out_of_range", f"min_steps is {task.min_steps}")
        references = self.book.add(task.references)
        outputs = task.reference_outputs
        return repr((task.task_id, task.suite, task.prompt, outputs, references))

    def _derived(self, piece: Piece, run: Run, number: int, occurrence: int) -> str:
        """Name a run whose source has no globally unique id by what it says."""
        told = f"\0{run.model}\0{canonical_json(self._options.labels)}\0{number}\0{occurrence}"
        return xxh3_64_hexdigest(piece.data + told.encode())

    def refuse(self, shown: str, piece: Piece, error: RejectError) -> None:
        self._refuse(shown, piece.line, piece.offset, error.reason, error.detail, piece.data)

    def _refuse(
        self, shown: str, line: int, offset: int, reason: str, detail: str, data: bytes
    ) -> None:
        self.rejects.append((shown, line, offset, reason, redact(detail), excerpt(data)))

    @property
    def full(self) -> bool:
        return len(self._waiting) >= FLUSH_RUNS or self._bytes >= FLUSH_BYTES

    def flush(self, shown: str, form: Format, *, strict: bool) -> None:
        """Turn the waiting runs into columns."""
        waiting, self._waiting, self._bytes = self._waiting, [], 0
        self._flush(waiting, shown, form, strict=strict)

    def _flush(self, waiting: list[_Waiting], shown: str, form: Format, *, strict: bool) -> None:
        if not waiting:
            return
        try:
            runs, steps = self._frames(waiting, shown, form)
        except MemoryError:
            raise
        except Exception as error:  # noqa: BLE001 - one hostile record never stops a landing
            self._flush_apart(waiting, shown, form, error, strict=strict)
        else:
            self.runs.append(runs)
            self.steps.append(steps)

    def _flush_apart(
        self, waiting: list[_Waiting], shown: str, form: Format, error: Exception, *, strict: bool
    ) -> None:
        """A value no column can hold is somewhere: halve until its run stands alone."""
        if len(waiting) > 1:
            middle = len(waiting) // 2
            self._flush(waiting[:middle], shown, form, strict=strict)
            self._flush(waiting[middle:], shown, form, strict=strict)
            return
        numeric = isinstance(error, TypeError | OverflowError)
        told = RejectError("number_out_of_range", "a number its column cannot hold")
        reject = told if numeric else _as_reject(error)
        piece = waiting[0].piece
        if strict:
            raise RejectedError(f"{shown}:{piece.line}: {reject}") from error
        self.refuse(shown, piece, reject)

    def _frames(
        self, waiting: list[_Waiting], shown: str, form: Format
    ) -> tuple[pl.DataFrame, pl.DataFrame]:
        runs, ids = [w.run for w in waiting], [w.run_id for w in waiting]
        steps = steps_frame(runs, ids, self._key, silence_is_success=form.silence_is_success)
        told = canonical_json(self._options.labels)
        keys = [identity(run_id, run, told) for run_id, run in zip(ids, runs, strict=True)]
        table = runs_frame(runs, ids, self.book, self._options.labels).with_columns(
            pl.Series("source_line", [w.piece.line for w in waiting], dtype=pl.UInt32),
            pl.Series("identity", keys, dtype=pl.UInt64),
            pl.lit(shown).alias("source_path"),
        )
        return table, steps


def stage(chunk: Chunk, options: Options) -> Staged:
    """Decode a chunk.

    Raises:
        RejectedError: a record cannot land and `options.strict` is set.
    """
    rows = _Rows(options)
    for part in chunk.slices:
        _decode(part, rows, strict=options.strict)
    tasks = tasks_frame(rows.tasks, rows.book, options.suite)
    return Staged(
        name=chunk.name,
        runs=pl.concat(rows.runs, how="diagonal") if rows.runs else Runs.empty(),
        steps=pl.concat(rows.steps) if rows.steps else Steps.empty(),
        rejects=pl.DataFrame(rows.rejects, schema=Rejects.polars(), orient="row"),
        tasks=tasks,
        tools=tools_frame(rows.tasks, options.suite),
        references=rows.book.frame(),
        formats=sorted({part.format for part in chunk.slices}),
        sources=[
            {"path": part.source.shown, "format": part.format, "records": len(part.places)}
            for part in chunk.slices
        ],
    )


def _decode(part: Slice, rows: _Rows, *, strict: bool) -> None:
    form = formats.get(part.format)
    shown = part.source.shown
    for piece, occurrence in part.pieces():
        try:
            found = _items(form, piece, part)
            if strict:
                _refuse_damage(shown, found)
            rows.add(shown, piece, occurrence, found)
        except (TrajtabError, MemoryError):
            raise
        except Exception as error:
            reject = _as_reject(error)
            if part.cut_off(reject.reason, piece.offset, piece.data):
                continue  # the file's damage tells of it
            if strict:
                raise RejectedError(f"{shown}:{piece.line}: {reject}") from error
            rows.refuse(shown, piece, reject)
            continue
        if rows.full:
            rows.flush(shown, form, strict=strict)
    rows.flush(shown, form, strict=strict)
    if part.first and part.source.damage:
        _tell_damage(shown, part.source.damage, rows, strict=strict)


def _tell_damage(shown: str, damage: Damage, rows: _Rows, *, strict: bool) -> None:
    if strict:
        _refuse_damage(shown, [damage])
    rows.add(shown, Piece(b"", damage.line, damage.offset), 0, [damage])


def _refuse_damage(shown: str, found: list[Run | Task | Damage]) -> None:
    damaged = next((item for item in found if isinstance(item, Damage)), None)
    if damaged is not None:
        raise RejectedError(f"{shown}:{damaged.line}: {damaged.reason}: {damaged.detail}")


def _as_reject(error: Exception) -> RejectError:
    """Return why a record cannot land; what no format foresaw is the record's fault all the same."""
    if isinstance(error, RejectError):
        return error
    if isinstance(error, RecursionError):
        return RejectError("too_deep", "nested too deep to be read")
    return RejectError("unreadable", f"{type(error).__name__}: {error}"[:200])


def _items(form: Format, piece: Piece, part: Slice) -> list[Run | Task | Damage]:
    if not form.reports_damage:
        refuse_invalid_utf8(piece.data)
    # All of a record or none of it: a list, so that a late refusal takes back its first runs.
    found = form.decode(piece, part.context)
    return [
        item
        for item in found
        if not (isinstance(item, Damage) and part.cut_off(item.reason, item.offset, item.data))
    ]
