"""What follows a failed call: how soon something works again, and whether the tool is retried."""

from __future__ import annotations

import polars as pl


def retries(calls: pl.DataFrame) -> pl.DataFrame:
    """Mark each call: `is_retry`, `is_same_retry`, `is_recovered`.

    A retry is the next call of a tool after a failed one, the same if the arguments are equal too;
    a failed call is recovered if a later call of its tool in the run succeeds.
    """
    numbered = calls.select("name_key", "failed").with_row_index("call")
    success = pl.when(~pl.col("failed")).then("call").backward_fill()
    # Over tools, of which there are few: a batch's calls of one tool lie run after run.
    around = numbered.select(
        pl.col("call").shift(1).over("name_key").alias("before"),
        success.over("name_key").alias("success"),
    )
    run, key = calls["run"], calls["call_key"]
    before, later = around["before"], around["success"]
    is_retry = ((run.gather(before) == run) & calls["failed"].gather(before)).fill_null(value=False)
    same = (key.gather(before) == key).fill_null(value=False)
    works_later = (run.gather(later) == run).fill_null(value=False)
    return pl.DataFrame(
        {
            "is_retry": is_retry,
            "is_same_retry": is_retry & same,
            "is_recovered": calls["failed"] & works_later,
        }
    )


def recovery_steps(calls: pl.DataFrame, max_steps: int) -> pl.Series:
    """Return of each failed call the steps to the next success, at most `max_steps` + 1.

    Steps are responses where both calls know theirs, and then only a later response counts;
    decision steps otherwise. 0 for calls that did not fail.
    """
    failures, successes = calls["failed"].arg_true(), (~calls["failed"]).arg_true()
    found = pl.zeros(calls.height, dtype=pl.Int64, eager=True)
    found = found.scatter(failures, max_steps + 1)
    todo = pl.DataFrame({"failure": failures, "success": successes.search_sorted(failures)})
    # A success beside the failure, in the same response, is passed over: one more look each time.
    while todo.height:
        todo = todo.filter(pl.col("success") < len(successes))
        steps = _steps_between(calls, todo["failure"], successes.gather(todo["success"]))
        reached = (steps > 0).fill_null(value=False)
        found = found.scatter(
            todo["failure"].filter(reached), steps.filter(reached).clip(upper_bound=max_steps + 1)
        )
        todo = todo.filter(steps <= 0).with_columns(pl.col("success") + 1)
    return found


def _steps_between(calls: pl.DataFrame, earlier: pl.Series, later: pl.Series) -> pl.Series:
    """Return the steps from one call to another; null where they are of different runs."""
    place, run = calls["place"], calls["run"]
    response = calls["response_index"].cast(pl.Int64)
    steps = pl.DataFrame(
        {
            "same_run": run.gather(earlier) == run.gather(later),
            "responses": response.gather(later) - response.gather(earlier),
            "steps": place.gather(later) - place.gather(earlier),
        }
    )
    return steps.select(pl.when("same_run").then(pl.coalesce("responses", "steps"))).to_series()
