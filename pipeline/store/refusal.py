"""What the operating system refuses while a table is written, as an error that names the file."""

from __future__ import annotations

import os
import re
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_NUMBER = re.compile(r"\(os error (\d+)\)")


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
        found = _NUMBER.search(str(error))
        number = int(found[1]) if found else getattr(error, "errno", None)
        if number is None:
            raise
        raise OSError(number, os.strerror(number), str(path)) from error
