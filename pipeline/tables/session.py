"""What every table does first and last: open the scores that count, and say what they leave out."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from pipeline.current import Current, policy_of
from pipeline.duck import REFUSED
from pipeline.errors import QueryError
from pipeline.lake import Lake
from pipeline.metrics.registry import chosen
from pipeline.score_view import score_session
from pipeline.text import counted, refusal

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from duckdb import DuckDBPyConnection

    from pipeline.metrics.metric import Metric
    from pipeline.policy import Policy


NO_RUN = "the lake holds no run: `trajtab land LOGS --lake LAKE` brings some in"


class Session(NamedTuple):
    """A DuckDB connection with the view `scores`, the policy, and notes for the person."""

    con: DuckDBPyConnection
    policy: Policy
    notes: list[str]
    opinions: Sequence[Metric] = ()
    """The metrics of what judges and people say in this lake."""

    def metrics(self, names: Sequence[str] | None) -> list[Metric]:
        """Return the metrics of these names, each once; without names the headline set."""
        wanted = list(dict.fromkeys(names)) if names else None
        return chosen(wanted, self.policy, self.opinions)


@contextmanager
def opened(
    lake: Lake | str | os.PathLike[str],
    policy: str | os.PathLike[str] | None = None,
    where: str | None = None,
) -> Iterator[Session]:
    """Open the scores of a lake under a policy, filtered by the SQL `where`.

    Raises:
        QueryError: DuckDB fails on `where` while it reads.
    """
    lake = lake if isinstance(lake, Lake) else Lake.open(lake)
    in_use = policy_of(lake, policy)
    con, state = score_session(lake, in_use, where)
    try:
        with naming_filter(where):
            notes = [*told_of(in_use, state, policy), *unmatched(con, where, "scores")]
            yield Session(con, in_use, notes, state.opinions.metrics)
    finally:
        con.close()


@contextmanager
def naming_filter(where: str | None) -> Iterator[None]:
    """Turn DuckDB's failure on a filter into a sentence.

    Raises:
        QueryError: it fails on `where` while it reads.
    """
    try:
        yield
    except REFUSED as error:
        # Without a filter no text of the user's is in the query: the fault is ours.
        if where is None:
            raise
        raise QueryError(f"--where {where!r}: {refusal(error, where)}") from error


def told_of(
    policy: Policy, state: Current, named: str | os.PathLike[str] | None = None
) -> list[str]:
    """Return what every table says first: its policy, and what it leaves out."""
    empty = not state.scores and not state.unscored
    return [f"policy: {policy.title}", *([NO_RUN] if empty else unscored(state, named))]


def unmatched(con: DuckDBPyConnection, where: str | None, runs: str) -> list[str]:
    """Return a note where the filter left no row of a table that counts runs."""
    if where is None or con.sql(f"SELECT 1 FROM {runs} LIMIT 1").fetchall():  # noqa: S608 - ours
        return []
    return [f"no scored run matches --where {where!r}"]


def unscored(state: Current, named: str | os.PathLike[str] | None = None) -> list[str]:
    """Return a note on the batches without scores, if there are any, under the policy `named`."""
    missing, batches = len(state.unscored), len(state.unscored) + len(state.scores)
    if not missing:
        return []
    are = "is" if missing == 1 else "are"
    return [f"{missing} of {counted(batches, 'batch')} {are} not scored yet: {scoring(named)}"]


def scoring(named: str | os.PathLike[str] | None) -> str:
    """Say how the scores are made that a table misses: without its policy others would be.

    >>> scoring(None), scoring("preset:adk")
    ('run `trajtab score`', 'run `trajtab score` with --policy preset:adk')
    """
    under = "" if named is None else f" with --policy {os.fspath(named)}"
    return f"run `trajtab score`{under}"
