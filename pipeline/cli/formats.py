"""`trajtab formats`: which logs can land."""

from __future__ import annotations

import polars as pl

from pipeline.cli.command import command as declare
from pipeline.cli.options import Outputs, output_options
from pipeline.cli.output import emit
from pipeline.landing import formats
from pipeline.tables.result import Result


@declare("formats", example="trajtab formats --format md")
@output_options
def command(outputs: Outputs) -> None:
    """List the source formats.

    `land` tells a file's format by its content; `land --from NAME` names it outright.
    """
    emit(listed(), outputs)


def listed() -> Result:
    """Return all formats in the order they are tried, with what each can and cannot fill."""
    rows = [
        {"name": form.name, "title": form.title, "fills": form.fills, "lacks": form.lacks}
        for form in formats.every()
    ]
    return Result("formats", pl.DataFrame(rows), [])
