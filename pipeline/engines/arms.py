"""The arms of a comparison in some batches of a lake: what tasks open, and what they sum there.

A task makes of its batches what `tables/pairing.py` and `tables/spreads.py` make of a whole lake:
rows that add up. Runs stay where they are.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from pipeline import queries
from pipeline.current import Current
from pipeline.engines.packed import exact, received, sent
from pipeline.engines.parts import seen, task_connection
from pipeline.lake import Lake
from pipeline.tables import arms, pairing, spreads
from pipeline.tables.arm_runs import create_arm_runs, value_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from duckdb import DuckDBPyConnection

    from pipeline.metrics.metric import Metric
    from pipeline.opinions import Opinions
    from pipeline.policy import Policy
    from pipeline.tables.arms import Asked
    from pipeline.tables.pairing import Pair


class Part(NamedTuple):
    """Some batches, their scores under each policy, by name; runs readers skip, what is said."""

    batches: list[str]
    scores: dict[str, list[str]]
    superseded: list[int]
    opinions: Opinions


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
        batches = seen(self.lake, "batch", whole.batches(), part.batches)
        states = []
        for told, policy in self.policies.items():
            scores = seen(self.lake, "scores", whole.scores(told), part.scores[told])
            done = {folder.manifest["batch"] for folder in scores}
            unscored = [b for b in batches if b.rows("runs") and b.name not in done]
            state = Current(scores, unscored, part.superseded, batches, part.opinions)
            states.append((policy, state))
        sides = arms.sides_of(self.asked, self.of_arms, self.where)
        with task_connection() as con:
            yield con, create_arm_runs(con, states, sides)


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
