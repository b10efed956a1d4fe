"""Which way a metric is better, beside every row about it, where people read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pipeline.tables.result import Result


def directed(result: Result) -> Result:
    """Add the column `better` to the tables of metrics; null where it is neither.

    A format for programs has it once, as `better` of JSON: rows stay as they are.

    >>> from pipeline.tables.result import Result
    >>> rows = pl.DataFrame({"metric": ["f1", "n_turns"]})
    >>> directed(Result("aggregate", rows, [], better={"f1": "higher"})).rows.rows()
    [('f1', 'higher'), ('n_turns', None)]
    """
    if not result.better:
        return result
    tables = {name: _directed(table, result.better) for name, table in result.tables.items()}
    return result._replace(rows=_directed(result.rows, result.better), tables=tables)


def _directed(rows: pl.DataFrame, better: Mapping[str, str]) -> pl.DataFrame:
    if "metric" not in rows.columns or "better" in rows.columns:
        return rows
    told = pl.col("metric").replace_strict(better, default=None, return_dtype=pl.String)
    return rows.with_columns(told.alias("better"))
