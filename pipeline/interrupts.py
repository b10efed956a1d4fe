"""Ctrl-C while DuckDB works: Python hears of it only once DuckDB returns, so DuckDB is told."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from threading import Thread
from typing import TYPE_CHECKING
from weakref import WeakSet

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_sessions: WeakSet[DuckDBPyConnection] = WeakSet()


def interruptible(con: DuckDBPyConnection) -> DuckDBPyConnection:
    """Let Ctrl-C stop the queries of a connection, where the process listens for it."""
    _sessions.add(con)
    return con


def release(con: DuckDBPyConnection) -> None:
    """Leave a connection to one who stops its queries himself.

    The thread may be late: what it stops is what runs by then, which at a prompt is another query.
    """
    _sessions.discard(con)


def listen() -> None:
    """Stop queries on Ctrl-C from now on.

    A handler in Python would wait for the query's end; the byte that Python's own handler in C
    writes at once wakes a thread instead.
    """
    if os.name != "posix":
        return
    read, write = os.pipe()
    os.set_blocking(write, False)
    signal.set_wakeup_fd(write, warn_on_full_buffer=False)
    Thread(target=_tell, args=(read,), daemon=True).start()


def _tell(read: int) -> None:
    while received := os.read(read, 1):
        if received[0] == signal.SIGINT:
            for con in list(_sessions):
                with suppress(Exception):  # closed in the meantime
                    con.interrupt()
