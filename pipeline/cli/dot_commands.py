"""Dot commands of the prompt of `trajtab sql`: what it tells of the lake without SQL."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from pipeline import workbench
from pipeline.errors import UnknownNameError
from pipeline.tables.result import Result

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

HELP = {
    ".help": "this list",
    ".tables": "the views",
    ".schema VIEW": "the columns of a view, or of all",
    ".macros": "the metrics as macros, and how each is called",
    ".quit": "leave; so do quit, \\q and Ctrl-D",
}
"""Each with what it answers."""


def answer(con: DuckDBPyConnection, word: str, name: str | None = None, *_: str) -> Result:
    """Answer a dot command.

    Raises:
        UnknownNameError: no such word or view.
    """
    if word == ".help":
        rows = pl.DataFrame({"type": [*HELP, "SELECT …;"], "for": [*HELP.values(), "an answer"]})
    elif word == ".tables":
        heights = [_height(con, view) for view in workbench.VIEWS]
        rows = pl.DataFrame({"view": workbench.VIEWS, "rows": heights})
    elif word == ".schema":
        rows = _schema(con, name)
    elif word == ".macros":
        calls = macros(con)
        rows = pl.DataFrame({"macro": list(calls), "call": list(calls.values())})
    else:
        raise UnknownNameError.among("word", word, (told.split()[0] for told in HELP))
    return Result(word[1:], rows, [])


def _height(con: DuckDBPyConnection, view: str) -> int:
    return int(con.view(view).count("*").fetchall()[0][0])


def _schema(con: DuckDBPyConnection, name: str | None) -> pl.DataFrame:
    """Return the columns of a view, or of all.

    Raises:
        UnknownNameError: no such view.
    """
    if name is not None and name not in workbench.VIEWS:
        raise UnknownNameError.among("view", name, workbench.VIEWS)
    relations = {view: con.view(view) for view in workbench.VIEWS if name in (None, view)}
    rows = [
        (view, column, str(kind))
        for view, found in relations.items()
        for column, kind in zip(found.columns, found.types, strict=True)
    ]
    return pl.DataFrame(rows, schema=["view", "column", "type"], orient="row")


def columns(con: DuckDBPyConnection) -> list[str]:
    """Return the names of all columns of all views."""
    return _schema(con, None)["column"].unique().to_list()


def macros(con: DuckDBPyConnection) -> dict[str, str]:
    """Return the metric macros with how each is called, by name."""
    found = con.sql(
        "SELECT function_name, array_to_string(parameters, ', ') FROM duckdb_functions() "
        "WHERE function_type = 'macro' AND NOT internal ORDER BY ALL"
    ).fetchall()
    return {name: f"{name}({parameters})" for name, parameters in found}
