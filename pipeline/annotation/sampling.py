"""Which runs to ask people about: some of every kind, and those where judgments part.

Strata are made of how well a run scored (quarters by one metric) and of how far its metrics part
(the spread of their ranks, below or above its median); runs whose annotators part are one of
their own. They are drawn from in turn, in an order that the seed and the run's own names decide.
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from pipeline.annotation.template import filled_in_later
from pipeline.arguments import checked
from pipeline.duck import fetched
from pipeline.errors import InputError
from pipeline.landed import opened
from pipeline.policy import DEFAULT
from pipeline.tables.groups import quoted
from pipeline.tables.result import Result
from pipeline.tables.session import opened as scores_opened
from pipeline.text import counted
from pipeline.workbench import select, session

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from pipeline.lake import Lake
    from pipeline.metrics.metric import Metric
    from pipeline.tables.session import Session

KIND = "annotations"
QUARTERS = 4
PART = 2
"""Annotators part where their overall scores of a run are this far apart."""

_NAMES = ("run_id", "task_id", "agent", "agent_version", "model", "suite", "trial", "labels")
_SCORES = "SELECT run_key, {columns}, md5(concat_ws(chr(31), $seed, {names})) AS draw FROM scores"
_PEOPLE = """
SELECT run_key, count(*) AS n_annotators, max(overall_quality)::INTEGER - min(overall_quality) AS apart
FROM annotations WHERE run_key IS NOT NULL GROUP BY run_key
"""


class Picked(NamedTuple):
    """The runs picked: a table for whoever asks, and records for those who are asked."""

    result: Result
    """One row per run, with its stratum."""
    records: list[dict[str, object]]
    """One annotation to fill in per run. They show no score: it would lead the annotator."""


@checked
def sample_annotations(
    lake: Lake | str | os.PathLike[str],
    *,
    limit: int = 50,
    seed: int = 0,
    metric: str = "composite",
    where: str | None = None,
    annotated: bool = False,
    policy: str | os.PathLike[str] | None = None,
) -> Picked:
    """Pick runs to annotate.

    Rows, in the order to be drawn: run_id, task_id, agent, agent_version, model, the metric,
    `quarter` (1 is the worst quarter, by the metric's direction; null without a value),
    `rank_spread` (from 0 to 1: the greatest less the least rank of the run among all, over the
    headline metrics, each turned so that higher is better; null with fewer than two),
    `spread` (low, high: below the median or not), `n_annotators`, `contested` (did two of them
    part by 2 or more?). The same seed picks the same runs, and a higher limit more of them.

    Args:
        lake: a lake or its folder.
        limit: how many runs at most.
        seed: another seed, other runs.
        metric: the metric that says how well a run did.
        where: only the runs this SQL over score columns is true for.
        annotated: pick runs again that people agree on, or one has judged. Without it, of
            annotated runs only contested ones are picked.
        policy: the policy's file or preset; None is the lake's own.

    Returns:
        The rows as `result`, with names in String, the metric and rank_spread in Float64, quarter
        in Int8, n_annotators in Int64, contested in Boolean; and as `records` a template for each
        run, to be filled in and landed.

    Raises:
        InputError: a limit below 1, a metric in words, or DuckDB refuses `where`.
        UnknownNameError: no such metric.

    >>> from pipeline.sample import example
    >>> picked = sample_annotations(example(), limit=2)
    >>> picked.result.rows.select("run_id", "quarter", "n_annotators")
    shape: (2, 3)
    ┌────────────┬─────────┬──────────────┐
    │ run_id     ┆ quarter ┆ n_annotators │
    │ ---        ┆ ---     ┆ ---          │
    │ str        ┆ i8      ┆ i64          │
    ╞════════════╪═════════╪══════════════╡
    │ s0-0000011 ┆ 3       ┆ 0            │
    │ s0-0000023 ┆ 1       ┆ 0            │
    └────────────┴─────────┴──────────────┘
    >>> picked.records[0]["trajectory_id"]
    's0-0000011'
    """
    if limit < 1:
        raise InputError(f"--limit is {limit}; at least 1 is needed")
    lake = opened(lake)
    with scores_opened(lake, policy, where) as scored:
        (by,) = scored.metrics([metric])
        runs = _with_people(lake, _drawn(scored, by, seed))
    open_to = (
        runs if annotated else runs.filter((pl.col("n_annotators") == 0) | pl.col("contested"))
    )
    picked = _in_turn(open_to).head(limit)
    records = filled_in_later(lake, scored.policy, picked["run_key"])
    shown = (by.name, "quarter", "rank_spread", "spread", "n_annotators", "contested")
    strata = picked["stratum"].n_unique()
    left = f"{picked.height} of {runs.height} runs, from {strata} {'stratum' if strata == 1 else 'strata'}"
    if said := runs.height - open_to.height:
        left += f"; {counted(said, 'run')} annotated already: --annotated picks from them, too"
    rows = picked.select(*_NAMES[:5], *dict.fromkeys(shown))
    return Picked(Result(KIND, rows, [*scored.notes, left]), records)


def _drawn(scored: Session, by: Metric, seed: int) -> pl.DataFrame:
    """Return the scored runs with quarter, spread, and the order that the seed gives them."""
    figures = [m for m in scored.metrics(None) if m.better != "neither" and m.name not in _NAMES]
    figures = list({m.name: m for m in [*figures, by]}.values())
    columns = ", ".join(
        [*map(quoted, _NAMES), *(f"{quoted(m.name)}::DOUBLE AS {quoted(m.name)}" for m in figures)]
    )
    names = ", ".join(f"coalesce({quoted(name)}::VARCHAR, '')" for name in _NAMES)
    asked = _SCORES.format(columns=columns, names=names)
    runs = fetched(scored.con.sql(asked, params={"seed": str(seed)}))
    return runs.sort("draw", "run_key").with_columns(
        _quarter(by), _rank_spread([m for m in figures if m.name != by.name])
    )


def _upward(metric: Metric) -> pl.Expr:
    column = pl.col(metric.name)
    return -column if metric.better == "lower" else column


def _quarter(by: Metric) -> pl.Expr:
    """Return 1 to 4 by rank; equal values share a quarter."""
    rank = _upward(by).rank("average")
    quarter = ((rank - 0.5) * QUARTERS // pl.col(by.name).count()) + 1
    return quarter.cast(pl.Int8).alias("quarter")


def _rank_spread(figures: Sequence[Metric]) -> pl.Expr:
    """Return how far the ranks of a run's metrics lie apart, as a share of all runs."""
    ranks = [
        (_upward(m).rank("average") - 0.5) / pl.col(m.name).count().cast(pl.Float64)
        for m in figures
    ]
    known = pl.sum_horizontal(rank.is_not_null().cast(pl.Int32) for rank in ranks)
    spread = pl.max_horizontal(ranks) - pl.min_horizontal(ranks)
    return pl.when(known > 1).then(spread).alias("rank_spread")


def _with_people(lake: Lake, runs: pl.DataFrame) -> pl.DataFrame:
    with closing(session(lake, DEFAULT, macros=False)) as con:
        people = select(con, _PEOPLE)
    spread = pl.col("rank_spread")
    return (
        runs.join(people, on="run_key", how="left", maintain_order="left")
        .with_columns(
            pl.col("n_annotators").fill_null(0),
            (pl.col("apart") >= PART).fill_null(value=False).alias("contested"),
            pl.when(spread >= spread.median())
            .then(pl.lit("high"))
            .when(spread.is_not_null())
            .then(pl.lit("low"))
            .alias("spread"),
        )
        .with_columns(
            pl.when("contested")
            .then(pl.lit("contested"))
            .otherwise(
                pl.format(
                    "{}/{}",
                    pl.col("quarter").cast(pl.String).fill_null("none"),
                    pl.col("spread").fill_null("none"),
                )
            )
            .alias("stratum")
        )
    )


def _in_turn(runs: pl.DataFrame) -> pl.DataFrame:
    """Order runs so that each stratum gives one in turn, in the order drawn."""
    turn = pl.int_range(pl.len()).over("stratum").alias("turn")
    return runs.with_columns(turn).sort("turn", "draw", "run_key")
