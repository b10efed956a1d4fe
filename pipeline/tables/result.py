"""What every table command returns: a kind, rows, and notes for the person."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl


class Result(NamedTuple):
    """A table. `notes` say what the rows cannot: unscored batches, few values, the policy in use.

    A comparison and a gate have more to say: further `tables` by name, and `facts` about the whole
    (verdict, seed, hashes of what went in). Other results have none.
    """

    kind: str
    rows: pl.DataFrame
    notes: list[str]
    tables: Mapping[str, pl.DataFrame] = {}
    facts: Mapping[str, Any] = {}
