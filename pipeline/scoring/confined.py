"""DuckDB for SQL that came with a policy: it sees the tables it is handed, and nothing else."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from pipeline.duck import confine, connect

if TYPE_CHECKING:
    from collections.abc import Iterator

    from duckdb import DuckDBPyConnection


@contextmanager
def confined() -> Iterator[DuckDBPyConnection]:
    """Open DuckDB in memory without files, network or Python variables; metric macros are there."""
    con = connect()
    try:
        confine(con)
        yield con
    finally:
        con.close()
