"""Which user turns are compared with which: turn i of a run with turn i of its reference."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from pipeline.scoring.matching.references import Expected
    from pipeline.scoring.segments import Segments

MOST_TURNS = 100_000
"""Below, a number counts turns: those before it are turns too, in which nothing happened. From here
on it is a name, a clock's or an id's, which says of turns only which comes first."""


def of_steps(told: pl.Series, runs: Segments) -> pl.Series:
    """Return the turn of each step. One that tells none is in turn 0: the first, where these are names."""
    turn = told.cast(pl.Int64)
    if not turn.null_count():
        return turn
    had = runs.lists(turn).to_frame("had")
    first = pl.when(pl.col("had").list.max() >= MOST_TURNS).then(pl.col("had").list.min())
    return turn.zip_with(
        turn.is_not_null(), had.select(first.fill_null(0)).to_series()[runs.owners]
    )


def laid_out(rows: pl.DataFrame, had: pl.Series, expected: Expected) -> pl.DataFrame:
    """Give each run and alternative a row per turn: `turn` of the reference, `made` of the run.

    Where a side names its turns, they are numbered by their order, from 0; where both do, by their
    order together. Null is no turn of that side.

    Args:
        rows: one row per run and alternative, with run, reference_set, reference_id and n_turns.
        had: for each run the turns that its steps are in.
        expected: what the alternatives expect, turn by turn.
    """
    rows = rows.with_columns(had[rows["run"]].alias("had")).with_columns(
        (pl.col("had").list.max() + 1).fill_null(1).alias("n_had")
    )
    until = pl.max_horizontal("n_turns", "n_had")
    turns = pl.int_ranges(0, until, dtype=pl.Int64)
    if rows.select((until <= MOST_TURNS).all()).item():
        return rows.with_columns(turns.alias("turn")).explode("turn").with_columns(made="turn")
    return _named(rows, expected)


def _named(rows: pl.DataFrame, expected: Expected) -> pl.DataFrame:
    """Lay out turns of which some are names."""
    ends = ["reference_set", "reference_id"]
    asked = expected.refs.group_by(ends).agg(pl.col("turn").unique().alias("asked"))
    none = pl.lit([], dtype=pl.List(pl.Int64))
    rows = rows.join(asked, on=ends, how="left", maintain_order="left").with_columns(
        pl.col("asked").fill_null(none), pl.col("had").list.unique().fill_null(none)
    )
    is_named = {"had": pl.col("n_had") > MOST_TURNS, "asked": pl.col("n_turns") > MOST_TURNS}
    both = is_named["had"] & is_named["asked"]
    together = pl.col("had").list.set_union("asked")
    ordered = {
        side: pl.when(both).then(together).otherwise(side).list.sort().alias(side)
        for side in ("had", "asked")
    }
    n_turns = pl.max_horizontal(
        pl.when(is_named["had"]).then(pl.col("had").list.len()).otherwise("n_had"),
        pl.when(is_named["asked"]).then(pl.col("asked").list.len()).otherwise("n_turns"),
    )
    rows = rows.with_columns(*ordered.values())
    rows = rows.with_columns(pl.int_ranges(0, n_turns, dtype=pl.Int64).alias("order"))

    def of(side: str) -> pl.Expr:
        order = pl.col("order")
        named = pl.col(side).list.gather(order, null_on_oob=True)
        return pl.when(is_named[side]).then(named).otherwise(order)

    return rows.with_columns(of("asked").alias("turn"), of("had").alias("made")).explode(
        "turn", "made"
    )
