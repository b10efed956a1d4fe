"""Which format each file is of, by content, and in which room of the lake it goes."""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING

from pipeline.errors import RejectedError, UnrecognisedError
from pipeline.landing import formats
from pipeline.landing.batch.chunks import Recognised
from pipeline.landing.guess import unrecognised
from pipeline.landing.records.reader import as_text
from pipeline.text import counted

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pipeline.landing.formats import Format
    from pipeline.landing.records.reader import Source
    from pipeline.landing.report import LandReport


def recognise(source: Source, wanted: str) -> Recognised | None:
    """Say which format a file is of, by content; `wanted` names one, or is "auto"."""
    if wanted != "auto":
        form = formats.get(wanted)
        return Recognised(source, form.name, "named by --from", _lands_apart(form, source))
    for form in formats.every():
        reason = form.sniff(source.head)
        if reason is not None:
            return Recognised(source, form.name, reason, form.apart)
    first = source.first()
    found = None if first is None else recognise(first, wanted)
    return found and found._replace(source=source, apart=True)


def _lands_apart(form: Format, source: Source) -> bool:
    """Tell whether a file's documents are of a format, but not the file as a whole."""
    if form.apart or form.sniff(source.head) is not None:
        return form.apart
    first = source.first()
    return first is not None and form.sniff(first.head) is not None


def recognise_all(
    sources: Iterable[Source],
    named: list[str],
    wanted: str,
    report: LandReport,
    *,
    strict: bool = False,
) -> list[str]:
    """Enter every file into the report, and return why those named outright are refused.

    Raises:
        RejectedError: `strict`, and a file cannot be read: nobody knows what records it holds.
        UnrecognisedError: no file is of a known format.
    """
    refused: list[str] = []
    outright = {as_text(PurePath(text)) for text in named}
    for source in sources:
        found = None if source.unread else recognise(source, wanted)
        if found is not None:
            report.recognised.append(found)
            continue
        report.unrecognised.append(unrecognised(source))
        if source.unread and strict:
            raise RejectedError(report.unrecognised[-1])
        if source.shown in outright:
            refused.append(report.unrecognised[-1])
    if not report.recognised:
        raise UnrecognisedError(sentence_of(report.unrecognised))
    return refused


def rooms_of(found: list[Recognised]) -> tuple[list[Recognised], list[Recognised]]:
    """Part files of runs and tasks from those of annotations, which have a room of their own."""
    rooms: dict[str, list[Recognised]] = {"runs": [], "annotations": []}
    for file in found:
        rooms[formats.get(file.format).lands].append(file)
    return rooms["runs"], rooms["annotations"]


def sentence_of(reasons: list[str]) -> str:
    """Return the first reason, and how many more there are."""
    more = f" (and {counted(len(reasons) - 1, 'more file')} like it)" if len(reasons) > 1 else ""
    return reasons[0] + more
