"""One batch to one frame of scores: read, match, count, divide. One pass, nothing kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from pipeline.current import scores_schema
from pipeline.metrics.metric import NAMES
from pipeline.metrics.registry import metrics
from pipeline.scoring import matching, paths, references, relations
from pipeline.scoring.matching import Pairs
from pipeline.scoring.segments import owners, starts

if TYPE_CHECKING:
    from pipeline.lake import Folder, Lake
    from pipeline.policy import Policy
    from pipeline.scoring.references import Expected

RUN_COLUMNS = (
    "run_id", "task_id", "trial", "suite", "agent", "agent_version", "model", "prompt_hash", "labels",
    "started_at", "ended_at", "status", "success", "reward", "reference_set", "n_rows", "run_key",
)  # fmt: skip

ENOUGH_REWARD = 1 - 1e-6


def score_batch(lake: Lake, batch: Folder, tasks: pl.DataFrame, policy: Policy) -> pl.DataFrame:
    """Score the runs of a batch; `tasks` are the task rows in force."""
    runs = pl.read_parquet(batch.file("runs"), columns=list(RUN_COLUMNS))
    steps = pl.read_parquet(batch.file("steps"), columns=list(paths.STEP_COLUMNS))
    runs = with_references(runs, tasks)
    expected = references.load(lake, runs["reference_set"].drop_nulls())
    return score_frames(runs, steps, expected, policy)


def with_references(runs: pl.DataFrame, tasks: pl.DataFrame) -> pl.DataFrame:
    """Give every run its reference set: its own, else its task's."""
    told = tasks.select("suite", "task_id", pl.col("reference_set").alias("of_task"))
    joined = runs.join(told, on=["suite", "task_id"], how="left", nulls_equal=True, maintain_order="left")
    own = pl.coalesce("reference_set", pl.when(pl.col("task_id").is_not_null()).then("of_task"))
    return joined.with_columns(own.alias("reference_set")).drop("of_task")


def score_frames(runs: pl.DataFrame, steps: pl.DataFrame, expected: Expected, policy: Policy) -> pl.DataFrame:
    """Score runs whose steps lie one after the other in `steps`."""
    path = paths.counts(runs, steps, policy)
    best = match_best(runs, steps, expected, policy)
    counted = pl.concat([runs, path, best], how="horizontal")
    return _finished(counted)


def _pairs(runs: pl.DataFrame, steps: pl.DataFrame, expected: Expected) -> tuple[pl.DataFrame, Pairs]:
    """Pair every run with every alternative of its reference, and lay its calls out flat."""
    is_call = steps["kind"] == "tool_call"
    calls = steps.filter(is_call).select("call_key", "name_key", "args_status")
    owner = owners(runs["n_rows"]).filter(is_call)
    each = pl.int_range(runs.height, dtype=pl.UInt32, eager=True)
    first_call = owner.search_sorted(each, side="left").cast(pl.Int64)
    n_calls = owner.search_sorted(each, side="right").cast(pl.Int64) - first_call
    frame = (
        runs.select("reference_set")
        .with_columns(each.alias("run"), n_calls.alias("n_calls"), first_call.alias("first_call"))
        .join(expected.alternatives, on="reference_set", maintain_order="left_right")
        .with_row_index("pair")
    )
    lengths = frame["n_calls"]
    pair = owners(lengths)
    ordinal = pl.int_range(len(pair), eager=True) - starts(lengths).gather(pair)
    at = frame["first_call"].gather(pair) + ordinal
    flat = pl.DataFrame(
        {
            "pair": pair,
            "ref": frame["ref"].gather(pair),
            "ordinal": ordinal,
            **{name: calls[name].gather(at) for name in calls.columns},
        }
    )
    return frame, Pairs(frame.select("pair", "ref", "n_expected", "n_calls", "first"), flat)


def match_best(runs: pl.DataFrame, steps: pl.DataFrame, expected: Expected, policy: Policy) -> pl.DataFrame:
    """Return, per run, the matching counts against its best alternative; null without one."""
    frame, pairs = _pairs(runs, steps, expected)
    names = matching.counts(pairs, expected.calls, "name_key")
    args = names if policy.match.args == "names" else _by_arguments(frame, pairs, expected)
    counted = pl.concat(
        [
            frame.select("run", "reference_id", "n_expected", "n_calls"),
            args.select(pl.all()),
            names.select(pl.all().name.suffix(NAMES)),
            _not_captured(pairs, expected, policy).to_frame(),
        ],
        how="horizontal",
    )
    chosen = _best(counted).drop("n_calls")
    each = pl.DataFrame({"run": pl.int_range(runs.height, dtype=pl.UInt32, eager=True)})
    return each.join(chosen, on="run", how="left", maintain_order="left").drop("run")


def _by_arguments(frame: pl.DataFrame, pairs: Pairs, expected: Expected) -> pl.DataFrame:
    """Count by call keys, and pairs whose alternative has any-argument calls by relation."""
    counted = matching.counts(pairs, expected.calls, "call_key")
    loose = frame["relation"]
    if not loose.any():
        return counted
    some = Pairs(pairs.frame.filter(loose), pairs.calls.filter(loose.gather(pairs.calls["pair"])))
    related = relations.counts(some, expected.calls).with_columns(some.frame["pair"])
    strict = counted.with_columns(pairs.frame["pair"]).filter(~loose)
    return pl.concat([strict, related], how="diagonal").sort("pair").drop("pair")


def _not_captured(pairs: Pairs, expected: Expected, policy: Policy) -> pl.Series:
    """Tell which pairs have an uncaptured call of a tool that the reference gives with arguments."""
    missing = pairs.calls.filter(pl.col("args_status") == "not_captured")
    given = expected.calls.filter(pl.col("args_status") != "any").select("ref", "name_key").unique()
    hit = missing.join(given, on=["ref", "name_key"], how="semi")["pair"].unique()
    if policy.match.args == "names":
        hit = hit.clear()
    return pairs.frame["pair"].is_in(hit.implode()).alias("not_captured")


def _best(counted: pl.DataFrame) -> pl.DataFrame:
    """Keep each run's alternative with the highest (exact_match, f1, in_order), ties to the first."""
    if counted["run"].n_unique() == counted.height:
        return counted
    known = metrics()
    order = ("exact_match", "f1", "in_order")
    ranked = counted.with_columns(known[name].value.alias(f"_{name}") for name in order)
    by = ["run", *(f"_{name}" for name in order), "reference_id"]
    ranked = ranked.sort(by, descending=[False, True, True, True, False])
    return ranked.unique("run", keep="first", maintain_order=True).drop(f"_{name}" for name in order)


def _finished(counted: pl.DataFrame) -> pl.DataFrame:
    """Divide, blank what is undefined, and give the table its columns."""
    failed = pl.col("run_status") == "error"
    hidden = pl.col("not_captured").fill_null(value=False)
    status = (
        pl.when(failed).then(pl.lit("error"))
        .when(pl.col("n_expected").is_null()).then(pl.lit("no_reference"))
        .when(hidden).then(pl.lit("args_not_captured"))
        .otherwise(pl.lit("scored"))
    )  # fmt: skip
    success = pl.coalesce("success", pl.col("reward") >= ENOUGH_REWARD)
    counted = counted.rename({"status": "run_status"}).with_columns(success.alias("success"))
    values = []
    for name, metric in metrics().items():
        value = metric.value
        if metric.reference:
            gone = failed if name.endswith(NAMES) else failed | hidden
            value = pl.when(~gone).then(value)
        if name != "success":
            values.append(value.alias(name))
    schema = scores_schema()
    frame = counted.with_columns(status.alias("status")).with_columns(values)
    return frame.select(pl.col(name).cast(dtype) for name, dtype in schema.items())
