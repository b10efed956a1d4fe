"""What follows a failed call: how soon something works again, and whether the tool is retried."""

from __future__ import annotations

import polars as pl

from pipeline.scoring.path.equals import marked
from pipeline.scoring.segments import alike


def retries(calls: pl.DataFrame) -> pl.DataFrame:
    """Mark each call: `is_retry`, `is_same_retry`, `is_recovered`.

    A retry is the next call of a tool after a failed one, the same if the arguments are equal too;
    a failed call is recovered if a later call of its tool in the run succeeds.
    """
    rows = _beside_failures(calls)
    some = calls.select("name_key", "call_key", "failed", "run")[rows].with_row_index("call")
    success = pl.when(~pl.col("failed")).then("call").backward_fill()
    # Over tools, of which there are few: the calls of one tool lie run after run.
    around = some.select(
        pl.col("call").shift(1).over("name_key").alias("before"),
        success.over("name_key").alias("success"),
    )
    run, key, failed = some["run"], some["call_key"], some["failed"]
    before, later = around["before"], around["success"]
    is_retry = (run[before] == run) & failed[before]
    marks = {
        "is_retry": is_retry,
        "is_same_retry": is_retry & (key[before] == key),
        "is_recovered": failed & (run[later] == run),
    }
    return pl.DataFrame(
        {name: marked(rows.filter(truth), calls.height) for name, truth in marks.items()}
    )


def _beside_failures(calls: pl.DataFrame) -> pl.Series:
    """Return the calls of the runs in which one failed."""
    n_runs = calls["run"][-1] + 1 if calls.height else 0
    concerned = marked(calls["run"].filter(calls["failed"]), n_runs)
    return concerned[calls["run"]].arg_true()


def recovery_steps(calls: pl.DataFrame, max_steps: int) -> pl.Series:
    """Return of each failed call the steps to the next success, at most `max_steps` + 1.

    Steps are responses where both calls know theirs, and then only a later response counts;
    decision steps otherwise. 0 for calls that did not fail.
    """
    failures, successes = calls["failed"].arg_true(), (~calls["failed"]).arg_true()
    found = alike(0, calls.height, pl.UInt32).scatter(failures, max_steps + 1)
    todo = pl.DataFrame({"failure": failures, "success": successes.search_sorted(failures)})
    # A success beside the failure, in the same response, is passed over: one more look each time.
    while todo.height:
        todo = todo.filter(pl.col("success") < len(successes))
        steps = _steps_between(calls, todo["failure"], successes[todo["success"]])
        reached = todo.select("failure", steps.clip(upper_bound=max_steps + 1)).filter(steps > 0)
        found = found.scatter(reached["failure"], reached["steps"])
        todo = todo.filter(steps <= 0).with_columns(pl.col("success") + 1)
    return found


def _steps_between(calls: pl.DataFrame, earlier: pl.Series, later: pl.Series) -> pl.Series:
    """Return the steps from one call to another; null where they are of different runs."""
    place, run, response = calls["place"], calls["run"], calls["response_index"].cast(pl.Int64)
    steps = pl.DataFrame(
        {
            "same_run": run[earlier] == run[later],
            "responses": response[later] - response[earlier],
            "steps": place[later] - place[earlier],
        }
    )
    between = pl.when("same_run").then(pl.coalesce("responses", "steps"))
    return steps.select(between.alias("steps")).to_series()
