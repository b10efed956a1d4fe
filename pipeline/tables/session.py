"""What every table does first and last: open the scores that count, and say what they leave out."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

import duckdb

from pipeline.current import Current, policy_of, score_session
from pipeline.errors import QueryError
from pipeline.lake import Lake

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator


class Session(NamedTuple):
    """A DuckDB connection with the view `scores`, and notes for the person."""

    con: duckdb.DuckDBPyConnection
    notes: list[str]


@contextmanager
def opened(
    lake: Lake | str | os.PathLike[str], policy: str | None = None, where: str | None = None
) -> Iterator[Session]:
    """Open the scores of a lake under a policy, filtered by the SQL `where`.

    Raises:
        QueryError: DuckDB fails on `where` while it reads.
    """
    lake = lake if isinstance(lake, Lake) else Lake.open(lake)
    chosen = policy_of(lake, policy)
    con, state = score_session(lake, chosen, where)
    try:
        yield Session(con, [f"policy: {chosen.title}", *unscored(state)])
    except (duckdb.DataError, duckdb.ProgrammingError) as error:
        # Without a filter no text of the user's is in the query: the fault is ours.
        if where is None:
            raise
        raise QueryError(f"--where {where!r}: {str(error).splitlines()[0]}") from error
    finally:
        con.close()


def unscored(state: Current) -> list[str]:
    """Return a note on the batches without scores, if there are any."""
    missing, batches = len(state.unscored), len(state.unscored) + len(state.scores)
    if not missing:
        return []
    are = "is" if missing == 1 else "are"
    return [f"{missing} of {batches} batches {are} not scored yet: run `trajtab score`"]
