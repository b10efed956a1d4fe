"""Comparison over an engine: tasks sum their runs per task of both arms, the driver pairs the sums."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pipeline.current import Current, current, policy_of
from pipeline.duck import connect, fetched
from pipeline.engines.arms import Arms, Begin, Count, Part, Sum
from pipeline.engines.packed import exact, received, sent
from pipeline.engines.parts import SECONDS_PER_ROW, RunsKnown, refuse_subquery
from pipeline.engines.shelf import address
from pipeline.engines.units import plan
from pipeline.lake import Lake
from pipeline.tables import arms, pairing, spreads
from pipeline.tables.scales import amounts

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    import polars as pl

    from pipeline.engines import Engine, Unit
    from pipeline.lake import Folder
    from pipeline.metrics.metric import Metric
    from pipeline.policy import Policy
    from pipeline.tables.arms import Asked, Opened
    from pipeline.tables.pairing import Pair
    from pipeline.tables.spreads import Key, Spread

    States = dict[str, tuple[Policy, Current]]


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
    batches = lake.batches()
    states = {p.hash: (p, current(lake, p, batches)) for p in policies}
    said = states[policies[0].hash][1].opinions.metrics
    listed = arms.metrics_of(metrics, policies, said)
    question = Arms(
        address(lake), tuple(asked), where,
        {told: policy for told, (policy, _) in states.items()}, tuple(p.hash for p in policies),
        said,
    )  # fmt: skip
    units = _units(states, engine.unit_seconds)
    open_ended = tuple(metric.name for metric in amounts(listed))
    begun = list(engine.map_units(Begin(question, open_ended), units))
    counts = [
        (sum(n for n, _ in of_arm), sum(m for _, m in of_arm))
        for of_arm in zip(*(counts for counts, _ in begun), strict=True)
    ]
    found = arms.found_arms(asked, where, policies, states, counts)
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

        spread = spreads.spreads(con, listed, rows, pair, scales, count)
        tasks = fetched(con.table("tasks"))
    finally:
        con.close()
    return Compared(arms.Opened(con, found), listed, rows, spread, tasks)


def _units(states: States, at_least: float) -> list[Unit]:
    """Cut the lake into parts; even an empty lake is one, whose tables are empty."""
    (_, state), *_ = states.values()
    known = RunsKnown(state)
    batches = [batch for batch in state.batches if batch.rows("runs")]
    scores = {
        told: {folder.manifest["batch"]: folder.name for folder in state.scores}
        for told, (_, state) in states.items()
    }
    units: list[Unit] = []
    for unit in plan(batches, _seconds, at_least) or [[]]:
        names = [batch.name for batch in unit]
        of_policies = {
            told: [of[name] for name in names if name in of] for told, of in scores.items()
        }
        units.append([Part(names, of_policies, *known.of(names))])
    return units


def _seconds(batch: Folder) -> float:
    return batch.rows("runs") * SECONDS_PER_ROW
