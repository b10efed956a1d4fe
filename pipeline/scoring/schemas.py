"""Calls against the JSON Schemas of their tools: each distinct (schema, arguments) is checked once.

Formats are enforced: `"format": "date"` refuses 2024-02-30. A schema is read by itself: nothing is
fetched, so a `$ref` to anywhere else is a broken schema. One that is broken is none: it costs its
tool's calls their verdict, and no run its scores; `trajtab check` lists it. Needs the extra `schema`.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import msgspec
import polars as pl

from pipeline.landing.values.canonical import name_key
from pipeline.schema import Tools
from pipeline.scoring.segments import alike, owners, totals
from pipeline.tasks import TASK

if TYPE_CHECKING:
    from collections.abc import Callable

    from pipeline.tasks import TaskFolders

COUNTS = ("n_schema_calls", "n_schema_valid")


def in_force(known: TaskFolders, tasks: pl.DataFrame) -> pl.DataFrame:
    """Return the tools that `tasks` offer, as the latest landed row of each task gives them."""
    found = [
        pl.read_parquet(folder.file("tools"), columns=Tools.names(), glob=False).join(
            of, on=TASK, how="semi", nulls_equal=True, maintain_order="left"
        )
        for folder, of in known.tools(tasks)
    ]
    return Tools.conform(pl.concat(found)) if found else Tools.empty()


def step_columns(tools: pl.DataFrame) -> tuple[str, ...]:
    """Return the step columns needed to check calls: the arguments' text only where it is."""
    return ("kind", "name_key", "args_status", "tool_args") if _checks(tools) else ()


def counts(runs: pl.DataFrame, steps: pl.DataFrame, tools: pl.DataFrame) -> pl.DataFrame:
    """Return `n_schema_calls` and `n_schema_valid` per run.

    Both are null for a run without a call of a tool that has a schema, or where the arguments of
    such a call were not captured; for every run when the extra `schema` is not installed.
    """
    if not _checks(tools):
        unknown = alike(None, runs.height, pl.Int64).alias("n_schema_calls")
        return pl.DataFrame([unknown, unknown.alias("n_schema_valid")])
    n_calls = totals(steps["kind"] == "tool_call", runs["n_rows"])
    calls = with_schemas(runs, steps, tools)
    known = pl.DataFrame(
        {
            "calls": totals(calls["input_schema"].is_not_null(), n_calls),
            "valid": totals(_valid(calls), n_calls),
            "hidden": totals(_is_hidden(calls), n_calls),
        }
    )
    told = pl.when((pl.col("calls") > 0) & (pl.col("hidden") == 0))
    return known.select(
        told.then("calls").alias("n_schema_calls"), told.then("valid").alias("n_schema_valid")
    )


def with_schemas(runs: pl.DataFrame, steps: pl.DataFrame, tools: pl.DataFrame) -> pl.DataFrame:
    """Return every tool call with the schema that its run's task gives its tool, or null."""
    tasks = tools.select(TASK).unique(maintain_order=True).with_row_index("offer")
    offer = _joined(runs.select(TASK), tasks)["offer"]
    calls = steps.select("kind", "name_key", "args_status", "tool_args").with_columns(
        offer.gather(owners(runs["n_rows"])).alias("offer")
    )
    found = calls.filter(pl.col("kind") == "tool_call").join(
        _offered(tools, tasks), on=["offer", "name_key"], how="left", maintain_order="left"
    )
    texts = found["input_schema"].drop_nulls().unique()
    sound = texts.filter(pl.Series([fault(text) is None for text in texts], dtype=pl.Boolean))
    return found.with_columns(
        pl.when(pl.col("input_schema").is_in(sound.implode())).then("input_schema")
    )


def broken(known: TaskFolders) -> pl.DataFrame:
    """Return the tools in force whose schema is none: name, n_tasks that offer it so, and why."""
    tools = in_force(known, known.latest)
    if not _checks(tools):
        tools = tools.clear()
    counted = (
        tools.drop_nulls("input_schema")
        .group_by("name", "input_schema", maintain_order=True)
        .agg(pl.len().alias("n_tasks"))
    )
    why = pl.Series("why", map(fault, counted["input_schema"]), dtype=pl.String)
    return counted.with_columns(why).drop("input_schema").drop_nulls("why")


def _offered(tools: pl.DataFrame, tasks: pl.DataFrame) -> pl.DataFrame:
    """Return offer, name_key, name and input_schema of the tools; a later row of a tool wins."""
    names = tools["name"].unique()
    keys = pl.Series([name_key(name) for name in names], dtype=pl.UInt64)
    latest = tools.unique([*TASK, "name"], keep="last", maintain_order=True)
    return _joined(latest, tasks).select(
        "offer",
        pl.col("name").replace_strict(names, keys, return_dtype=pl.UInt64).alias("name_key"),
        "name",
        "input_schema",
    )


def _joined(left: pl.DataFrame, tasks: pl.DataFrame) -> pl.DataFrame:
    return left.join(tasks, on=TASK, how="left", nulls_equal=True, maintain_order="left")


def _is_hidden(calls: pl.DataFrame) -> pl.Series:
    return calls["input_schema"].is_not_null() & (calls["args_status"] == "not_captured")


def _valid(calls: pl.DataFrame) -> pl.Series:
    """Tell which calls are valid, checking each distinct (schema, arguments) once."""
    readable = pl.col("input_schema").is_not_null() & (pl.col("args_status") == "ok")
    pair = ["input_schema", "tool_args"]
    asked = calls.filter(readable).unique(pair, maintain_order=True)
    verdicts = [
        validator(schema)(msgspec.json.decode(args))
        for schema, args in asked.select(pair).iter_rows()  # distinct pairs
    ]
    judged = asked.select(pair).with_columns(pl.Series("valid", verdicts, dtype=pl.Boolean))
    joined = calls.join(judged, on=pair, how="left", maintain_order="left")
    return joined.select(pl.col("valid").fill_null(value=False) & readable).to_series()


@lru_cache(maxsize=1024)
def fault(schema: str) -> str | None:
    """Return why a text is no valid JSON Schema; None where it is one."""
    try:
        validator(schema)
    except ValueError as error:
        return str(error).split("\n", 1)[0]
    return None


@lru_cache(maxsize=1024)
def validator(schema: str) -> Callable[[Any], bool]:
    """Return the check of one schema, given as JSON text.

    Raises:
        ValueError: the text is no valid JSON Schema.
    """
    library = _library()
    checker = library.validator_for(schema, validate_formats=True, retriever=_refuse)
    is_valid: Callable[[Any], bool] = checker.is_valid
    return is_valid


def _refuse(uri: str) -> Any:
    raise ValueError(f"{uri} is outside the schema, and nothing is fetched")


def _checks(tools: pl.DataFrame) -> bool:
    return tools["input_schema"].is_not_null().any() and _library() is not None


def _library() -> Any:
    """Return the validator library, or None where the extra `schema` is not installed."""
    try:
        import jsonschema_rs  # noqa: PLC0415 - an extra
    except ImportError:
        return None
    return jsonschema_rs
