"""The SQL files: where they are, what they say, and the metric macros installed from them.

A query is named by its path below `sql/` without the suffix: `tables/aggregate`.
"""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.errors import TrajtabError, UnknownNameError

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

    from duckdb import DuckDBPyConnection

SUFFIX = ".sql"
MACROS = "metrics"
"""The folder of the metric macros."""


def read(name: str) -> str:
    """Return the text of one SQL file.

    Raises:
        UnknownNameError: there is no such file.
        TrajtabError: the installation has no SQL files.

    >>> read("metrics/ordered").splitlines()[0]
    '-- Ordered metrics: does the run make the expected calls, in the expected order?'
    """
    folder, _, stem = name.rpartition("/")
    if stem not in _stems(_root().joinpath(folder)):
        raise UnknownNameError.among("query", name, names(folder))
    return _root().joinpath(f"{name}{SUFFIX}").read_text(encoding="utf-8")


def names(folder: str) -> list[str]:
    """Return the names of the SQL files in one folder, sorted; none if it does not exist.

    Raises:
        TrajtabError: the installation has no SQL files.

    >>> names("metrics")
    ['metrics/ordered', 'metrics/overlap', 'metrics/path', 'metrics/usage']
    """
    prefix = f"{folder}/" if folder else ""
    return sorted(f"{prefix}{stem}" for stem in _stems(_root().joinpath(folder)))


def install_macros(con: DuckDBPyConnection) -> None:
    """Create (or replace) every metric macro on a DuckDB connection.

    >>> import duckdb
    >>> con = duckdb.connect()
    >>> install_macros(con)
    >>> con.sql("SELECT in_order(['search', 'book'], ['search', 'pay', 'book'])").fetchall()
    [(1.0,)]
    """
    for name in names(MACROS):
        con.execute(read(name))


def _root() -> Traversable:
    """Return the folder of the SQL files: the wheel's, else the checkout's."""
    package = files("pipeline")
    checkout = Path(str(package)).parent
    if (packaged := package / "sql").is_dir():
        return packaged
    if (checkout / "pyproject.toml").is_file() and (checkout / "sql").is_dir():
        return checkout / "sql"
    raise TrajtabError(
        f"the SQL files are missing: neither {packaged} nor {checkout / 'sql'} is there; "
        "install trajtab again"
    )


def _stems(folder: Traversable) -> list[str]:
    if not folder.is_dir():
        return []
    return [
        item.name.removesuffix(SUFFIX) for item in folder.iterdir() if item.name.endswith(SUFFIX)
    ]
