"""What model judges said of runs: the columns `judge.NAME`, one per rubric."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import polars as pl

from pipeline.metrics.metric import Metric
from pipeline.metrics.ratio import ratio
from pipeline.schema import Judgments

if TYPE_CHECKING:
    from pipeline.judge.rubric import Rubric
    from pipeline.lake import Folder, Lake

PREFIX = "judge."

QUESTION = ("run_key", "step_index", "rubric_hash", "repeat", "swapped")
"""What makes two judgments answers to the same question: the later landed one counts."""


def folders(lake: Lake) -> list[Folder]:
    """Return the landings of judgments, oldest first."""
    found = lake.folders("judgments")
    return sorted(found, key=lambda folder: (folder.manifest["sequence"], folder.name))


def judgments(lake: Lake) -> pl.DataFrame:
    """Return the judgments that count: of each question the last answer landed.

    A request that failed is no answer: it counts only where there is no other. The view
    `judgments` of `sql/views.sql` says the same.
    """
    frames = [pl.read_parquet(folder.file("judgments"), glob=False) for folder in folders(lake)]
    rows = pl.concat([Judgments.empty(), *map(Judgments.conform, frames)])
    failed = pl.col("null_reason").eq_missing("request_failed")
    ranked = rows.with_columns(failed=failed).sort("failed", descending=True, maintain_order=True)
    return ranked.unique(QUESTION, keep="last", maintain_order=True).drop("failed")


def judged_columns(lake: Lake) -> pl.DataFrame:
    """Return run_key and one Float64 column per rubric, null where a run has no score.

    The value is the sum of the scores / their number, over the run's judged steps, repeats and
    orders. Of a rubric that changed, the text landed last counts; the view `judgments` has all.
    """
    in_force = {rubric.name: rubric.hash for rubric in _rubrics(lake)}
    rows = judgments(lake).filter(pl.col("rubric_hash").is_in(list(in_force.values())))
    # Sums of floats depend on their order: each run's scores are summed in the order of questions.
    scores = (
        rows.drop_nulls("score")
        .sort(*QUESTION)
        .group_by("run_key", "rubric", maintain_order=True)
        .agg("score")
        .with_columns(value=ratio(pl.col("score").list.sum(), pl.col("score").list.len()))
    )
    columns = [
        scores.filter(rubric=name).select("run_key", pl.col("value").alias(PREFIX + name))
        for name in sorted(in_force)
    ]
    found = rows.select("run_key").unique().sort("run_key")
    for column in columns:
        found = found.join(column, on="run_key", how="left", maintain_order="left")
    return found


def judged_metrics(lake: Lake) -> list[Metric]:
    """Return the metrics of these columns, as the rubrics that were landed define them."""
    latest = {rubric.name: rubric for rubric in _rubrics(lake)}
    return [metric_of(latest[name]) for name in sorted(latest)]


def metric_of(rubric: Rubric) -> Metric:
    """Return the metric that the runs judged by a rubric have.

    >>> from pipeline.judge.rubric import load
    >>> metric = metric_of(load("preset:step_appropriateness"))
    >>> metric.name, metric.kind, metric.low, metric.high
    ('judge.step_appropriateness', 'amount', 0.0, 10.0)
    """
    answer = rubric.answer
    what = "steps, repeats" if rubric.level == "step" else "repeats"
    value = "answers true" if answer.type == "boolean" else "the sum of scores"
    return Metric(
        name=PREFIX + rubric.name,
        family="opinion",
        kind="fraction" if rubric.is_share else "amount",
        better=rubric.direction,
        meaning=f"{rubric.title}; judged by a model, {answer.told} an answer",
        formula=f"{value} / answers with a score, over the run's judged {what} and orders",
        null="null where the run was not judged, or no answer could be read as a score",
        value=pl.col(PREFIX + rubric.name),
        rests_on=f"a model's answers under rubric {rubric.name} [{rubric.hash}]",
        headline=True,
        unit="" if rubric.is_share else "points",
        bounds=None if answer.low is None or answer.high is None else (answer.low, answer.high),
    )


def _rubrics(lake: Lake) -> list[Rubric]:
    """Return the rubrics of all landings, those landed last at the end."""
    from pipeline.judge.rubric import Rubric  # noqa: PLC0415 - most lakes have no judgments

    return [
        msgspec.convert(told, Rubric)
        for folder in folders(lake)
        for told in folder.manifest["rubrics"].values()
    ]
