"""Landing: what the user named, recognised, cut, decoded, and committed batch by batch."""

from __future__ import annotations

import os
from collections import Counter
from typing import TYPE_CHECKING, Any

import msgspec

from pipeline.arguments import checked
from pipeline.engines.local import Local
from pipeline.errors import InputError, UnrecognisedError
from pipeline.lake import Lake
from pipeline.landing.again.known import Known
from pipeline.landing.batch.beside import land_beside
from pipeline.landing.batch.chunks import cut
from pipeline.landing.batch.commit import Outcome, commit, landed_before
from pipeline.landing.batch.masking import droppable
from pipeline.landing.batch.side_by_side import staged
from pipeline.landing.options import Options
from pipeline.landing.parting import parted
from pipeline.landing.recognise import recognise_all, rooms_of, sentence_of
from pipeline.landing.report import LandReport
from pipeline.landing.source.copies import Copies
from pipeline.landing.source.folders import foldered
from pipeline.landing.source.named import expand, refuse_among
from pipeline.landing.source.transport import unpacked
from pipeline.several import several

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from pipeline.engines import Engine
    from pipeline.landing.batch.chunks import Chunk
    from pipeline.landing.batch.stage import Staged


@checked
def land(  # noqa: PLR0913 - the command's options, one each
    sources: str | Path | Sequence[str | Path],
    lake: str | os.PathLike[str],
    *,
    format: str = "auto",  # noqa: A002 - the command's own word
    suite: str | None = None,
    labels: Mapping[str, object] | None = None,
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
        labels: labels for every run, texts or whatever JSON can say; the same file under other
            labels lands again.
        strict: refuse the whole landing at the first file that cannot be read, or record that
            cannot land.
        redact: mask keys, bearer tokens, passwords and e-mail addresses, wherever text is
            stored, before anything is. Keys of calls are made from masked arguments, and
            references are masked alike: calls that differ in secrets alone are equal.
        drop: what is stored as null: "outputs" (of tools), "contents" (what was said in steps);
            of fields there that the format does not know the names alone are kept.
        workers: processes that decode; default: one per core.
        dry_run: decode and count, write nothing.
        engine: where files are decoded (`pipeline.engines.chosen`); default: this machine. The
            batches are the same, and this process, the driver, alone publishes them.
        resume: with an engine, take up what an earlier driver of the same landing left.
        regroup: where the runs of logs are scattered over files: the key that says which run a
            row is of (`pipeline.engines.scattered.Scattered`). Rows are brought together first.
        progress: called after every batch.

    Returns:
        What landed: batches, runs, steps, calls, tasks, annotations; rejects by reason; fields that
        no format knows, by format; files that no format recognises.

    Raises:
        SourceNotFoundError: a source does not exist or a pattern matches nothing.
        UnknownNameError: `format` or something in `drop` is not known.
        UnrecognisedError: no file is of a known format, or one named outright is not.
        RejectedError: `strict`, and a file cannot be read or a record cannot land.
        LakeError: the lake cannot be written.
        EngineError: processes that decode died again and again, or the engine gave up.

    >>> from tempfile import TemporaryDirectory
    >>> from pipeline.sample import sample
    >>> with TemporaryDirectory() as folder:
    ...     _ = sample(f"{folder}/export", runs=8)
    ...     report = land([f"{folder}/export"], f"{folder}/lake", workers=1)
    >>> report.runs, report.tasks, report.rejects.total()
    (8, 2000, 0)
    >>> [file.format for file in report.recognised]
    ['trajtab', 'tasks']
    """
    told = _labels(labels or {}, suite)
    options = Options(told, suite, strict, redact, droppable(several(drop)))
    if workers is not None and workers < 1:
        raise InputError(f"--workers is {workers}; at least 1 is needed")
    report = LandReport()
    named = [str(source) for source in several(sources)]
    if not named:
        raise InputError("no source is given; name files, folders or patterns")

    def tell(outcome: Outcome) -> None:
        report.add(outcome)
        if progress is not None:
            progress(report)

    if not dry_run:
        refuse_among(named, Lake(lake).path)
    if engine is not None or regroup is not None:
        if dry_run:
            raise InputError("--dry-run decodes here: leave out --engine spark and --regroup")
        from pipeline.landing.over import Over  # noqa: PLC0415 - loads pyarrow, which few need

        over = Over(engine or Local(workers or os.cpu_count() or 1), options, resume, regroup)
        refused = over.land(named, Lake.create(lake), format, report, tell)
    else:
        with Copies() as copies:
            found = foldered(unpacked(expand(named), copies), format)
            refused = recognise_all(found, named, format, report, strict=strict)
            target = None if dry_run else Lake.create(lake)
            logs, said = rooms_of(report.recognised)
            chunks = cut(parted(logs), options.text())
            for outcome in _outcomes(chunks, target, options, workers or os.cpu_count() or 1):
                tell(outcome)
            land_beside(said, target, options, report)
    if refused:
        raise UnrecognisedError(sentence_of(refused))
    return report


def _labels(given: Mapping[str, object], suite: str | None) -> dict[str, Any]:
    told = dict(sorted(given.items()))
    try:
        msgspec.json.encode([told, suite])
    except (TypeError, ValueError) as error:  # ValueError: a text that UTF-8 cannot spell
        raise InputError(
            f"labels and suite must be what JSON can say, in UTF-8: {error}"
        ) from error
    return told


def _outcomes(
    chunks: Iterator[Chunk], lake: Lake | None, options: Options, workers: int
) -> Iterator[Outcome]:
    known = None if lake is None else Known(lake)

    def todo() -> Iterator[Chunk | Outcome]:
        for chunk in chunks:
            name = None if known is None else known.settled(chunk.name)
            yield chunk if known is None or name is None else landed_before(known, name, options)

    for item in staged(todo(), options, workers):
        outcome = item if isinstance(item, Outcome) else _finish(known, item, options)
        del item  # the rows of one batch are let go of before the next one's are made
        yield outcome


def _finish(known: Known | None, batch: Staged, options: Options) -> Outcome:
    if known is not None:
        return commit(known, batch, options)
    is_call = batch.steps["kind"] == "tool_call"
    counts = Counter(batch.rejects["reason"].to_list())
    return Outcome(
        batch.name, batch.runs.height, batch.steps.height, int(is_call.sum()),
        int((is_call & batch.steps["is_error"]).sum()), dict(counts), 0, 0, {}, batch.tasks.height,
        batch.unmapped,
    )  # fmt: skip
