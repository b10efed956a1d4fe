"""Was what a tool returned used? Does something telling of it turn up later in the run?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Iterator

TELLING = r"\b\d+(?:\.\d+)?\b|\w{4,}"
"""A number, or a word of at least four characters; compared in lower case."""

RUNS_AT_ONCE = 4096
"""Tokens take much room; runs are looked at so many at a time."""


def outputs_used(steps: pl.DataFrame, run: pl.Series) -> pl.Series:
    """Tell of each tool call whether its output was used; null where no output was captured.

    An output is used if a token of it that is not in the call's own arguments occurs in a later
    model text, or in the arguments of a later call. `run`: of each step the number of its run.
    """
    needed = steps.select(
        pl.int_range(pl.len()).alias("row"),
        run.alias("run"),
        "kind", "tool_args", "output", "content",
    )  # fmt: skip
    used = [_used_rows(part) for part in _parts(needed)]
    rows = pl.concat([pl.Series(dtype=pl.Int64), *used])
    told = pl.when(pl.col("output").is_not_null()).then(pl.col("row").is_in(rows.implode()))
    return (
        needed.filter(pl.col("kind") == "tool_call").select(told.alias("output_used")).to_series()
    )


def _parts(steps: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """Yield the steps of some thousand runs at a time."""
    last = int(steps["run"].max() or 0)  # type: ignore[arg-type]  # a number or None
    for first in range(0, last + 1, RUNS_AT_ONCE):
        begin = steps["run"].search_sorted(first)
        end = steps["run"].search_sorted(first + RUNS_AT_ONCE)
        yield steps.slice(begin, end - begin)


def _used_rows(steps: pl.DataFrame) -> pl.Series:
    """Return the rows of the calls whose output was used."""
    is_call = pl.col("kind") == "tool_call"
    own = _tokens(pl.col("tool_args").fill_null(""))
    fresh = _tokens(pl.col("output")).list.set_difference(own)
    told = pl.when(is_call).then("tool_args").otherwise("content")
    given = steps.filter(is_call).select("row", "run", fresh.alias("token")).explode("token")
    said = (
        steps.filter(pl.col("kind") != "message")
        .select(pl.col("row").alias("said"), "run", _tokens(told).alias("token"))
        .explode("token")
        .unique(["run", "token"], keep="last", maintain_order=True)
    )
    met = given.join(said, on=["run", "token"])
    return met.filter(pl.col("said") > pl.col("row"))["row"].unique()


def _tokens(text: pl.Expr) -> pl.Expr:
    return text.str.to_lowercase().str.extract_all(TELLING).list.unique()
