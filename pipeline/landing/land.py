"""Landing: what the user named, recognised, cut, decoded, and committed batch by batch."""

from __future__ import annotations

import os
from collections import Counter, deque
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass, field
from itertools import chain, islice
from multiprocessing import get_context
from typing import TYPE_CHECKING, NamedTuple

from pipeline.engines.landing import SharedCopies, regrouped, staged_batches
from pipeline.engines.local import Local
from pipeline.engines.shelf import shelved
from pipeline.errors import InputError, UnrecognisedError
from pipeline.lake import Lake
from pipeline.landing import formats
from pipeline.landing.annotated import annotate
from pipeline.landing.chunks import Recognised, cut
from pipeline.landing.commit import Outcome, commit
from pipeline.landing.configs import write_configs
from pipeline.landing.guess import unrecognised
from pipeline.landing.known import Known
from pipeline.landing.masking import droppable
from pipeline.landing.options import Options
from pipeline.landing.reader import Source, expand
from pipeline.landing.stage import Staged, stage
from pipeline.landing.transport import Copies, unpacked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from pipeline.engines import Engine
    from pipeline.landing.annotated import Annotated
    from pipeline.landing.chunks import Chunk


@dataclass
class LandReport:
    """What a landing did."""

    recognised: list[Recognised] = field(default_factory=list)
    unrecognised: list[str] = field(default_factory=list)
    batches: int = 0
    already: int = 0
    runs: int = 0
    steps: int = 0
    calls: int = 0
    errors: int = 0
    tasks: int = 0
    annotations: int = 0
    duplicates: int = 0
    replaced: int = 0
    rejects: Counter[str] = field(default_factory=Counter)
    unresolved: list[str] = field(default_factory=list)
    configs: list[str] = field(default_factory=list)
    """What became of configurations, a sentence for each."""

    def add(self, outcome: Outcome) -> None:
        """Count one batch in."""
        if outcome.already:
            self.already += 1
        else:
            self.batches += 1
        self.runs += outcome.runs
        self.steps += outcome.steps
        self.calls += outcome.calls
        self.errors += outcome.errors
        self.tasks += outcome.tasks
        self.duplicates += outcome.duplicates
        self.replaced += outcome.replaced
        self.rejects.update(outcome.rejects)
        self.unresolved.extend(outcome.unresolved)

    def add_annotated(self, found: Annotated) -> None:
        """Count one landing of annotations in."""
        if found.already:
            self.already += 1
        else:
            self.batches += 1
        self.annotations += found.annotations
        self.duplicates += found.duplicates
        self.rejects.update(found.rejects)


def recognise(source: Source, wanted: str) -> Recognised | None:
    """Say which format a file is of, by content; `wanted` names one, or is "auto"."""
    if wanted != "auto":
        return Recognised(source, formats.get(wanted).name, "named by --from")
    for form in formats.every():
        reason = form.sniff(source.head)
        if reason is not None:
            return Recognised(source, form.name, reason)
    return None


def land(  # noqa: PLR0913 - the command's options, one each
    sources: Sequence[str | Path],
    lake: str | os.PathLike[str],
    *,
    format: str = "auto",  # noqa: A002 - the command's own word
    suite: str | None = None,
    labels: dict[str, str] | None = None,
    strict: bool = False,
    redact: bool = False,
    drop: Sequence[str] = (),
    workers: int | None = None,
    dry_run: bool = False,
    engine: Engine | None = None,
    resume: bool = False,
    regroup: str | None = None,
    progress: Callable[[LandReport], None] | None = None,
) -> LandReport:
    """Land logs into a lake, which is made where there is none.

    Args:
        sources: files, folders, glob patterns, and "-" for the standard input; packed by gzip,
            zstd, xz or zip, or plain.
        lake: the lake's folder, or its URL in an object store.
        format: a format's name, or "auto": told by content.
        suite: the suite of every run and task, over the files' own.
        labels: labels for every run; the same file under other labels lands again.
        strict: refuse the whole landing at the first record that cannot land.
        redact: mask keys, bearer tokens, passwords and e-mail addresses, wherever text is
            stored, before anything is. Keys of calls are made from masked arguments, and
            references are masked alike: calls that differ in secrets alone are equal.
        drop: what is stored as null: "outputs" (of tools), "contents" (what was said in steps).
        workers: processes that decode; default: one per core.
        dry_run: decode and count, write nothing.
        engine: where files are decoded (`pipeline.engines.chosen`); default: this machine. The
            batches are the same, and this process, the driver, alone publishes them.
        resume: with an engine, take up what an earlier driver of the same landing left.
        regroup: where the runs of logs are scattered over files: the key that says which run a
            row is of (`pipeline.engines.regroup.Scattered`). Rows are brought together first.
        progress: called after every batch.

    Raises:
        SourceNotFoundError: a source does not exist or a pattern matches nothing.
        UnknownNameError: `format` or something in `drop` is not known.
        UnrecognisedError: no file is of a known format, or one named outright is not.
        RejectedError: `strict`, and a record cannot land.
        LakeError: the lake cannot be written.
    """
    told = dict(sorted((labels or {}).items()))
    options = Options(told, suite, strict, redact, droppable(drop))
    if workers is not None and workers < 1:
        raise InputError(f"--workers is {workers}; at least 1 is needed")
    report = LandReport()
    named = [str(source) for source in sources]

    def tell(outcome: Outcome) -> None:
        report.add(outcome)
        if progress is not None:
            progress(report)

    if engine is not None or regroup is not None:
        if dry_run:
            raise InputError("--dry-run decodes here: leave out --engine spark and --regroup")
        over = _Over(engine or Local(workers or os.cpu_count() or 1), options, resume, regroup)
        refused = over.land(named, Lake.create(lake), format, report, tell)
    else:
        with Copies() as copies:
            refused = _recognise_all(unpacked(expand(named), copies), named, format, report)
            target = None if dry_run else Lake.create(lake)
            logs, said = _rooms(report.recognised)
            chunks = cut(logs, options.text())
            for outcome in _outcomes(chunks, target, options, workers or os.cpu_count() or 1):
                tell(outcome)
            _beside(said, target, options, report)
    if refused:
        raise UnrecognisedError(_nothing(refused))
    return report


class _Over(NamedTuple):
    """A landing over an engine."""

    engine: Engine
    options: Options
    resume: bool
    regroup: str | None

    def land(
        self,
        named: list[str],
        lake: Lake,
        wanted: str,
        report: LandReport,
        tell: Callable[[Outcome], None],
    ) -> list[str]:
        """Land, and return why files named outright are refused."""
        job = repr(("land", named, self.regroup, wanted, self.options.text()))
        with (
            shelved(lake, job, self.engine, resume=self.resume) as shelf,
            SharedCopies(shelf.path) as copies,
        ):
            sources = unpacked(expand(named), copies)
            if self.regroup is not None:
                sources = regrouped(self.engine, shelf, sources, self.regroup)
            refused = _recognise_all(sources, named, wanted, report)
            logs, said = _rooms(report.recognised)
            landed = frozenset(_landed(lake) | shelf.published())
            known = Known(lake)
            for item in staged_batches(self.engine, logs, shelf, self.options, landed):
                if isinstance(item, Staged):
                    tell(commit(known, item, self.options))
                    shelf.strike(item.name)
                else:
                    tell(_landed_before(item))
                del item  # as in `_outcomes`
            _beside(said, lake, self.options, report)
        return refused


def _beside(
    said: list[Recognised], lake: Lake | None, options: Options, report: LandReport
) -> None:
    """Land what is neither runs nor tasks: configurations and annotations."""
    if lake is not None:
        report.configs = write_configs(lake, report.recognised)
    for annotated in annotate(said, lake, options):
        report.add_annotated(annotated)


def _recognise_all(
    sources: Iterable[Source], named: list[str], wanted: str, report: LandReport
) -> list[str]:
    """Enter every file into the report, and return why those named outright are refused."""
    refused: list[str] = []
    for source in sources:
        found = recognise(source, wanted)
        if found is not None:
            report.recognised.append(found)
            continue
        report.unrecognised.append(unrecognised(source))
        if source.shown in named:
            refused.append(report.unrecognised[-1])
    if not report.recognised:
        raise UnrecognisedError(_nothing(report.unrecognised))
    return refused


def _rooms(found: list[Recognised]) -> tuple[list[Recognised], list[Recognised]]:
    """Part files of runs and tasks from those of annotations, which have a room of their own."""
    rooms: dict[str, list[Recognised]] = {"runs": [], "annotations": []}
    for file in found:
        rooms[formats.get(file.format).lands].append(file)
    return rooms["runs"], rooms["annotations"]


def _nothing(reasons: list[str]) -> str:
    more = f" (and {len(reasons) - 1} more files like it)" if len(reasons) > 1 else ""
    return reasons[0] + more


def _landed(lake: Lake) -> set[str]:
    """Return the batches that have landed and brought no task, as `_is_known` tells of one."""
    return {batch.name for batch in lake.batches() if not batch.manifest["tasks"]}


def _landed_before(name: str) -> Outcome:
    return Outcome(name, 0, 0, 0, 0, {}, 0, 0, [], 0, already=True)


def _is_known(lake: Lake | None, chunk: Chunk) -> bool:
    """Tell whether a chunk has landed and brought no task, which might have to be made the latest."""
    if lake is None or not lake.has(f"batches/{chunk.name}"):
        return False
    return not lake.folder(f"batches/{chunk.name}").manifest["tasks"]


def _outcomes(
    chunks: Iterator[Chunk], lake: Lake | None, options: Options, workers: int
) -> Iterator[Outcome]:
    def todo() -> Iterator[Chunk | Outcome]:
        for chunk in chunks:
            yield _landed_before(chunk.name) if _is_known(lake, chunk) else chunk

    known = None if lake is None else Known(lake)
    for item in _staged(todo(), options, workers):
        outcome = item if isinstance(item, Outcome) else _finish(known, item, options)
        del item  # the rows of one batch are let go of before the next one's are made
        yield outcome


def _finish(known: Known | None, staged: Staged, options: Options) -> Outcome:
    if known is not None:
        return commit(known, staged, options)
    is_call = staged.steps["kind"] == "tool_call"
    counts = Counter(staged.rejects["reason"].to_list())
    return Outcome(
        staged.name, staged.runs.height, staged.steps.height, int(is_call.sum()),
        int((is_call & staged.steps["is_error"]).sum()), dict(counts), 0, 0, [], staged.tasks.height,
    )  # fmt: skip


def _staged(
    todo: Iterator[Chunk | Outcome], options: Options, workers: int
) -> Iterator[Staged | Outcome]:
    """Decode chunks in their order: a single one here, several side by side."""
    first = list(islice(todo, 2))
    if len(first) == 1 or workers == 1:
        for item in chain(first, todo):
            yield item if isinstance(item, Outcome) else stage(item, options)
        return
    # Polars runs threads of its own, which a forked process would find dead.
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        waiting: deque[Future[Staged] | Outcome] = deque()
        for item in chain(first, todo):
            waiting.append(item if isinstance(item, Outcome) else pool.submit(stage, item, options))
            if len(waiting) > workers:
                yield _result(waiting.popleft())
        while waiting:
            yield _result(waiting.popleft())


def _result(item: Future[Staged] | Outcome) -> Staged | Outcome:
    return item if isinstance(item, Outcome) else item.result()
