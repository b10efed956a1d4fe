"""How far annotators agree: Krippendorff's alpha over all of them, kappa for each pair."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from pipeline.annotation.model import SCALE
from pipeline.annotation.words import STEP_ITEMS, Words, every_item
from pipeline.metrics.ratio import ratio
from pipeline.statistics.alpha import alpha
from pipeline.statistics.kappa import kappa, linear, nominal, quadratic, table

if TYPE_CHECKING:
    from collections.abc import Iterator

ALPHAS = {
    "item": pl.String, "n_annotators": pl.UInt32, "n_units": pl.UInt32, "n_values": pl.UInt32,
    "alpha_ordinal": pl.Float64, "alpha_interval": pl.Float64, "alpha_nominal": pl.Float64,
}  # fmt: skip
PAIRS = {
    "item": pl.String, "annotator_a": pl.String, "annotator_b": pl.String, "n_units": pl.UInt32,
    "n_equal": pl.UInt32, "kappa": pl.Float64, "kappa_linear": pl.Float64,
    "kappa_quadratic": pl.Float64,
}  # fmt: skip


def alphas(words: Words) -> pl.DataFrame:
    """Return Krippendorff's alpha of every item, one row each.

    `n_units` are the units that at least two annotators judged (runs; for marked steps, decision
    steps), `n_values` their judgments, `n_annotators` who made them. Scores have ranks: their
    alpha is the ordinal one, beside which stand those that take them for distances and for mere
    names. Marks of steps are names: the others are null. All are null where alpha is undefined.
    """
    rows = [_alphas(item, words.of(item)) for item in every_item()]
    return pl.DataFrame(rows, schema=ALPHAS, orient="row")


def _alphas(item: str, said: pl.DataFrame) -> tuple[Any, ...]:
    paired = said.filter(pl.len().over("unit") > 1)
    found: list[float | None] = [None, None, None]
    if paired.height:
        ratings = (
            paired.sort("annotator_id", "unit")
            .pivot("unit", index="annotator_id", values="value")
            .drop("annotator_id")
            .cast(pl.Float64)
            .fill_null(float("nan"))
            .to_numpy()
        )
        scored = None if item in STEP_ITEMS else ratings
        found = [
            None if scored is None else alpha(scored, "ordinal"),
            None if scored is None else alpha(scored, "interval"),
            alpha(ratings, "nominal"),
        ]
    counts = (paired["annotator_id"].n_unique(), paired["unit"].n_unique(), paired.height)
    return (item, *counts, *found)


def pairs(words: Words) -> pl.DataFrame:
    """Return kappa of every item and pair of annotators who judged a unit in common.

    `n_units` of them, `n_equal` judged alike, which is the share `equal`. `kappa` counts every disagreement the same,
    `kappa_linear` and `kappa_quadratic` by how far apart the scores are; of marks of steps, which
    are two categories, the weighted ones say no more and are null. Null where kappa is undefined.
    """
    rows = [row for item in every_item() for row in _pairs(item, words)]
    equal = ratio(pl.col("n_equal"), pl.col("n_units")).alias("equal")
    found = pl.DataFrame(rows, schema=PAIRS, orient="row")
    return found.select(*list(PAIRS)[:5], equal, *list(PAIRS)[5:])


def _pairs(item: str, words: Words) -> Iterator[tuple[Any, ...]]:
    said = words.of(item).partition_by("annotator_id", as_dict=True)
    of = {str(name): rows for (name,), rows in said.items()}
    for first, second in combinations(sorted(of), 2):
        both = of[first].join(of[second], on="unit", suffix="_b").select("value", "value_b")
        if both.height:
            yield (item, first, second, both.height, *_kappas(item, both))


def _kappas(item: str, both: pl.DataFrame) -> tuple[Any, ...]:
    low, high = (0, 1) if item in STEP_ITEMS else SCALE
    size = high - low + 1
    a, b = ((both[name].to_numpy().astype(np.int64) - low) for name in both.columns)
    counts = table(a, b, size)
    weighted = [None if size == 2 else kappa(counts, w(size)) for w in (linear, quadratic)]  # noqa: PLR2004 - two categories
    return (int(np.trace(counts)), kappa(counts, nominal(size)), *weighted)
