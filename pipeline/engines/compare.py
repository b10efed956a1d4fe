"""Comparison over an engine: tasks sum their runs per task of both arms, the driver pairs the sums.

A task opens some batches with their scores and makes of them what `tables/pairing.py` and
`tables/spreads.py` make of a whole lake: rows that add up. Runs stay where they are.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from pipeline import queries
from pipeline.current import Current, current, policy_of
from pipeline.duck import connect
from pipeline.engines.parts import (
    SECONDS_PER_ROW,
    by_batch,
    exact,
    received,
    refuse_subquery,
    sent,
)
from pipeline.engines.shelf import address
from pipeline.engines.units import plan
from pipeline.errors import LakeError
from pipeline.lake import Lake, run_key_base
from pipeline.tables import arms, pairing, spreads
from pipeline.tables.arm_runs import create_arm_runs, value_of
from pipeline.tables.fixed_point import amounts

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from duckdb import DuckDBPyConnection

    from pipeline.engines import Engine, Unit
    from pipeline.lake import Folder
    from pipeline.metrics.metric import Metric
    from pipeline.opinions import Opinions
    from pipeline.policy import Policy
    from pipeline.tables.arms import Asked, Opened
    from pipeline.tables.pairing import Pair
    from pipeline.tables.spreads import Key, Spread

    States = dict[str, tuple[Policy, Current]]


class Part(NamedTuple):
    """Some batches, their scores under each policy, by name; runs readers skip, what is said."""

    batches: list[str]
    scores: dict[str, list[str]]
    superseded: list[int]
    opinions: Opinions


class _Some(Lake):
    """A lake of which some batches are seen."""

    def __init__(self, path: str, batches: Sequence[Folder]) -> None:
        super().__init__(path)
        self._some = list(batches)

    def batches(self) -> list[Folder]:
        """Return those."""
        return self._some


@dataclass(frozen=True)
class Arms:
    """The arms of a comparison, as asked for."""

    lake: str
    asked: tuple[Asked, ...]
    where: str | None
    policies: dict[str, Policy]
    """By hash."""
    of_arms: tuple[str, ...]
    """Each arm's."""
    opinions: tuple[Metric, ...]

    def metrics(self, names: Sequence[str]) -> list[Metric]:
        """Return the metrics of these names."""
        return arms.metrics_of(names, [self.policies[told] for told in self.of_arms], self.opinions)

    @contextmanager
    def opened(self, part: Part) -> Iterator[tuple[DuckDBPyConnection, list[tuple[int, int]]]]:
        """Open DuckDB with the view `arm_runs` of a part; say how many runs each arm has."""
        whole = Lake.open(self.lake)
        named = {batch.name: batch for batch in whole.batches()}
        if lost := [name for name in part.batches if name not in named]:
            raise LakeError(
                f"{self.lake}: batch {lost[0]} cannot be seen here: the lake must be at the same "
                "path, or URL, on every machine"
            )
        some = _Some(self.lake, [named[name] for name in part.batches])
        states = []
        for told, policy in self.policies.items():
            known = {folder.name: folder for folder in whole.scores(told)}
            scores = [known[name] for name in part.scores[told]]
            done = {folder.manifest["batch"] for folder in scores}
            unscored = [b for b in some.batches() if b.rows("runs") and b.name not in done]
            states.append((policy, Current(scores, unscored, part.superseded, part.opinions)))
        con = connect(int(os.environ.get("TRAJTAB_THREADS") or 0) or None, macros=False)
        try:
            sides = arms.sides_of(self.asked, self.of_arms, self.where)
            yield con, create_arm_runs(con, some, states, sides)
        finally:
            con.close()


@dataclass(frozen=True)
class Begin:
    """Count the runs of each arm, and find the ends of what is measured in amounts."""

    arms: Arms
    amounts: tuple[str, ...]

    def __call__(self, part: Part) -> tuple[list[tuple[int, int]], bytes]:
        """Return the counts, and two rows that stand for all."""
        with self.arms.opened(part) as (con, counts):
            ends = " UNION ALL ".join(
                f"SELECT {', '.join((*(f'{e}({v}) AS {v}' for v in values), '1 AS n'))} FROM arm_runs"  # noqa: S608 - registry names
                for values in [[value_of(name) for name in self.amounts]]
                for e in ("min", "max")
            )
            return counts, sent(con.sql(ends))


@dataclass(frozen=True)
class Sum:
    """Sum the runs of each task in either arm."""

    arms: Arms
    metrics: tuple[str, ...]
    scales: dict[str, float]
    pair: Pair

    def __call__(self, part: Part) -> bytes:
        """Return rows of the table `parts`."""
        with self.arms.opened(part) as (con, _):
            con.execute(queries.read("tables/fixed_point"))
            return sent(
                con.sql(pairing.parts(con, self.arms.metrics(self.metrics), self.scales, self.pair))
            )


@dataclass(frozen=True)
class Count:
    """Count the values of some metrics, of all runs of the arms or of those that are paired."""

    arms: Arms
    metrics: tuple[str, ...]
    shared: bytes | None

    def __call__(self, part: Part) -> bytes:
        """Return rows of the table `tuples`."""
        with self.arms.opened(part) as (con, _):
            source = "arm_runs"
            if self.shared is not None:
                exact(con, "shared", received([self.shared]))
                source = spreads.only_shared(con)
            return sent(con.sql(spreads.tuples(self.arms.metrics(self.metrics), source)))


class Compared(NamedTuple):
    """What a comparison is made from."""

    arms: Opened
    metrics: list[Metric]
    rows: pl.DataFrame
    spread: dict[Key, Spread]
    tasks: pl.DataFrame


def compared(
    engine: Engine,
    lake: Lake | str | os.PathLike[str],
    asked: Sequence[Asked],
    where: str | None,
    metrics: Sequence[str] | None,
    pair: Pair,
) -> Compared:
    """Return what `compare` rests on, summed by tasks of an engine.

    Raises:
        InputError: a filter matches no run, or has a query in it, which a part would answer.
        QueryError: DuckDB refuses a filter.
    """
    lake = lake if isinstance(lake, Lake) else Lake.open(lake)
    for arm in asked:
        refuse_subquery(arm.filter, f"--{arm.name}")
    refuse_subquery(where)
    policies = [policy_of(lake, arm.policy) for arm in asked]
    states = {p.hash: (p, current(lake, p)) for p in policies}
    said = states[policies[0].hash][1].opinions.metrics
    listed = arms.metrics_of(metrics, policies, said)
    question = Arms(
        address(lake), tuple(asked), where,
        {told: policy for told, (policy, _) in states.items()}, tuple(p.hash for p in policies),
        said,
    )  # fmt: skip
    units = _units(lake, states, engine.unit_seconds)
    open_ended = tuple(metric.name for metric in amounts(listed))
    begun = list(engine.map_units(Begin(question, open_ended), units))
    counts = [
        (sum(n for n, _ in of_arm), sum(m for _, m in of_arm))
        for of_arm in zip(*(counts for counts, _ in begun), strict=True)
    ]
    found = arms.found_arms(lake, asked, where, policies, states, counts)
    con = connect(macros=False)
    try:
        exact(con, "arm_runs", received(ends for _, ends in begun))
        scales = pairing.scales_of(con, listed)
        work = Sum(question, tuple(metric.name for metric in listed), scales, pair)
        exact(con, "parts", received(engine.map_units(work, units)))
        rows = pairing.pairs(con, listed, scales, pair)

        def count(some: Sequence[Metric], *, shared: bool) -> None:
            told = sent(con.table("shared")) if shared else None
            work = Count(question, tuple(metric.name for metric in some), told)
            exact(con, "tuples", received(engine.map_units(work, units)))

        spread = spreads.spreads(con, listed, rows, scales, count)
        tasks = con.table("tasks").pl()
    finally:
        con.close()
    return Compared(arms.Opened(con, found), listed, rows, spread, tasks)


def _units(lake: Lake, states: States, at_least: float) -> list[Unit]:
    """Cut the lake into parts; even an empty lake is one, whose tables are empty."""
    (_, state), *_ = states.values()
    gone = by_batch(pl.DataFrame({"run_key": state.superseded}, schema={"run_key": pl.UInt64}))
    said = by_batch(state.opinions.columns)
    batches = [batch for batch in lake.batches() if batch.rows("runs")]
    scores = {
        told: {folder.manifest["batch"]: folder.name for folder in state.scores}
        for told, (_, state) in states.items()
    }
    units: list[Unit] = []
    for unit in plan(batches, _seconds, at_least) or [[]]:
        names = [batch.name for batch in unit]
        bases = [run_key_base(name) for name in names]
        none = state.opinions.columns.clear()
        columns = pl.concat([none, *(said[base] for base in bases if base in said)])
        part = Part(
            names,
            {told: [of[name] for name in names if name in of] for told, of in scores.items()},
            [key for base in bases if base in gone for key in gone[base]["run_key"]],
            state.opinions._replace(columns=columns),
        )
        units.append([part])
    return units


def _seconds(batch: Folder) -> float:
    return batch.rows("runs") * SECONDS_PER_ROW
