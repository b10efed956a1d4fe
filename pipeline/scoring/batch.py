"""One batch to one frame of scores: read, match, count, divide. One pass, nothing kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from pipeline.metrics.registry import metrics
from pipeline.schema import CallScores, Tools
from pipeline.score_columns import written_schema
from pipeline.scoring import overall, response, schemas, user_metrics, verdicts
from pipeline.scoring.arguments import keys
from pipeline.scoring.matching import references
from pipeline.scoring.matching.compare import FAMILIES, compare
from pipeline.scoring.path import paths
from pipeline.scoring.wanted import COMPOSITES, wanted

if TYPE_CHECKING:
    from pipeline.lake import Folder
    from pipeline.policy import Policy
    from pipeline.tasks import TaskFolders

RUN_COLUMNS = (
    "run_id", "task_id", "trial", "suite", "agent", "agent_version", "model", "prompt_hash", "labels",
    "started_at", "status", "success", "reward", "reference_set", "n_rows", "run_key",
)  # fmt: skip
"""What every policy reads of the runs."""

READ_FOR = {"ended_at": "wall_ms", "completed": "composite_textbook"}
"""What some metrics need beside that."""

MADE_LATER = ("success", *COMPOSITES)

ENOUGH_REWARD = 1 - 1e-6


class Scored(NamedTuple):
    """The scores of a batch, how many distinct calls of each tool were read again, and its calls."""

    scores: pl.DataFrame
    rekeyed: dict[str, int]
    calls: pl.DataFrame
    """One row per tool call: `schema.CallScores`."""


def run_columns(policy: Policy) -> list[str]:
    """Return the run columns that scoring under this policy reads, but for those of its rules."""
    of = wanted(policy)
    more = [name for name, metric in READ_FOR.items() if metric in of.metrics]
    return sorted({*RUN_COLUMNS, *more})


def step_columns(policy: Policy) -> list[str]:
    """Return the step columns that scoring under this policy reads, and no other."""
    asked = {
        "response_index": policy.match.parallel == "unordered",
        "turn_index": policy.match.unit == "turn",
        "actor": bool(policy.match.actors),
    }
    return sorted(
        {*paths.step_columns(policy), *(name for name, wanted in asked.items() if wanted)}
    )


def score_batch(known: TaskFolders, batch: Folder, tasks: pl.DataFrame, policy: Policy) -> Scored:
    """Score the runs of a batch; `tasks` are the task rows of `known` in force that it attempts."""
    of = wanted(policy)
    tools = schemas.in_force(known, tasks) if of.any(*schemas.COUNTS) else Tools.empty()
    judging = of.any(*verdicts.COUNTS)
    of_runs = verdicts.run_columns(tasks, policy) if judging else user_metrics.run_columns(policy)
    of_steps = verdicts.step_columns(tools, policy) if judging else ()
    runs = _read(batch, "runs", {*run_columns(policy), *of_runs})
    steps = _read(batch, "steps", {*step_columns(policy), *of_steps})
    runs = with_references(runs, tasks)
    steps = only_actors(steps, policy)
    told = references.read(
        known, runs["reference_set"].drop_nulls(), texts=keys.needs_text(policy.match)
    )
    texts = batch.file("steps", keys.TEXTS) if keys.needs_text(policy.match) else b""
    keyed = keys.apply(policy.match, steps, told, texts)
    expected = references.arrange(keyed.references, by_turn=policy.match.unit == "turn")
    path = paths.paths(runs, keyed.steps, policy)
    compared = compare(runs, keyed.steps, expected, keyed.lexicon, policy, path.distinct)
    parts = [runs, path.counts, compared.runs]
    if judging:
        parts.append(verdicts.counts(runs, keyed.steps, tasks, tools, policy))
    if of.any(*response.COLUMNS):
        parts.append(response.of_batch(batch, runs, steps, tasks))
    scores = finished(pl.concat(parts, how="horizontal"), policy)
    return Scored(
        user_metrics.with_metrics(scores, runs, policy),
        keyed.lexicon.rekeyed,
        CallScores.empty()
        if path.calls is None or not of.calls
        else paths.call_scores(runs, path.calls, compared.places),
    )


def _read(batch: Folder, table: str, columns: set[str]) -> pl.DataFrame:
    named = sorted(columns)
    return pl.read_parquet(batch.file(table, named), columns=named, glob=False)


def with_references(runs: pl.DataFrame, tasks: pl.DataFrame) -> pl.DataFrame:
    """Give every run its reference set, its own or else its task's, and what the task says of steps."""
    told = tasks.select(
        "suite",
        "task_id",
        pl.col("reference_set").alias("of_task"),
        "min_steps",
        "reference_complete",
    )
    joined = runs.join(
        told, on=["suite", "task_id"], how="left", nulls_equal=True, maintain_order="left"
    )
    own = pl.coalesce("reference_set", pl.when(pl.col("task_id").is_not_null()).then("of_task"))
    return joined.with_columns(own.alias("reference_set")).drop("of_task")


def only_actors(steps: pl.DataFrame, policy: Policy) -> pl.DataFrame:
    """Let calls of others than the policy's actors count as messages: seen, but no decision."""
    if not policy.match.actors:
        return steps
    others = (pl.col("kind") == "tool_call") & ~pl.col("actor").fill_null("agent").is_in(
        policy.match.actors
    )
    told = pl.lit("message", dtype=steps["kind"].dtype)
    return steps.with_columns(pl.when(others).then(told).otherwise("kind").alias("kind"))


def finished(counted: pl.DataFrame, policy: Policy) -> pl.DataFrame:
    """Divide what is still counts, blank what is undefined, and give the table its columns.

    One plan for all of it: what metrics and composites share is worked out once.
    """
    failed = pl.col("run_status") == "error"
    hidden = pl.col("not_captured").fill_null(value=False)
    status = (
        pl.when(failed).then(pl.lit("error"))
        .when(pl.col("n_expected").is_null()).then(pl.lit("no_reference"))
        .when(hidden).then(pl.lit("args_not_captured"))
        .otherwise(pl.lit("scored"))
    )  # fmt: skip
    of = wanted(policy)
    success = pl.coalesce("success", pl.col("reward") >= ENOUGH_REWARD)
    schema, values = written_schema(policy), []
    for name, metric in metrics().items():
        if name in of.metrics and metric.family not in FAMILIES and name not in MADE_LATER:
            gone = failed if metric.family == "response" else None
            value = metric.value if gone is None else pl.when(~gone).then(metric.value)
            values.append(value.alias(name))
    plan = (
        counted.lazy()
        .rename({"status": "run_status"})
        .with_columns(success.alias("success"), status.alias("status"), *values)
    )
    made = {name: value for name, value in overall.composites(policy).items() if name in schema}
    if made:
        plan = plan.with_columns(**made)
    own = {metric.name for metric in policy.metric}
    written = {name: dtype for name, dtype in schema.items() if name not in own}
    return plan.select(pl.col(name).cast(dtype) for name, dtype in written.items()).collect()
