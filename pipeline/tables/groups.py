"""Group columns: the score columns people group by, and labels as `labels.NAME`."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from pipeline.errors import UnknownNameError
from pipeline.schema import ScoreKeys

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from duckdb import DuckDBPyConnection

LABEL = f"{ScoreKeys.labels.name}."


class Group(NamedTuple):
    """A group column: what the person calls it, its alias inside queries, its SQL."""

    name: str
    alias: str
    sql: str


def groups_of(by: Iterable[str]) -> list[Group]:
    """Return the group columns of these names, each once.

    Raises:
        UnknownNameError: a name is neither a column of scores nor `labels.NAME`.

    >>> [group.sql for group in groups_of(["agent", "labels.it's a/b"])]
    ['"agent"', "json_extract_string(labels, '/it''s a~1b')"]
    """
    return [Group(name, f"by_{i}", _sql(name)) for i, name in enumerate(dict.fromkeys(by))]


def aliases(groups: Sequence[Group]) -> str:
    """Return the aliases as a SQL list."""
    return ", ".join(group.alias for group in groups)


def create_grouped(con: DuckDBPyConnection, groups: Sequence[Group]) -> None:
    """Create the view `grouped`: the scores with the group columns under their aliases.

    Aliases keep a group column apart from a metric of the same name, as `success` is both.
    """
    named = "".join(f", {group.sql} AS {group.alias}" for group in groups)
    con.execute(f"CREATE OR REPLACE TEMP VIEW grouped AS SELECT *{named} FROM scores")


def named(rows: pl.DataFrame, groups: Sequence[Group]) -> pl.DataFrame:
    """Return rows with the aliases turned back into names, group columns first and typed."""
    return rows.select(
        *(pl.col(group.alias).cast(_dtype(group.name)).alias(group.name) for group in groups),
        pl.exclude([group.alias for group in groups]),
    )


def quoted(name: str) -> str:
    """Return a name as a SQL identifier.

    >>> print(quoted('say "hi"'))
    "say ""hi\"""
    """
    return '"' + name.replace('"', '""') + '"'


def _sql(name: str) -> str:
    if name in ScoreKeys.columns:
        return quoted(name)
    if not name.startswith(LABEL) or name == LABEL:
        raise UnknownNameError.among("group column", name, [*ScoreKeys.names(), f"{LABEL}NAME"])
    # A JSON pointer takes any key: only its own two characters need escaping.
    key = name.removeprefix(LABEL).replace("~", "~0").replace("/", "~1").replace("'", "''")
    return f"json_extract_string({ScoreKeys.labels.name}, '/{key}')"


def _dtype(name: str) -> pl.DataType | type[pl.DataType]:
    return ScoreKeys.columns[name].dtype if name in ScoreKeys.columns else pl.String
