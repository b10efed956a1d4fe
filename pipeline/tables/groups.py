"""Group columns: the score columns people group by, and labels as `labels.NAME`."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from pipeline.duck import fetched
from pipeline.errors import InputError, UnknownNameError
from pipeline.schema import ScoreKeys
from pipeline.text import is_utf8

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from duckdb import DuckDBPyConnection

LABEL = f"{ScoreKeys.labels.name}."


class Group(NamedTuple):
    """A group column: what the person calls it, its alias inside queries, its SQL.

    The alias is no identifier, so no metric can have it.
    """

    name: str
    alias: str
    sql: str


def groups_of(by: Iterable[str]) -> list[Group]:
    """Return the group columns of these names, each once.

    Raises:
        UnknownNameError: a name is neither a column of scores nor `labels.NAME`.
        InputError: a label's name is no UTF-8.

    >>> [group.sql for group in groups_of(["agent", "labels.it's a/b"])]
    ['"agent"', "json_extract_string(labels, '/it''s a~1b')"]
    """
    return [Group(name, f"by {i}", _sql(name)) for i, name in enumerate(dict.fromkeys(by))]


def unlabelled(rows: pl.DataFrame, by: Iterable[str]) -> list[str]:
    """Return a note on each label grouped by that no run has: a misspelt one makes one group.

    >>> unlabelled(pl.DataFrame({"labels.taem": [None], "labels.team": ["a"]}), ["labels.taem"])[0]
    "no run here has a label 'taem'; `trajtab sql LAKE 'SELECT DISTINCT unnest(json_keys(labels)) FROM runs'` lists those there are"
    """
    unused = (
        name.removeprefix(LABEL)
        for name in dict.fromkeys(by)
        if name.startswith(LABEL) and rows.height and rows[name].is_null().all()
    )
    listed = "`trajtab sql LAKE 'SELECT DISTINCT unnest(json_keys(labels)) FROM runs'` lists those there are"
    return [f"no run here has a label {name!r}; {listed}" for name in unused]


def create_grouped(con: DuckDBPyConnection, groups: Sequence[Group]) -> None:
    """Create the view `grouped`: the scores with the group columns under their aliases.

    Aliases keep a group column apart from a metric of the same name, as `success` is both.
    """
    own = "".join(f", {group.sql} AS {quoted(group.alias)}" for group in groups)
    con.sql(f"SELECT *{own} FROM scores").create_view("grouped")  # noqa: S608 - quoted names


def per_group(groups: Sequence[Group], columns: str, table: str = "grouped") -> str:
    """Return the query of one row per group of a table, numbered by value with nulls last.

    Without group columns all rows are one group, even no row.
    """
    by = aliases(groups)
    order = ", ".join(f"{quoted(group.alias)} NULLS LAST" for group in groups)
    keys = f"{by}, row_number() OVER (ORDER BY {order})" if groups else "1"
    of_group = f"GROUP BY {by}" if groups else ""
    return f"SELECT {keys} AS group_id, {columns} FROM {table} {of_group}"  # noqa: S608 - same


def same(groups: Sequence[Group], one: str, other: str) -> str:
    """Return the condition that rows of two tables are of one group."""
    names = (quoted(group.alias) for group in groups)
    return " AND ".join(f"{one}.{n} IS NOT DISTINCT FROM {other}.{n}" for n in names) or "true"


def aliases(groups: Sequence[Group]) -> str:
    """Return the aliases as a SQL list."""
    return ", ".join(quoted(group.alias) for group in groups)


def named(
    con: DuckDBPyConnection, rows: pl.DataFrame, table: str, groups: Sequence[Group]
) -> pl.DataFrame:
    """Return rows with the group columns that `table` has for their group_id, named and typed."""
    if not groups:
        return rows
    keys = fetched(con.table(table).project(f"group_id, {aliases(groups)}"))
    typed = (pl.col(group.alias).cast(_dtype(group.name)).alias(group.name) for group in groups)
    return rows.join(
        keys.select("group_id", *typed), on="group_id", how="left", maintain_order="left"
    )


def quoted(name: str) -> str:
    '''Return a name as a SQL identifier.

    >>> quoted('say "hi"')
    '"say ""hi"""'
    '''
    return '"' + name.replace('"', '""') + '"'


def _sql(name: str) -> str:
    if name in ScoreKeys.columns:
        return quoted(name)
    if not name.startswith(LABEL) or name == LABEL:
        raise UnknownNameError.among("group column", name, [*ScoreKeys.names(), f"{LABEL}NAME"])
    if not is_utf8(name):
        raise InputError(f"group column {name!r}: a label's name is UTF-8")
    # A JSON pointer takes any key: only its own two characters need escaping.
    key = name.removeprefix(LABEL).replace("~", "~0").replace("/", "~1").replace("'", "''")
    return f"json_extract_string({ScoreKeys.labels.name}, '/{key}')"


def _dtype(name: str) -> pl.DataType | type[pl.DataType]:
    return ScoreKeys.columns[name].dtype if name in ScoreKeys.columns else pl.String
