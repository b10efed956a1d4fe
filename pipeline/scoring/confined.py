"""DuckDB for SQL that came with a policy: it sees the tables it is handed, and nothing else."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from pipeline.current import connect

if TYPE_CHECKING:
    from collections.abc import Iterator

    from duckdb import DuckDBPyConnection

# An empty temp_directory matters: DuckDB always allows reading and writing below it.
_CONFINE = """
SET temp_directory = '';
SET python_enable_replacements = false;
SET enable_external_access = false;
SET lock_configuration = true;
"""


@contextmanager
def confined() -> Iterator[DuckDBPyConnection]:
    """Open DuckDB in memory without files, network or Python variables; metric macros are there."""
    con = connect()
    try:
        con.execute(_CONFINE)
        yield con
    finally:
        con.close()
