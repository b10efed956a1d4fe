"""`trajtab land`: logs into a lake."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import click
import polars as pl

from pipeline.cli import completion
from pipeline.cli.command import command as declare
from pipeline.cli.options import Outputs, engine_options, output_options, resume_option
from pipeline.cli.output import NOTES_INSIDE, emit, say
from pipeline.cli.progress import progress
from pipeline.cli.values import LakePath, key_value
from pipeline.landing.batch.masking import DROPPABLE
from pipeline.landing.land import land
from pipeline.tables.result import Result
from pipeline.text import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from os import PathLike

    from pipeline.cli.progress import Tell
    from pipeline.engines import Engine
    from pipeline.landing.report import LandReport

FEW = 10
"""Up to so many files are named one by one."""

COUNTS = (
    "batches",
    "already",
    "runs",
    "steps",
    "calls",
    "errors",
    "tasks",
    "annotations",
    "duplicates",
    "replaced",
)


_EXAMPLE = """\
trajtab land export/ --lake lake --set team=search
trajtab land export/runs.jsonl --lake lake --regroup run_id"""


@declare("land", example=_EXAMPLE)
@click.argument("sources", metavar="SOURCE...", nargs=-1, required=True)
@click.option(
    "--lake",
    type=LakePath(),
    required=True,
    metavar="LAKE",
    help="The lake, made where there is none: a folder, or s3://BUCKET/PREFIX, gs://…, az://….",
)
@click.option(
    "--from",
    "format_name",
    default="auto",
    show_default=True,
    metavar="FORMAT|auto",
    shell_complete=completion.formats,
    help="The format of all files; `trajtab formats` lists them.",
)
@click.option("--suite", metavar="S", help="The suite of every run and task, over the files' own.")
@click.option(
    "--set",
    "labels",
    type=key_value,
    multiple=True,
    metavar="KEY=VALUE",
    help="A label for every run; the same logs under other labels land again.",
)
@click.option(
    "--redact",
    is_flag=True,
    help="Mask keys, bearer tokens, passwords and e-mail addresses before anything is stored; "
    "calls that differ in these alone become equal.",
)
@click.option(
    "--drop",
    type=click.Choice(list(DROPPABLE)),
    multiple=True,
    help="Store null instead: outputs of tools, or contents of steps (what was said); "
    "a run's final_output and errors stay, and of fields no format knows the names. Repeatable.",
)
@click.option(
    "--strict",
    is_flag=True,
    help="Stop at the first file that cannot be read or record that cannot land, exit 2.",
)
@click.option(
    "--workers", type=int, metavar="N", help="Processes that decode; default: one per core."
)
@click.option("--dry-run", is_flag=True, help="Decode and count, write nothing.")
@click.option(
    "--regroup",
    metavar="KEY",
    help="The runs of these logs are scattered over files: first bring together the rows of "
    "equal KEY, a column of Parquet files, or a name or JSON path in JSON lines.",
)
@resume_option
@engine_options
@output_options
def command(
    *,
    sources: tuple[str, ...],
    lake: PathLike[str],
    format_name: str,
    suite: str | None,
    labels: tuple[tuple[str, str], ...],
    workers: int | None,
    outputs: Outputs,
    drop: tuple[str, ...],
    redact: bool,
    strict: bool,
    dry_run: bool,
    regroup: str | None,
    resume: bool,
    engine: Engine | None,
) -> None:
    """Land logs into a lake.

    SOURCE is a file, a folder, a quoted glob, or - for the standard input; plain, or packed by
    gzip, zstd, xz or zip. Landing the same logs again changes nothing.
    Records that cannot land are kept as rejects and counted, exit 0.
    """
    with progress("landing") as tell:
        report = land(
            sources,
            lake,
            format=format_name,
            suite=suite,
            labels=dict(labels),
            strict=strict,
            redact=redact,
            drop=drop,
            workers=workers,
            dry_run=dry_run,
            engine=engine,
            resume=resume,
            regroup=regroup,
            progress=tell and _telling(tell),
        )
    for line in recognised(report):
        say(line)
    result = landed(report, dry_run=dry_run)
    if outputs.format == NOTES_INSIDE:
        for note in result.notes:
            say(f"note: {note}")
    emit(result, outputs)


def landed(report: LandReport, *, dry_run: bool = False) -> Result:
    """Return what a landing did, in one row."""
    row = {name: getattr(report, name) for name in COUNTS}
    row["rejected"] = report.rejects.total()
    return Result("land", pl.DataFrame([row]), list(_notes(report, dry_run=dry_run)))


def recognised(report: LandReport) -> list[str]:
    """Say what the files are: each by name if they are few, else how many of what."""
    if len(report.recognised) <= FEW:
        return [f"{file.source.shown}: {file.format} ({file.reason})" for file in report.recognised]
    kinds = Counter((file.format, file.reason) for file in report.recognised)
    return [f"{counted(n, 'file')}: {form} ({reason})" for (form, reason), n in kinds.most_common()]


def _notes(report: LandReport, *, dry_run: bool) -> Iterator[str]:
    if dry_run:
        yield "dry run: nothing was written"
    for reason, count in report.rejects.most_common():
        yield f"{counted(count, 'record')} rejected: {reason}"
    if report.rejects and not dry_run:
        yield '`trajtab sql LAKE "FROM rejects"` shows where and why'
    for form, records in report.unmapped.items():
        yield unmapped(form, records)
    yield from report.unrecognised[:FEW]
    if len(report.unrecognised) > FEW:
        yield f"{counted(len(report.unrecognised) - FEW, 'more file')} not recognised"
    if report.unresolved:
        yield unresolved(report.unresolved)
    yield from report.configs
    if report.already and not report.batches:
        yield "all of it had landed before"
    elif not (report.runs or report.tasks or report.annotations or report.configs):
        yield "warning: 0 runs and 0 tasks landed"


def unresolved(copies: Counter[str]) -> str:
    """Say of which runs copies stay beside others: one name and a count each."""
    named = ", ".join(f"{run_id} ({n:,})" for run_id, n in copies.most_common(FEW))
    more = f", {len(copies) - FEW:,} more" if len(copies) > FEW else ""
    return (
        f"warning: copies of {counted(len(copies), 'run')} stay beside each other, as none contains "
        f"another's calls; landed now: {named}{more}; `trajtab check LAKE` names their files"
    )


def unmapped(form: str, records: Counter[str]) -> str:
    """Say which fields a format does not know: labels have them."""
    fields = counted(len(records), "field")
    named = ", ".join(f"{name} ({n:,})" for name, n in records.most_common(FEW))
    more = f", {len(records) - FEW} more" if len(records) > FEW else ""
    return f"labels keep {fields} not known to {form}, in so many records: {named}{more}"


def _telling(tell: Tell) -> Callable[[LandReport], None]:
    def told(report: LandReport) -> None:
        done = (
            (report.batches + report.already, "batch"),
            (report.runs, "run"),
            (report.tasks, "task"),
        )
        tell(", ".join(counted(number, noun) for number, noun in done))

    return told
