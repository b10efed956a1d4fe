"""Score folders as parts of a table's work: each task opens some, and sums them.

Tasks and the driver run the same SQL. What tasks send is groups and tasks, never runs.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from pipeline.current import Current, current, policy_of
from pipeline.duck import connect, refuse_no_condition
from pipeline.engines.shelf import address
from pipeline.engines.units import plan
from pipeline.errors import InputError, LakeError
from pipeline.lake import KEY_ROWS, Lake, run_key_base
from pipeline.score_view import create_scores
from pipeline.tables.groups import create_grouped
from pipeline.tables.session import naming_filter, told_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from duckdb import DuckDBPyConnection

    from pipeline.engines import Engine
    from pipeline.lake import Folder
    from pipeline.metrics.metric import Metric
    from pipeline.opinions import Opinions
    from pipeline.policy import Policy
    from pipeline.tables.groups import Group

SECONDS_PER_ROW = 1e-6
"""What summing a row of scores takes, to plan parts by (docs/performance.md)."""


def seen(lake: str, what: str, there: Sequence[Folder], names: Iterable[str]) -> list[Folder]:
    """Return the folders of these names.

    Raises:
        LakeError: one of them is not there.
    """
    known = {folder.name: folder for folder in there}
    found = []
    for name in names:
        if name not in known:
            raise LakeError(
                f"{lake}: {what} {name} cannot be seen here: the lake must be at the same path, "
                "or URL, on every machine"
            )
        found.append(known[name])
    return found


@contextmanager
def task_connection() -> Iterator[DuckDBPyConnection]:
    """Open DuckDB with as many threads as this task was given."""
    con = connect(int(os.environ.get("TRAJTAB_THREADS") or 0) or None, macros=False)
    try:
        yield con
    finally:
        con.close()


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
        scored = Lake.open(self.lake).scores(self.policy.hash)
        folders = seen(self.lake, "scores", scored, part.folders)
        state = Current(folders, [], part.superseded, [], part.opinions)
        with task_connection() as con:
            create_scores(con, state, self.policy, self.where)
            create_grouped(con, groups)
            with naming_filter(self.where):
                yield con


class Asked(NamedTuple):
    """A question to the scores of a lake: where they are, their parts, and what to say first."""

    scores: Scores
    units: list[list[Part]]
    rows: int
    opinions: tuple[Metric, ...]
    notes: list[str]


def asked(
    engine: Engine,
    lake: Lake | str | os.PathLike[str],
    policy: str | os.PathLike[str] | None,
    where: str | None,
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
    return Asked(scores, units, rows, state.opinions.metrics, told_of(in_use, state, policy))


def _parts(state: Current, at_least: float) -> list[Part]:
    """Cut the scores into parts; even none are one part, whose tables are empty."""
    known = RunsKnown(state)
    return [
        Part(
            [folder.name for folder in unit], *known.of(folder.manifest["batch"] for folder in unit)
        )
        for unit in plan(state.scores, _seconds, at_least) or [[]]
    ]


class RunsKnown:
    """What a lake knows of single runs, cut by batch: which readers skip, and what is said."""

    def __init__(self, state: Current) -> None:
        gone = pl.DataFrame({"run_key": state.superseded}, schema={"run_key": pl.UInt64})
        self._opinions = state.opinions
        self._superseded = _by_batch(gone)
        self._said = _by_batch(state.opinions.columns)

    def of(self, batches: Iterable[str]) -> tuple[list[int], Opinions]:
        """Return the run_keys of some batches that readers skip, and the opinions on their runs."""
        bases = [run_key_base(batch) for batch in batches]
        gone = [self._superseded[base]["run_key"] for base in bases if base in self._superseded]
        said = [self._said[base] for base in bases if base in self._said]
        columns = pl.concat([self._opinions.columns.clear(), *said])
        return [key for keys in gone for key in keys], self._opinions._replace(columns=columns)


def _by_batch(rows: pl.DataFrame) -> dict[int, pl.DataFrame]:
    """Cut rows with a run_key by the first run_key of the batch."""
    base = pl.col("run_key") // (1 << KEY_ROWS) * (1 << KEY_ROWS)
    found = rows.with_columns(_base=base).partition_by("_base", as_dict=True, include_key=False)
    return {int(key): part for (key,), part in found.items()}


def _seconds(scores: Folder) -> float:
    return scores.rows("scores") * SECONDS_PER_ROW


def refuse_subquery(where: str | None, option: str = "--where") -> None:
    """Refuse a condition that looks at other runs: a part of them would answer it otherwise.

    Raises:
        InputError: it is blank, or has a query or a window function in it.

    >>> refuse_subquery("f1 > 0.5 AND model = 'select'")
    >>> refuse_subquery("f1 > (SELECT avg(f1) FROM scores)")
    Traceback (most recent call last):
    ...
    pipeline.errors.InputError: --where 'f1 > (SELECT avg(f1) FROM scores)': ...
    """
    refuse_no_condition(option, where)
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
