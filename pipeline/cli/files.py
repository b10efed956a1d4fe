"""What a command says on stderr, and the files it writes beside what it prints."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import click

from pipeline.cli.encode import encode
from pipeline.cli.options import CUT_TO_FIT
from pipeline.cli.values import format_of
from pipeline.replacing import replace
from pipeline.text import one_line

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from pipeline.tables.result import Result


def say(text: str) -> None:
    """Say one line on stderr; where nobody can hear it, results go on."""
    with suppress(OSError):
        click.echo(one_line(text), err=True)


def write_results(files: Iterable[Path], result: Result, cut: Result | None = None) -> None:
    """Write a result to files of any format; `cut` is what is for reading, if less than it.

    Raises:
        InputError: a file cannot be written.
    """
    for file in files:
        form = format_of(file)
        chosen = cut if cut is not None and form in CUT_TO_FIT else result
        write(file, encode(chosen, form))


def write(file: Path, data: bytes) -> None:
    """Write a file and say so.

    Raises:
        InputError: it cannot be written; what was there is as it was.
    """
    replace(file, data)
    say(f"wrote {file}")
