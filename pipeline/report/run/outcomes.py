"""What came of the calls of a few runs: did they fail, and what did they return?"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from pipeline.workbench import session

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pipeline.lake import Lake
    from pipeline.policy import Policy


class Outcome(NamedTuple):
    """What came of one call."""

    failed: bool | None
    said: str | None
    """The error's text, else the output. Neither redacted nor cut."""


Outcomes: TypeAlias = dict[tuple[int, int], Outcome]
"""By run_key and step_index."""


def outcomes(lake: Lake, run_keys: Sequence[int], policy: Policy) -> Outcomes:
    """Return what came of every call of these runs."""
    with closing(session(lake, policy, confined=False, macros=False)) as con:
        found = con.execute(
            "SELECT run_key, step_index, is_error, coalesce(error, output) FROM steps "
            "WHERE kind = 'tool_call' AND run_key IN (SELECT unnest($keys::UBIGINT[]))",
            {"keys": list(run_keys)},
        )
        return {(key, step): Outcome(failed, said) for key, step, failed, said in found.fetchall()}
