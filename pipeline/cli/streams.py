"""The three standard streams, as a process may find them: closed, unbuffered, of few characters."""

from __future__ import annotations

import os
import sys
from io import RawIOBase, TextIOWrapper


def ready() -> None:
    """Make the standard streams usable.

    One that is closed becomes the null device, lest the next file opened took its number and
    received what is printed. A sign that the terminal lacks is spelled out. Where PYTHONUNBUFFERED
    is set, Python lets the system write a part and says nothing of the rest: what is printed has a
    buffer here, which writes all of it or raises.
    """
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        if getattr(sys, name) is None:
            # Of the numbers free the least is taken: that of the stream itself.
            os.open(os.devnull, os.O_RDWR)
            setattr(sys, name, open(number, mode))  # noqa: SIM115, PTH123 - open as long as the process
    if isinstance(sys.stdout, TextIOWrapper) and isinstance(sys.stdout.buffer, RawIOBase):
        encoding = sys.stdout.encoding
        sys.stdout = open(sys.stdout.fileno(), "w", encoding=encoding, closefd=False)  # noqa: SIM115 - same
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
