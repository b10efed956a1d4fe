"""How far a judge agrees with itself: asked again, and asked in the other order."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from pipeline.arguments import checked
from pipeline.landed import opened
from pipeline.metrics.ratio import ratio
from pipeline.opinions.judged import judgments
from pipeline.tables.result import Result

if TYPE_CHECKING:
    import os

    from pipeline.lake import Lake

_OF = ("rubric", "rubric_hash", "model")
KINDS = {
    "repeat": "the same question asked again",
    "position": "the same question with the two texts in the other order",
}

NOTE = (
    "share_equal: pairs of answers with the same score / pairs; mean_abs_difference: the mean "
    "distance of their scores; null without a pair in which both have a score"
)

NONE = (
    "no judgment has landed: `trajtab judge prepare` asks for some, `trajtab judge run` and "
    "`trajtab judge land` bring them in"
)


@checked
def consistency(lake: Lake | str | os.PathLike[str]) -> Result:
    """Tell how far judges agree with themselves: one row per rubric, model and kind of pair.

    Kind `repeat` pairs the answers to one question, asked in one order, two by two; kind
    `position` pairs those of one repeat asked in both orders. Questions are contents: what many
    runs share counts once. `share_equal` = equal pairs / pairs and `mean_abs_difference` are null
    without pairs.

    Args:
        lake: the lake, or its path.
    """
    judged = judgments(opened(lake))
    return Result("judge_consistency", figures(judged), [NOTE if judged.height else NONE])


def figures(judged: pl.DataFrame) -> pl.DataFrame:
    """Return the consistency figures of judgments (the table `Judgments`)."""
    answers = judged.unique("custom_id", maintain_order=True).select(
        *_OF, "content_hash", "repeat", "swapped", "score"
    )
    groups = answers.select(_OF).unique(maintain_order=True)
    tables = []
    for kind, paired in (("repeat", _repeats(answers)), ("position", _positions(answers))):
        both = paired.drop_nulls(["score", "score_other"])
        apart = (pl.col("score") - pl.col("score_other")).abs()
        counts = both.group_by(_OF).agg(
            n_pairs=pl.len(), n_equal=(apart == 0).sum(), apart=apart.sort().sum()
        )
        asked = paired.group_by(_OF).agg(n_asked=pl.len())
        found = groups.join(asked, on=_OF, how="left", nulls_equal=True).join(
            counts, on=_OF, how="left", nulls_equal=True
        )
        tables.append(found.with_columns(kind=pl.lit(kind)))
    counted = ("n_asked", "n_pairs", "n_equal")
    return (
        pl.concat(tables)
        .with_columns(pl.col(name).fill_null(0).cast(pl.Int64) for name in counted)
        .select(
            *_OF,
            "kind",
            *counted,
            share_equal=ratio(pl.col("n_equal"), pl.col("n_pairs")),
            mean_abs_difference=ratio(pl.col("apart"), pl.col("n_pairs")),
        )
        .sort(*_OF, "kind", nulls_last=True)
    )


def _repeats(answers: pl.DataFrame) -> pl.DataFrame:
    key = [*_OF, "content_hash", "swapped"]
    return answers.join(answers, on=key, nulls_equal=True, suffix="_other").filter(
        pl.col("repeat") < pl.col("repeat_other")
    )


def _positions(answers: pl.DataFrame) -> pl.DataFrame:
    key = [*_OF, "content_hash", "repeat"]
    return answers.filter(~pl.col("swapped")).join(
        answers.filter("swapped"), on=key, nulls_equal=True, suffix="_other"
    )
