"""DuckDB as every room here opens it, and how SQL of other people is kept to what it is handed.

A filter, a pass rule or a metric of a policy may come with a repository or a web form. It is asked
for a condition, but DuckDB's functions read any file of the one who runs it, and the network.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import duckdb
import polars as pl

from pipeline.errors import InputError
from pipeline.interrupts import interruptible
from pipeline.queries import install_macros
from pipeline.text import is_utf8

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


REFUSED = (duckdb.DataError, duckdb.ProgrammingError, duckdb.PermissionException)
"""What DuckDB raises where SQL is at fault, and not the machine."""


def connect(
    threads: int | None = None, memory_limit: str | None = None, *, macros: bool = True
) -> duckdb.DuckDBPyConnection:
    """Open DuckDB in memory, in UTC, with the metric macros installed unless they are not needed."""
    con = interruptible(duckdb.connect())
    con.execute("SET TimeZone = 'UTC'; SET preserve_insertion_order = true")
    con.execute("SET parquet_metadata_cache = true")  # files are immutable, and read several times
    con.execute("SET enable_progress_bar = false")  # on a terminal it would stand in the results
    if threads is not None:
        con.execute(f"SET threads = {threads}")
    if memory_limit is not None:
        con.execute("SET memory_limit = ?", [memory_limit])
    if macros:
        install_macros(con)
    return con


def confine(con: duckdb.DuckDBPyConnection) -> None:
    """Let a connection see what is registered with it, and nothing else, for good."""
    # An empty temp_directory matters: DuckDB always allows reading and writing below it.
    con.execute("SET temp_directory = ''")
    _close(con)
    con.execute("SET lock_configuration = true")


def confine_to(con: duckdb.DuckDBPyConnection, files: Iterable[Path]) -> None:
    """Let a connection read the folders of these files and no others; it may spill to the disk."""
    folders = sorted({str(file.parent) for file in files})
    # DuckDB asks for a file by the pattern that names it, and again by its name.
    allowed = ", ".join({text: "" for path in folders for text in (sql_text(path), sql_file(path))})
    con.execute(f"SET allowed_directories = [{allowed}]")
    _close(con)


def _close(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("SET python_enable_replacements = false; SET enable_external_access = false")


class _Columns:
    """A frame as DuckDB takes one without pyarrow, which is slow to load and would do no more."""

    def __init__(self, frame: pl.DataFrame) -> None:
        self._frame = frame

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._frame.__arrow_c_stream__(requested_schema)


def hand(con: duckdb.DuckDBPyConnection, name: str, frame: pl.DataFrame) -> None:
    """Let a connection read a frame as the view `name`; no column may be of the dtype Null."""
    con.register(name, _Columns(frame))


def fetched(relation: duckdb.DuckDBPyRelation) -> pl.DataFrame:
    """Return the rows of a relation, as its `pl()` does, but without pyarrow.

    They are in memory twice while that is done: for all columns of all runs `pl()` is better.

    >>> fetched(duckdb.sql("SELECT 1 AS a, 'x' AS b")).rows()
    [(1, 'x')]
    """
    # Run first: an error in the middle of a stream would be one of Polars.
    return pl.DataFrame(relation.materialize())


def refuse_no_condition(option: str, condition: str | None) -> None:
    """Refuse what is no condition: a blank text, as an unset variable of a shell is; or no UTF-8.

    Raises:
        InputError: one of these.

    >>> refuse_no_condition("--where", None)
    >>> refuse_no_condition("--where", " ")
    Traceback (most recent call last):
    ...
    pipeline.errors.InputError: --where is empty; give a condition, or true for all runs
    """
    if condition is not None and not condition.strip():
        raise InputError(f"{option} is empty; give a condition, or true for all runs")
    if condition is not None and not is_utf8(condition):
        raise InputError(f"{option} {condition!r}: SQL must be UTF-8")


def sql_text(text: str) -> str:
    """Return a text as a SQL literal.

    >>> sql_text("it's")
    "'it''s'"
    """
    return "'" + text.replace("'", "''") + "'"


def sql_file(path: str) -> str:
    """Return a path as a SQL literal that names this one file: no part of it is a pattern.

    >>> sql_file("a's [1].parquet")
    "'a''s [[]1].parquet'"
    """
    return sql_text(re.sub(r"[\[*?]", lambda mark: f"[{mark.group()}]", path))
