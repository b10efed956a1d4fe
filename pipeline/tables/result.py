"""What every table command returns: a kind, rows, and notes for the person."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import polars as pl


class Result(NamedTuple):
    """A table. `notes` say what the rows cannot: unscored batches, few values, the policy in use."""

    kind: str
    rows: pl.DataFrame
    notes: list[str]
