"""Final answers against the answers their tasks accept, each distinct pair of texts once."""

from __future__ import annotations

from collections import Counter
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from pipeline.metrics.response import response_exact, rouge1_f1, rouge1_recall
from pipeline.scoring import tokens
from pipeline.scoring.segments import totals

if TYPE_CHECKING:
    from pipeline.lake import Folder

COLUMNS = {"rouge1_recall": pl.Float64, "rouge1_f1": pl.Float64, "response_exact": pl.Int8}

TEXTS = ["answer", "reference"]


class Overlap(NamedTuple):
    """What two bags of tokens share."""

    n_found: int
    n_common: int
    n_reference: int
    n_answer: int


def of_batch(
    batch: Folder, runs: pl.DataFrame, steps: pl.DataFrame, tasks: pl.DataFrame
) -> pl.DataFrame:
    """Return the response metrics of a batch's runs; answers are read only if a task accepts some.

    Args:
        batch: where the answers are.
        runs: its runs (suite, task_id, n_rows).
        steps: its steps (kind, call_key), run after run.
        tasks: the task rows in force.
    """
    told = tasks.select("suite", "task_id", "reference_outputs").filter(_any("reference_outputs"))
    if told.is_empty():
        return pl.DataFrame(schema=COLUMNS).clear(runs.height)
    keys = ["suite", "task_id"]
    asked = runs.select(keys).join(
        told, on=keys, how="left", nulls_equal=True, maintain_order="left"
    )
    given = pl.read_parquet(
        batch.file("runs", ["final_output"]), columns=["final_output"], glob=False
    )
    # No answer is the empty answer; but who did not capture arguments did not capture answers.
    hidden = (steps["kind"] == "tool_call") & steps["call_key"].is_null()
    captured = totals(hidden, runs["n_rows"]) == 0
    answer = pl.when(captured).then(pl.col("final_output").fill_null("")).otherwise("final_output")
    answers = pl.concat([asked, given.with_columns(answer.alias("final_output"))], how="horizontal")
    return response_columns(answers)


def _any(name: str) -> pl.Expr:
    return pl.col(name).list.drop_nulls().list.len() > 0


def response_columns(runs: pl.DataFrame) -> pl.DataFrame:
    """Score answers (`final_output`) against lists of reference answers (`reference_outputs`).

    Returns:
        One row per run with the three metrics of the family, each the best over the references;
        null where the answer is null or no reference is given. The two of ROUGE are null where
        the extra `text` is not installed.
    """
    texts = runs.select(
        pl.int_range(pl.len(), dtype=pl.UInt32).alias("run"),
        pl.col("final_output").alias("answer"),
        pl.col("reference_outputs").list.drop_nulls().alias("reference"),
    )
    asked = texts.filter(_any("reference"), pl.col("answer").is_not_null())
    pairs = asked.explode("reference").unique()
    scored = _scored(pairs.select(TEXTS).unique().sort(TEXTS[::-1]))
    best = pairs.join(scored, on=TEXTS).group_by("run").agg(pl.col(name).max() for name in COLUMNS)
    return texts.select("run").join(best, on="run", how="left", maintain_order="left").drop("run")


def _scored(pairs: pl.DataFrame) -> pl.DataFrame:
    n_reference = pl.col("n_reference")
    return pl.concat([pairs, _overlaps(pairs)], how="horizontal").select(
        *TEXTS,
        rouge1_recall(pl.col("n_found"), n_reference).alias("rouge1_recall"),
        rouge1_f1(pl.col("n_common"), n_reference, pl.col("n_answer")).alias("rouge1_f1"),
        response_exact(*map(pl.col, TEXTS)).alias("response_exact"),
    )


def _overlaps(pairs: pl.DataFrame) -> pl.DataFrame:
    counts = pl.DataFrame(schema=dict.fromkeys(Overlap._fields, pl.Int64))
    if not tokens.available():
        return counts.clear(pairs.height)
    found = [overlap(answer, reference) for answer, reference in pairs.rows()]
    return pl.DataFrame(found, schema=counts.schema, orient="row")


def overlap(answer: str, reference: str) -> Overlap:
    """Count what an answer shares with a reference answer.

    >>> overlap("a dog, a cat", "two dogs: a dog")
    Overlap(n_found=3, n_common=2, n_reference=4, n_answer=4)
    """
    of_answer, of_reference = _bag(answer), _bag(reference)
    shared = of_reference.keys() & of_answer.keys()
    found = sum(of_reference[token] for token in shared)
    common = sum(min(of_reference[token], of_answer[token]) for token in shared)
    return Overlap(found, common, of_reference.total(), of_answer.total())


@lru_cache(maxsize=1 << 10)
def _bag(text: str) -> Counter[str]:
    return Counter(tokens.tokens(text))
