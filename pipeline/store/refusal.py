"""What the operating system refuses while a table is written, as an error that names the file."""

from __future__ import annotations

import errno
import os
import re
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from polars.exceptions import PolarsError

_NUMBER = re.compile(r"\(os error (\d+)\)")
_UNTOLD = "transport error"
"""All that Polars says where the header of a page could not be written."""
_ROOM = 1 << 16


@contextmanager
def refusal_told(path: Path) -> Iterator[None]:
    """Raise a full disk and its like as OSError: Polars says them in an error of its own.

    >>> from pathlib import Path
    >>> import polars as pl
    >>> with refusal_told(Path("runs.parquet")):
    ...     raise pl.exceptions.ComputeError("parquet: No space left on device (os error 28)")
    Traceback (most recent call last):
    ...
    OSError: [Errno 28] No space left on device: 'runs.parquet'
    """
    from polars.exceptions import PolarsError  # noqa: PLC0415 - heavy, and loaded by who has a table

    try:
        yield
    except (OSError, PolarsError) as error:
        if isinstance(error, OSError) and error.filename is not None:
            raise
        number = _number(error, path)
        if number is None:
            raise
        raise OSError(number, os.strerror(number), str(path)) from error


def _number(error: OSError | PolarsError, path: Path) -> int | None:
    if found := _NUMBER.search(str(error)):
        return int(found[1])
    if isinstance(error, OSError):
        return error.errno
    return _refused(path) if _UNTOLD in str(error) else None


def _refused(path: Path) -> int:
    """Ask the disk itself, by writing a little more: the file is of no use any longer."""
    try:
        with path.open("ab") as file:
            file.write(bytes(_ROOM))
            os.fsync(file.fileno())
    except OSError as refused:
        return refused.errno or errno.EIO
    return errno.EIO  # there is room again, and the table was not written all the same
