"""Where results go: data to stdout and files, talk to stderr."""

from __future__ import annotations

import os
import shutil
import sys
from typing import TYPE_CHECKING

import click

from pipeline.cli.directions import directed
from pipeline.cli.encode import encode
from pipeline.cli.files import say, write_results
from pipeline.cli.options import CUT_TO_FIT, Outputs
from pipeline.cli.table import render
from pipeline.errors import InputError
from pipeline.text import counted, spelled_out

if TYPE_CHECKING:
    from collections.abc import Collection

    import polars as pl

    from pipeline.tables.result import Result

__all__ = ["emit", "fitted", "say", "terminal_width"]

NOTES_INSIDE = "json"
"""The format that holds the notes itself."""

MOST_NAMED = 8
"""So many columns that did not fit are named."""


def emit(
    result: Result, outputs: Outputs, *, cut: Result | None = None, needed: Collection[str] = ()
) -> None:
    """Write a result to stdout and to files.

    Args:
        result: every column and row.
        outputs: where to, in which formats.
        cut: what is for reading (table, md, html), if less than `result`.
        needed: columns that a terminal shows however narrow it is.

    Raises:
        InputError: a file cannot be written, or stdout is a terminal and the format binary.
    """
    brief = result if cut is None else cut
    write_results(outputs.files, result, brief)
    chosen = brief if outputs.format in CUT_TO_FIT else result
    if outputs.format != NOTES_INSIDE:
        for note in chosen.notes:
            say(f"note: {note}")
    if outputs.format == "table":
        _print_table(chosen, needed)
    else:
        _print_bytes(encode(chosen, outputs.format), outputs.format)


def terminal_width() -> int | None:
    """Return how wide stdout is in cells; None where it is no terminal."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def fitted(
    rows: pl.DataFrame,
    width: int | None,
    *,
    needed: Collection[str] = (),
    styled: bool = False,
    further: str | None = None,
) -> str:
    """Return a frame as a table that fits, and say which columns did not.

    Args:
        rows: the frame.
        width: in cells; None is as wide as it takes.
        needed: columns that stay.
        styled: heads in bold?
        further: the name of a table that stands beside a result's rows, which CSV does not hold.
    """
    table = render(rows, width, needed=needed, styled=styled)
    if table.left_out:
        of_table, form = ("", "csv") if further is None else (f"{further}: ", "json")
        gone = _few(table.left_out)
        say(f"note: {of_table}{gone} did not fit: a wider terminal or --format {form} shows all")
    return table.text


def _few(names: list[str]) -> str:
    """List names, the first where they are many.

    >>> _few(["p25", "p95"]), _few([f"m{number}" for number in range(20)])
    ('p25, p95', 'm0, m1, m2, m3, m4, m5, m6, m7 and 12 more columns')
    """
    more = f" and {counted(len(names) - MOST_NAMED, 'more column')}" if names[MOST_NAMED:] else ""
    return f"{', '.join(names[:MOST_NAMED])}{more}"


def _print_table(result: Result, needed: Collection[str]) -> None:
    result = directed(result)
    _print_rows(result.rows, needed)
    for name, table in result.tables.items():
        if table.height:
            click.echo(f"\n{name}")
            _print_rows(table, further=name)


def _print_rows(
    rows: pl.DataFrame, needed: Collection[str] = (), further: str | None = None
) -> None:
    width = terminal_width()
    styled = width is not None and _may_style()
    click.echo(fitted(rows, width, needed=needed, styled=styled, further=further))


def _print_bytes(data: bytes, form: str) -> None:
    if form == "parquet" and sys.stdout.isatty():
        raise InputError("--format parquet is binary: send stdout to a file or a pipe, or use -o")
    # A log must not send a terminal what it acts on; in a file or a pipe every sign stays.
    click.echo(spelled_out(data.decode()) if sys.stdout.isatty() else data, nl=False)


def _may_style() -> bool:
    return "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"
