"""Human scores per run: the mean over the annotators in force, null where nobody judged."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import polars as pl

from pipeline.landed import opened
from pipeline.policy import DEFAULT
from pipeline.schema import DIMENSIONS, Annotations
from pipeline.workbench import select, session

if TYPE_CHECKING:
    import os

    from pipeline.lake import Lake

PREFIX = "human."
ITEMS = ("overall_quality", *DIMENSIONS)
"""What people score, 1 to 5."""
COLUMNS = {
    f"{PREFIX}{item}": f"{Annotations.columns[item].meaning.partition(';')[0]}; mean over annotators"
    for item in ITEMS
}
"""The columns and their meaning; the greater is the better."""

_SCHEMA = pl.Schema({"run_key": pl.UInt64(), **dict.fromkeys(COLUMNS, pl.Float64())})


def annotation_columns(lake: Lake | str | os.PathLike[str]) -> pl.DataFrame:
    """Return the human scores of runs: run_key (UInt64) and one Float64 column per item.

    A value is the sum of the scores of the annotators in force by their number: each annotator's
    latest word counts, and one who did not judge a dimension is not in its mean. From 1 to 5,
    higher is better; null where no annotator judged. One row per annotated run of the lake,
    ordered by run_key; without any, no row.

    >>> list(COLUMNS)[:2]
    ['human.overall_quality', 'human.goal_understanding']
    """
    lake = opened(lake)
    if not lake.annotations():  # most lakes have none, and need not look further
        return pl.DataFrame(schema=_SCHEMA)
    means = ", ".join(
        f'sum({item})::DOUBLE / nullif(count({item}), 0) AS "{PREFIX}{item}"' for item in ITEMS
    )
    asked = (
        f"SELECT run_key, {means} FROM annotations "  # noqa: S608 - names of our own
        "WHERE run_key IS NOT NULL GROUP BY run_key ORDER BY run_key"
    )
    with closing(session(lake, DEFAULT, macros=False)) as con:
        return select(con, asked).cast(_SCHEMA)
