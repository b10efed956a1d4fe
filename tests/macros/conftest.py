"""A database with the macros, and the value of one expression in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import duckdb
import pytest

from pipeline import queries

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from duckdb import DuckDBPyConnection


@pytest.fixture(scope="module")
def con() -> Iterator[DuckDBPyConnection]:
    """A database with the macros, and no way to fetch an extension."""
    closed = {"autoinstall_known_extensions": False, "autoload_known_extensions": False}
    with duckdb.connect(config=closed) as con:
        queries.install_macros(con)
        yield con


@pytest.fixture(scope="module")
def value(con: DuckDBPyConnection) -> Callable[[str], Any]:
    """Return the value of one SQL expression."""
    return lambda sql: con.sql(f"SELECT {sql}").fetchall()[0][0]
