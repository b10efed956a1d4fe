"""The rows of a batch as they come: decoded runs, waiting until they are many, become columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl
from xxhash import xxh3_64

from pipeline.errors import RejectedError
from pipeline.landing.again.identity import identities
from pipeline.landing.batch.calls import Calls
from pipeline.landing.batch.columns import Origin, finished, runs_columns, steps_columns
from pipeline.landing.batch.masking import Item, withhold
from pipeline.landing.batch.references import ReferenceBook
from pipeline.landing.batch.stacked import Stacked
from pipeline.landing.batch.tally import Tally, fields_by_record, fields_of
from pipeline.landing.formats import Many
from pipeline.landing.model import Damage, RejectError, Run, Task, as_reject
from pipeline.landing.unknown.unmapped import note
from pipeline.landing.values.canonical import canonical_json
from pipeline.landing.values.fields import listed
from pipeline.redact import excerpt, redact
from pipeline.schema import Runs, Steps

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pipeline.landing.formats import Format
    from pipeline.landing.model import Told
    from pipeline.landing.options import Options
    from pipeline.landing.records.reader import Piece
    from pipeline.landing.records.slices import Group

MOST_UINT32 = (1 << 32) - 1
FLUSH_RUNS = 1024
FLUSH_BYTES = 1 << 21
"""Decoded records become columns this often: objects cost ten times what columns do."""


class _Waiting(NamedTuple):
    """A decoded run, and the record it came from."""

    run: Run
    run_id: str
    piece: Piece
    shown: str
    silence: bool


class Rows:
    """Decoded runs waiting to become columns, and the columns so far."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._labels = canonical_json(options.labels)
        self._calls = Calls()
        self.book = ReferenceBook(self._calls.expected)
        self._tasks: dict[str, Task] = {}
        self._runs = Stacked()
        self._steps = Stacked()
        self.rejects: list[tuple[str, int, int, str, str, str]] = []
        self.unmapped = Tally()
        self._waiting: list[_Waiting] = []
        self._bytes = 0

    def add(
        self,
        shown: str,
        piece: Piece,
        occurrence: int,
        found: Sequence[Run | Task | Damage],
        form: Format,
    ) -> None:
        """Take in what a record holds: all of it, or none where something cannot land."""
        runs: list[_Waiting] = []
        tasks: dict[str, Task] = {}
        damages: list[Damage] = []
        record: xxh3_64 | None = None
        for number, item in enumerate(found):
            if isinstance(item, Damage):
                damages.append(item)
                continue
            if isinstance(item, Task):
                task = self._withheld(item)
                _take(tasks, self._told(task), task)
                continue
            run_id = item.run_id
            if not run_id:
                record = record or xxh3_64(piece.data)  # its bytes are read once for all its runs
                run_id = self._derived(record.copy(), item, number, occurrence)
            runs.append(
                _Waiting(self._withheld(item), run_id, piece, shown, form.silence_is_success)
            )
        for damage in damages:
            self._refuse(damage.shown(shown), *damage[:5])
        known = (item for item in found if not isinstance(item, Damage))
        self.unmapped.note(form.name, fields_of(known))
        self._waiting += runs
        for told, task in tasks.items():
            _take(self._tasks, told, task)
        self._bytes += len(piece.data)
        if len(self._waiting) >= FLUSH_RUNS or self._bytes >= FLUSH_BYTES:
            self.flush()

    def add_many(self, shown: str, group: Group, form: Format, context: Any) -> bool:
        """Take in records the short way; False, and nothing taken, where one needs a closer look."""
        if form.decode_many is None or not group.utf8 or self._options.withholds:
            return False
        self.flush()
        try:
            many = form.decode_many(group.bodies, context)
            if any(task.unmapped for task in many.tasks):
                return False  # whose record it is shows one by one
            unmapped = list(fields_by_record(many))
            tasks = [(self._told(task), task) for task in many.tasks]
            if many.runs:
                self._enter(many, self._origin(shown, group, many.runs, form))
            for told, task in tasks:
                _take(self._tasks, told, task)
            for fields in unmapped:
                self.unmapped.note(form.name, fields)
        except MemoryError:
            raise
        except Exception:  # noqa: BLE001 - whatever it is, one by one the records will tell
            return False
        return True

    def _origin(self, shown: str, group: Group, runs: Sequence[Told], form: Format) -> Origin:
        """Return what the rows of runs share that are one of each record."""
        records = zip(runs, group.bodies, group.occurrences, strict=True)
        ids = [
            run.run_id or self._derived(xxh3_64(data), run, 0, nth) for run, data, nth in records
        ]
        keys = identities(ids, runs, self._labels)
        size = len(ids)
        return Origin(ids, keys, group.lines, [shown] * size, [form.silence_is_success] * size)

    def _withheld(self, item: Item) -> Item:
        return withhold(item, secrets=self._options.redact, drop=self._options.drop)

    @property
    def tasks(self) -> list[Task]:
        """The distinct tasks."""
        return list(self._tasks.values())

    def _told(self, task: Task) -> str:
        """Return what makes a task another one."""
        if task.min_steps is not None and not 0 <= task.min_steps <= MOST_UINT32:
            raise RejectError("number_out_of_range", f"min_steps is {task.min_steps}")
        references = self.book.add(task.references)
        outputs = task.reference_outputs
        return repr((task.task_id, task.suite, task.prompt, outputs, references))

    def _derived(self, record: xxh3_64, run: Told, number: int, occurrence: int) -> str:
        """Name a run whose source has no globally unique id by its record, hashed so far."""
        record.update(f"\0{run.model}\0{self._labels}\0{number}\0{occurrence}".encode())
        return record.hexdigest()

    def refuse(self, shown: str, piece: Piece, error: RejectError) -> None:
        """Enter a record that cannot land."""
        self._refuse(shown, piece.line, piece.offset, error.reason, error.detail, piece.data)

    def _refuse(
        self, shown: str, line: int, offset: int, reason: str, detail: str, data: bytes
    ) -> None:
        self.rejects.append((shown, line, offset, reason, redact(detail), excerpt(data)))

    def flush(self) -> None:
        """Turn the waiting runs into columns."""
        waiting, self._waiting, self._bytes = self._waiting, [], 0
        if waiting:
            self._flush(waiting)

    def _flush(self, waiting: Sequence[_Waiting]) -> None:
        runs, ids, pieces, paths, silences = zip(*waiting, strict=True)
        try:
            keys = identities(ids, runs, self._labels)
            lines = [piece.line for piece in pieces]
            steps = listed([run.steps for run in runs])
            many = Many(runs, [run.references for run in runs], steps)
            self._enter(many, Origin(ids, keys, lines, paths, silences))
        except MemoryError:
            raise
        except Exception as error:  # noqa: BLE001 - one hostile record never stops a landing
            self._flush_apart(waiting, error)

    def _flush_apart(self, waiting: Sequence[_Waiting], error: Exception) -> None:
        """A value no column can hold is somewhere: halve until its run stands alone."""
        if len(waiting) > 1:
            middle = len(waiting) // 2
            self._flush(waiting[:middle])
            self._flush(waiting[middle:])
            return
        numeric = isinstance(error, TypeError | OverflowError)
        told = RejectError("number_out_of_range", "a number its column cannot hold")
        reject = told if numeric else as_reject(error)
        alone = waiting[0]
        if self._options.strict:
            raise RejectedError(f"{alone.shown}:{alone.piece.line}: {reject}") from error
        self.refuse(alone.shown, alone.piece, reject)

    def _enter(self, many: Many, origin: Origin) -> None:
        """Add runs as columns: all of them or, where something cannot be one, none."""
        options = self._options
        steps = steps_columns(many.steps, self._calls)
        columns = runs_columns(many.runs, many.steps.lengths, origin, options.labels, options.suite)
        sets = pl.Series("reference_set", self.book.add_all(many.references), dtype=pl.String)
        self._runs.add([*columns, sets])
        self._steps.add(steps)

    def frames(self) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Return the runs and their steps, the latter without gaps, in the order of runs."""
        self.flush()
        runs = self._runs.taken()
        if runs.is_empty():
            return Runs.empty(), Steps.empty()
        return finished(runs, self._steps.taken(), self._calls)


def _take(tasks: dict[str, Task], told: str, task: Task) -> None:
    """Take in a task once; the same task again may only tell more that its format does not know."""
    if tasks.setdefault(told, task) is not task:
        note(tasks[told], task.unmapped)
