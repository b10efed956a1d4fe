"""Score folders as parts of a table's work: each task opens some, and sums them.

Tasks and the driver run the same SQL. What tasks send is Arrow: groups and tasks, never runs.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import polars as pl
import pyarrow as pa

from pipeline.current import Current, create_scores, current, policy_of
from pipeline.duck import connect
from pipeline.engines.shelf import address
from pipeline.engines.units import plan
from pipeline.errors import InputError, LakeError
from pipeline.lake import KEY_ROWS, Lake, run_key_base
from pipeline.tables.groups import create_grouped
from pipeline.tables.session import naming_filter, told_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from duckdb import DuckDBPyConnection, DuckDBPyRelation

    from pipeline.engines import Engine
    from pipeline.lake import Folder
    from pipeline.metrics.metric import Metric
    from pipeline.opinions import Opinions
    from pipeline.policy import Policy
    from pipeline.tables.groups import Group

SECONDS_PER_ROW = 1e-6
"""What summing a row of scores takes, to plan parts by (docs/performance.md)."""


class Part(NamedTuple):
    """Some score folders, by name, the runs in them that readers skip, and what is said of them."""

    folders: list[str]
    superseded: list[int]
    opinions: Opinions


@dataclass(frozen=True)
class Scores:
    """The scores of a lake under a policy, filtered."""

    lake: str
    policy: Policy
    where: str | None

    @contextmanager
    def grouped(self, part: Part, groups: Sequence[Group]) -> Iterator[DuckDBPyConnection]:
        """Open DuckDB with the views `scores` and `grouped` of a part."""
        known = {folder.name: folder for folder in Lake.open(self.lake).scores(self.policy.hash)}
        lost = [name for name in part.folders if name not in known]
        if lost:
            raise LakeError(
                f"{self.lake}: scores {lost[0]} cannot be seen here: the lake must be at the same "
                "path, or URL, on every machine"
            )
        con = connect(int(os.environ.get("TRAJTAB_THREADS") or 0) or None, macros=False)
        try:
            folders = [known[name] for name in part.folders]
            state = Current(folders, [], part.superseded, part.opinions)
            create_scores(con, state, self.policy, self.where)
            create_grouped(con, groups)
            with naming_filter(self.where):
                yield con
        finally:
            con.close()


class Asked(NamedTuple):
    """A question to the scores of a lake: where they are, their parts, and what to say first."""

    scores: Scores
    units: list[list[Part]]
    rows: int
    opinions: tuple[Metric, ...]
    notes: list[str]


def asked(
    engine: Engine, lake: Lake | str | os.PathLike[str], policy: str | None, where: str | None
) -> Asked:
    """Plan a question to all scores of a lake that count.

    Raises:
        InputError: `where` looks at other runs than its own, which no part holds.
    """
    lake = lake if isinstance(lake, Lake) else Lake.open(lake)
    in_use = policy_of(lake, policy)
    state = current(lake, in_use)
    refuse_subquery(where)
    units = [[part] for part in _parts(state, engine.unit_seconds)]
    rows = sum(folder.rows("scores") for folder in state.scores)
    scores = Scores(address(lake), in_use, where)
    return Asked(scores, units, rows, state.opinions.metrics, told_of(in_use, state))


def _parts(state: Current, at_least: float) -> list[Part]:
    """Cut the scores into parts; even none are one part, whose tables are empty."""
    gone = by_batch(pl.DataFrame({"run_key": state.superseded}, schema={"run_key": pl.UInt64}))
    said = by_batch(state.opinions.columns)
    parts = []
    for unit in plan(state.scores, _seconds, at_least) or [[]]:
        bases = [run_key_base(folder.manifest["batch"]) for folder in unit]
        superseded = [key for base in bases if base in gone for key in gone[base]["run_key"]]
        columns = [said[base] for base in bases if base in said]
        opinions = state.opinions._replace(
            columns=pl.concat([state.opinions.columns.clear(), *columns])
        )
        parts.append(Part([folder.name for folder in unit], superseded, opinions))
    return parts


def by_batch(rows: pl.DataFrame) -> dict[int, pl.DataFrame]:
    """Cut rows with a run_key by the first run_key of the batch."""
    base = pl.col("run_key") // (1 << KEY_ROWS) * (1 << KEY_ROWS)
    found = rows.with_columns(_base=base).partition_by("_base", as_dict=True, include_key=False)
    return {int(key): part for (key,), part in found.items()}


def _seconds(scores: Folder) -> float:
    return scores.rows("scores") * SECONDS_PER_ROW


def refuse_subquery(where: str | None, option: str = "--where") -> None:
    """Refuse a condition that looks at other runs: a part of them would answer it otherwise.

    Raises:
        InputError: it has a query or a window function in it.

    >>> refuse_subquery("f1 > 0.5 AND model = 'select'")
    >>> refuse_subquery("f1 > (SELECT avg(f1) FROM scores)")
    Traceback (most recent call last):
    ...
    pipeline.errors.InputError: --where 'f1 > (SELECT avg(f1) FROM scores)': ...
    """
    if where is None:
        return
    con = connect(macros=False)
    try:
        told = con.execute(
            "SELECT json_serialize_sql(?)", [f"SELECT 1 WHERE ({where}\n)"]
        ).fetchall()
    finally:
        con.close()
    for mark, name in (("SUBQUERY", "query"), ("WINDOW", "window function")):
        if f'"class":"{mark}"' in told[0][0]:
            raise InputError(
                f"{option} {where!r}: a {name} in it looks at all runs, and a task sees some: "
                "use --engine local"
            )


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
