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

if TYPE_CHECKING:
    import polars as pl

    from pipeline.tables.result import Result

__all__ = ["emit", "say"]

NOTES_INSIDE = "json"
"""The format that holds the notes itself."""


def emit(result: Result, outputs: Outputs, *, cut: Result | None = None) -> None:
    """Write a result to stdout and to files.

    Args:
        result: every column and row.
        outputs: where to, in which formats.
        cut: what is for reading (table, md, html), if less than `result`.

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
        _print_table(chosen)
    else:
        _print_bytes(encode(chosen, outputs.format), outputs.format)


def _print_table(result: Result) -> None:
    result = directed(result)
    _print_rows(result.rows)
    for name, table in result.tables.items():
        if table.height:
            click.echo(f"\n{name}")
            _print_rows(table)


def _print_rows(rows: pl.DataFrame) -> None:
    terminal = sys.stdout.isatty()
    width = shutil.get_terminal_size().columns if terminal else None
    table = render(rows, width, styled=terminal and _may_style())
    if table.left_out:
        say(
            f"note: {', '.join(table.left_out)} did not fit: a wider terminal or --format csv shows all"
        )
    click.echo(table.text)


def _print_bytes(data: bytes, form: str) -> None:
    if form == "parquet" and sys.stdout.isatty():
        raise InputError("--format parquet is binary: send stdout to a file or a pipe, or use -o")
    click.echo(data, nl=False)


def _may_style() -> bool:
    return "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"
