"""`trajtab report`: one HTML page about a lake, or about logs that land on the way."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import click
from xxhash import xxh3_64_hexdigest

from pipeline.cli import completion
from pipeline.cli.command import command as declare
from pipeline.cli.files import write, write_results
from pipeline.cli.land import unmapped
from pipeline.cli.options import Outputs, by_option, engine_options, output_options, policy_option
from pipeline.cli.output import emit, say
from pipeline.cli.progress import batches, progress
from pipeline.cli.values import LakePath, format_of
from pipeline.errors import InputError
from pipeline.lake import Lake
from pipeline.landing.land import land
from pipeline.report.charts import drawing
from pipeline.report.html import made
from pipeline.scoring import score
from pipeline.store.address import is_url
from pipeline.tables.aggregate import aggregate
from pipeline.tables.percentiles import percentiles
from pipeline.tables.result import Result
from pipeline.tables.session import opened
from pipeline.text import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pipeline.cli.progress import Tell
    from pipeline.engines import Engine
    from pipeline.landing.report import LandReport
    from pipeline.store import Address

    Place = Path | Address

HOME = Path(".trajtab")
"""Where logs named here land, each set of them in a lake of its own."""

PAGE = Path("report.html")
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")


@declare("report", example="trajtab report export/ -o report.html --by agent_version")
@click.argument("sources", metavar="SOURCE|LAKE...", nargs=-1, required=True)
@by_option
@click.option(
    "--lake",
    type=LakePath(),
    metavar="LAKE",
    help=f"Where logs land; default: a lake of their own below {HOME}/.",
)
@click.option(
    "--from",
    "format_name",
    default="auto",
    show_default=True,
    metavar="FORMAT|auto",
    shell_complete=completion.formats,
    help="The format of all logs; `trajtab formats` lists them.",
)
@click.option(
    "--baseline", metavar="FILTER", help="With --candidate: compare two arms, SQL over run columns."
)
@click.option("--candidate", metavar="FILTER", help="The candidate's runs, likewise.")
@click.option(
    "--show-args",
    is_flag=True,
    help="Show arguments and outputs of calls too; secrets are masked.",
)
@policy_option
@engine_options
@output_options
def command(
    *,
    sources: tuple[str, ...],
    by: tuple[str, ...],
    lake: Place | None,
    format_name: str,
    baseline: str | None,
    candidate: str | None,
    show_args: bool,
    policy: str | None,
    engine: Engine | None,
    outputs: Outputs,
) -> None:
    """Write a report of a lake or of logs.

    Logs land first, into a lake of their own; what has no scores yet is scored. The tables of
    the report go to stdout, the page to report.html or wherever -o says. Its charts need the extra
    `report`; without it there are tables in their place.
    """
    if (baseline is None) != (candidate is None):
        raise click.UsageError("--baseline and --candidate go together")
    home = lake_of(sources)
    if home is None:
        home = lake or place_of(sources)
        _land(sources, home, format_name, engine)
    elif lake is not None:
        raise click.UsageError(f"{home} is a lake already: leave out --lake")
    _score(home, policy, engine)
    with progress("report"):
        found = made(
            home,
            by=by,
            policy=policy,
            baseline=baseline,
            candidate=candidate,
            show_args=show_args,
        )
    pages = [file for file in outputs.files if format_of(file) == "html"]
    others = [file for file in outputs.files if file not in pages]
    means, spread = found.means, found.spread
    if by:
        means = aggregate(home, by=by, policy=policy, engine=engine)
        spread = percentiles(home, by=by, policy=policy, engine=engine)
    _tables(means, spread, outputs.format, others)
    for file in pages if outputs.files else [PAGE]:
        write(file, found.page.encode())
    if not drawing.available():
        say(drawing.HINT)


def lake_of(sources: Sequence[str]) -> Place | None:
    """Return the one lake named, None where logs are.

    Raises:
        InputError: a lake among other things.
        SourceNotFoundError: a URL of no lake: logs are read from files.
    """
    lakes = [source for source in sources if is_url(source) or Lake(source).exists()]
    if lakes and len(sources) > 1:
        raise InputError(f"{lakes[0]} is a lake: name one lake, or only logs")
    return Lake.open(lakes[0]).path if lakes else None


def place_of(sources: Sequence[str]) -> Path:
    """Return the lake that logs land in: the same logs, named from the same place, the same lake.

    >>> place_of(["/data/export*"]).as_posix()
    '.trajtab/export_-910442d9'
    """
    paths = [str(Path(source).absolute()) for source in sources]
    name = _UNSAFE.sub("_", Path(paths[0]).name) or "logs"
    return HOME / f"{name}-{xxh3_64_hexdigest(chr(0).join(paths).encode())[:8]}"


def _land(sources: Sequence[str], lake: Place, format_name: str, engine: Engine | None) -> None:
    with progress("landing") as tell:
        runs = tell and _runs(tell)
        told = land(sources, lake, format=format_name, engine=engine, progress=runs)
    news = _holding(told.runs, told.calls, told.errors)
    say(f"landed in {lake}: {news if told.runs else 'nothing new'}")
    for reason, count in told.rejects.most_common():
        say(f"{counted(count, 'record')} rejected: {reason}")
    for form, records in told.unmapped.items():
        say(unmapped(form, records))
    for sentence in told.unrecognised:
        say(f"left out: {sentence}")


def _score(lake: Place, policy: str | None, engine: Engine | None) -> None:
    with progress("scoring") as tell:
        score(lake, policy=policy, engine=engine, progress=tell and batches(tell))
    with opened(lake, policy) as session:
        held = session.con.sql("SELECT count(*), sum(n_calls), sum(n_errors) FROM scores")
        runs, calls, errors = (int(number or 0) for number in held.fetchall()[0])
    say(f"the lake holds {_holding(runs, calls, errors)}")


def _holding(runs: int, calls: int, errors: int) -> str:
    return f"{counted(runs, 'run')}, {counted(calls, 'call')}, {counted(errors, 'error')}"


def _tables(means: Result, spread: Result, form: str, files: Sequence[Path]) -> None:
    """Print the means and the percentiles: two tables for reading, one for programs."""
    joined = _joined(means, spread)
    if form != "table":
        emit(joined, Outputs(form, tuple(files)))
        return
    write_results(files, joined)
    emit(means, Outputs())
    click.echo()
    emit(
        spread._replace(notes=[note for note in spread.notes if note not in means.notes]), Outputs()
    )


def _joined(means: Result, spread: Result) -> Result:
    keys = means.rows.columns[: means.rows.columns.index("metric") + 1]
    beside = spread.rows.drop("n_scored")
    rows = means.rows.join(beside, on=keys, how="left", nulls_equal=True, maintain_order="left")
    notes = list(dict.fromkeys([*means.notes, *spread.notes]))
    return Result("report", rows, notes, better=means.better)


def _runs(tell: Tell) -> Callable[[LandReport], None]:
    return lambda told: tell(f"{told.runs:,} runs")
