"""Rows on their way from tasks to the driver: Arrow, packed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Iterable

    from duckdb import DuckDBPyConnection, DuckDBPyRelation


def sent(relation: DuckDBPyRelation) -> bytes:
    """Run a relation and return its rows, packed."""
    table = relation.to_arrow_table()
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(
        sink, table.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")
    ) as writer:
        writer.write_table(table)
    found: bytes = sink.getvalue().to_pybytes()
    return found


def received(packed: Iterable[bytes]) -> pa.Table:
    """Return the rows of several parts, one below the other."""
    return pa.concat_tables([pa.ipc.open_stream(part).read_all() for part in packed])


def exact(con: DuckDBPyConnection, name: str, rows: pa.Table) -> None:
    """Create a table of rows that came as Arrow, where a HUGEINT is a decimal: make it one again."""
    con.register("_came", rows)
    columns = ", ".join(_exact(field) for field in rows.schema)
    con.execute(f"CREATE OR REPLACE TEMP TABLE {name} AS SELECT {columns} FROM _came")  # noqa: S608 - names of ours
    con.unregister("_came")


def _exact(field: pa.Field) -> str:
    name = '"' + field.name.replace('"', '""') + '"'
    if pa.types.is_struct(field.type):
        parts = ", ".join(f"'{part.name}': {name}.{part.name}{_huge(part)}" for part in field.type)
        return f"{{{parts}}} AS {name}"
    return f"{name}{_huge(field)} AS {name}"


def _huge(field: pa.Field) -> str:
    return "::HUGEINT" if pa.types.is_decimal(field.type) else ""
