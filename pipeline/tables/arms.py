"""The arms of a comparison: the runs that filters pick, with their scores under a policy each.

An arm is a filter over the columns of runs, so that versions, models, labels, days, or two
policies of the same runs can be compared.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from xxhash import xxh3_128_hexdigest

from pipeline.current import current, policy_of
from pipeline.duck import connect, refuse_no_condition
from pipeline.errors import InputError
from pipeline.lake import Lake
from pipeline.metrics.registry import METRICS_VERSION, chosen
from pipeline.tables.arm_runs import ARMS, Side, create_arm_runs
from pipeline.tables.session import NO_RUN, scoring
from pipeline.text import counted

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Sequence

    from duckdb import DuckDBPyConnection

    from pipeline.current import Current
    from pipeline.metrics.metric import Metric
    from pipeline.policy import Policy

BASELINE, CANDIDATE = ARMS


class Asked(NamedTuple):
    """One arm as asked for: its name, its filter over runs (None: all), its policy."""

    name: str
    filter: str | None = None
    policy: str | os.PathLike[str] | None = None


class Arm(NamedTuple):
    """One arm as found: how many runs, under which policy, and the hash of all it is made from."""

    name: str
    filter: str | None
    policy: Policy
    n_runs: int
    n_unscored: int
    hash: str
    named: str | os.PathLike[str] | None = None
    """The policy as it was asked for."""


class Opened(NamedTuple):
    """A DuckDB connection with the arms in it.

    The view `runs` has the runs that count; `arm_runs` those of any arm, with their scores: see
    `arm_runs.create_arm_runs`.
    """

    con: DuckDBPyConnection
    arms: list[Arm]
    opinions: Sequence[Metric] = ()
    """The metrics of what judges and people say in this lake."""

    def metrics(self, names: Sequence[str] | None) -> list[Metric]:
        """Return the metrics of these names; without names those headline metrics all arms have."""
        return metrics_of(names, [arm.policy for arm in self.arms], self.opinions)

    @property
    def notes(self) -> list[str]:
        """What the person must know of the arms: runs, policies, and what is not scored."""
        told = [
            f"{arm.name}: {counted(arm.n_runs, 'run')} where {arm.filter or 'true'}"
            for arm in self.arms
        ]
        titles = [arm.policy.title for arm in self.arms]
        if len(set(titles)) == 1:
            told.append(f"policy: {titles[0]}")
        else:
            told += [f"{arm.name} policy: {arm.policy.title}" for arm in self.arms]
        return told + [
            f"{arm.n_unscored:,} of the {arm.name}'s {counted(arm.n_runs, 'run')} not scored yet "
            f"under its policy: {scoring(arm.named)}"
            for arm in self.arms
            if arm.n_unscored
        ]


def metrics_of(
    names: Sequence[str] | None, policies: Sequence[Policy], opinions: Sequence[Metric]
) -> list[Metric]:
    """Return the metrics of these names that all policies have; without names the headline ones."""
    wanted = list(dict.fromkeys(names)) if names else None
    first, *others = ({m.name: m for m in chosen(wanted, policy, opinions)} for policy in policies)
    return [m for name, m in first.items() if all(name in other for other in others)]


@contextmanager
def opened_arms(
    lake: Lake | str | os.PathLike[str], asked: Sequence[Asked], where: str | None = None
) -> Iterator[Opened]:
    """Open the arms of a lake; `where` is a filter for all of them.

    Raises:
        InputError: a filter matches no run, or is more than one condition.
        QueryError: DuckDB refuses a filter.
    """
    lake = lake if isinstance(lake, Lake) else Lake.open(lake)
    con = connect(macros=False)
    try:
        arms, opinions = _arms(con, lake, asked, where)
        yield Opened(con, arms, opinions)
    finally:
        con.close()


def _arms(
    con: DuckDBPyConnection, lake: Lake, asked: Sequence[Asked], where: str | None
) -> tuple[list[Arm], Sequence[Metric]]:
    policies = [policy_of(lake, arm.policy) for arm in asked]
    distinct = {policy.hash: policy for policy in policies}
    batches = lake.batches()
    known = {name: (p, current(lake, p, batches)) for name, p in distinct.items()}
    sides = sides_of(asked, [policy.hash for policy in policies], where)
    counts = create_arm_runs(con, list(known.values()), sides)
    opinions = known[policies[0].hash][1].opinions.metrics
    return found_arms(asked, where, policies, known, counts), opinions


def sides_of(asked: Sequence[Asked], policies: Sequence[str], where: str | None) -> list[Side]:
    """Return arms as they are to be found, each under the policy of a hash.

    Raises:
        InputError: a filter is blank.
    """
    refuse_no_condition("--where", where)
    for arm in asked:
        refuse_no_condition(f"--{arm.name}", arm.filter)
    return [
        Side(arm.name, policy, _named(arm, where), _condition(arm, where))
        for arm, policy in zip(asked, policies, strict=True)
    ]


def found_arms(
    asked: Sequence[Asked],
    where: str | None,
    policies: Sequence[Policy],
    known: dict[str, tuple[Policy, Current]],
    counts: Sequence[tuple[int, int]],
) -> list[Arm]:
    """Return arms as found, from their numbers of runs and of unscored ones.

    Raises:
        InputError: one matches no run.
    """
    found = []
    for arm, policy, (n_runs, n_unscored) in zip(asked, policies, counts, strict=True):
        if not n_runs:
            state = known[policy.hash][1]
            there = sum(batch.rows("runs") for batch in state.batches) - len(state.superseded)
            of_them = f" of the lake's {counted(there, 'run')}" if there else f": {NO_RUN}"
            raise InputError(f"{_named(arm, where)} matches none{of_them}")
        made_from = _hash(known[policy.hash][1], policy, (arm.filter, where))
        found.append(Arm(arm.name, arm.filter, policy, n_runs, n_unscored, made_from, arm.policy))
    return found


def _condition(arm: Asked, where: str | None) -> str:
    # A filter stands on lines of its own, so that a comment in it ends there.
    told = [f"(\n{text}\n)" for text in (where, arm.filter) if text is not None]
    # With AND a number is a condition, as it is where it filters: 1.5 is true.
    return " AND ".join([*told, "true"])


def _named(arm: Asked, where: str | None) -> str:
    return f"--{arm.name} {arm.filter or 'true'!r}" + (f" with --where {where!r}" if where else "")


def _hash(state: Current, policy: Policy, filters: tuple[str | None, str | None]) -> str:
    """Hash what an arm is made from: folders are named by their content."""
    folders = [folder.name for folder in (*state.batches, *state.scores)]
    folders += [state.opinions.hash] if state.opinions.metrics else []
    return xxh3_128_hexdigest(repr((filters, policy.hash, METRICS_VERSION, folders)).encode())
