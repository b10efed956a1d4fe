"""Metrics of the final answer: how near is it to the answer the task accepts?

Tokens are counted as google-adk counts them (see `pipeline.scoring.tokens`): `R` is the multiset
of the reference answer's tokens, `A` that of the run's answer. Of several reference answers each
metric takes the best.
"""

from __future__ import annotations

from typing import Literal

import polars as pl

from pipeline.metrics.metric import Metric
from pipeline.metrics.ratio import flag, ratio

NULL_RESPONSE = (
    "null where the task gives no reference answer and for a run whose status is error; a run "
    "without an answer gave the empty one, or null where its calls' arguments were not captured"
)
NULL_ROUGE = (
    f"{NULL_RESPONSE}; null without the extra `text` (install trajtab[text], then score --all)"
)


def rouge1_recall(n_found: pl.Expr, n_reference: pl.Expr) -> pl.Expr:
    """Return the share of the reference's tokens that occur in the answer: `found / |R|`.

    Not clipped: a token of the reference counts as often as the reference says it, if the answer
    says it at all.

    Args:
        n_found: tokens of R, with repetition, that are in A (integer).
        n_reference: |R| (integer).

    Returns:
        Float64 in [0, 1], higher is better. R empty: 1; A empty, R not: 0; null for null inputs.

    >>> frame = pl.DataFrame({"found": [3, 0, 0], "n": [4, 0, 2]})
    >>> frame.select(rouge1_recall(pl.col("found"), pl.col("n"))).to_series().to_list()
    [0.75, 1.0, 0.0]
    """
    return pl.when(n_reference == 0).then(1.0).otherwise(ratio(n_found, n_reference))


def rouge1_f1(n_common: pl.Expr, n_reference: pl.Expr, n_answer: pl.Expr) -> pl.Expr:
    """Return the clipped unigram F1: `2·|R ∩ A| / (|R| + |A|)`.

    It is google-adk's `response_match_score` (2.13).

    Args:
        n_common: size of the multiset intersection of R and A (integer).
        n_reference: |R| (integer).
        n_answer: |A| (integer).

    Returns:
        Float64 in [0, 1], higher is better. Either or both empty: 0; null for null inputs.

    >>> frame = pl.DataFrame({"common": [2, 0, 0], "r": [2, 0, 2], "a": [3, 0, 0]})
    >>> frame.select(rouge1_f1(pl.col("common"), pl.col("r"), pl.col("a"))).to_series().to_list()
    [0.8, 0.0, 0.0]
    """
    both = n_reference + n_answer
    return pl.when(both == 0).then(0.0).otherwise(ratio(2 * n_common, both))


def response_exact(answer: pl.Expr, reference: pl.Expr) -> pl.Expr:
    """Tell whether the answer is the reference answer, byte for byte: `1 if equal, else 0`.

    Args:
        answer: the final answer (text).
        reference: a reference answer (text).

    Returns:
        Int8, 0 or 1, higher is better. Both empty: 1; null for null inputs.

    >>> frame = pl.DataFrame({"a": ["42", "42."], "r": ["42", "42"]})
    >>> frame.select(response_exact(pl.col("a"), pl.col("r"))).to_series().to_list()
    [1, 0]
    """
    return flag(answer == reference)


def _metric(
    name: str, kind: Literal["fraction", "flag"], meaning: str, formula: str, null: str
) -> Metric:
    return Metric(
        name=name, family="response", kind=kind, better="higher", meaning=meaning, formula=formula,
        null=null, value=pl.col(name), reference=True,
        rests_on="the final answer logged and the task's reference answers",
    )  # fmt: skip


def metrics() -> list[Metric]:
    """Return the family."""
    return [
        _metric(
            "rouge1_recall",
            "fraction",
            "share of the reference answer's tokens that occur in the answer",
            "found / |R|, not clipped; 1 when |R| = 0",
            NULL_ROUGE,
        ),
        _metric(
            "rouge1_f1",
            "fraction",
            "clipped unigram F1 of answer and reference answer (google-adk's response_match_score)",
            "2·|R ∩ A| / (|R| + |A|); 0 when both are empty",
            NULL_ROUGE,
        ),
        _metric(
            "response_exact",
            "flag",
            "the answer is the reference answer, byte for byte",
            "1 if equal, else 0",
            NULL_RESPONSE,
        ),
    ]
