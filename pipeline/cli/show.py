"""`trajtab show`: one run, step by step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click
import polars as pl
from rich.cells import cell_len, chop_cells

from pipeline.cli.command import command as declare
from pipeline.cli.files import write, write_results
from pipeline.cli.options import Outputs, lake_argument, output_options, policy_option
from pipeline.cli.output import emit, fitted, say, terminal_width
from pipeline.cli.values import format_of
from pipeline.report.markup import plain
from pipeline.report.run.page import run_page
from pipeline.text import NULL, one_line
from pipeline.timeline import CUT, Timeline, as_result, cut, name, timelines

if TYPE_CHECKING:
    from collections.abc import Iterator
    from os import PathLike

MOST = 20
"""Expected calls printed one by one."""

INDENT = "  "
TITLE = 10
JOINED = "\u00a0"
"""Holds a name and its value together where a line breaks."""


_EXAMPLE = """\
trajtab show lake s0-0000012
trajtab show lake s0-0000012 -o run.html"""


@declare("show", example=_EXAMPLE)
@lake_argument
@click.argument("run_id")
@policy_option
@output_options
def command(lake: PathLike[str], run_id: str, policy: str | None, outputs: Outputs) -> None:
    """Show one run, step by step.

    RUN_ID is a run's id, or its source's own. Runs of several agents that share the id are all
    shown. Secrets are masked; texts are cut in a table, whole in json, jsonl, csv and parquet.
    `-o run.html` is a page with the calls beside the expected ones and every step.
    """
    found = timelines(lake, run_id, policy=policy)
    for file in outputs.files:
        if format_of(file) == "html":
            write(file, run_page(lake, found, policy=policy).encode())
    outputs = outputs._replace(files=tuple(f for f in outputs.files if format_of(f) != "html"))
    result, brief = as_result(found), as_result(found, CUT)
    if outputs.format != "table":
        emit(result, outputs, cut=brief)
        return
    write_results(outputs.files, result, brief)
    for note in result.notes:
        say(f"note: {note}")
    click.echo("\n\n".join("\n".join(drawn(timeline)) for timeline in found))


def drawn(timeline: Timeline) -> Iterator[str]:
    """Yield a run's facts, scores and expected calls, then its steps, as lines."""
    width = terminal_width()
    yield from _wrapped("run ", one_line(name(timeline)), width)
    for told in (facts(timeline.run), standing(timeline), expected(timeline.expected)):
        yield from _titled(told, width)
    yield ""
    yield fitted(readable(timeline.steps), width)


def facts(run: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield what the log says of a run as pairs of title and text."""
    yield "task", _known(run, "task_id", "suite", "trial")
    yield "status", _known(run, "status", "success", "reward", "completed")
    yield "time", _known(run, "started_at", "ended_at")
    yield "source", _known(run, "source_path", "source_line", "source_id")
    yield "labels", plain(run["labels"], CUT)


def standing(timeline: Timeline) -> Iterator[tuple[str, str]]:
    """Yield the policy and the scores under it."""
    yield "policy", one_line(timeline.policy)
    scores = timeline.scores
    yield "scores", "none yet (trajtab score)" if scores is None else _known(scores, *scores)


def expected(calls: pl.DataFrame) -> Iterator[tuple[str, str]]:
    """Yield the expected calls, with their alternative where there are several."""
    several = calls["reference_id"].n_unique() > 1
    title = "expected"
    for call in calls.head(MOST).to_dicts():
        alternative = f"[{call['reference_id']}] " if several else ""
        yield title, alternative + _expected_call(call)
        title = ""
    if calls.height > MOST:
        yield "", f"and {calls.height - MOST} more"
    if calls.is_empty():
        yield title, "no reference"


def readable(steps: pl.DataFrame) -> pl.DataFrame:
    """Return steps for reading: what was said or called, and what came of it, in one column."""
    flat = cut(steps.with_columns(pl.selectors.string().str.replace_all(r"\s+", " ")), CUT)
    arguments = pl.col("tool_args").fill_null("(arguments not captured)")
    failure = pl.lit(" ✗ ") + pl.coalesce("error", "output", pl.lit("failed"))
    outcome = pl.when("is_error").then(failure).otherwise(pl.lit(" → ") + pl.col("output"))
    call = pl.col("tool_name") + " " + arguments + outcome.fill_null("")
    said = pl.col("content").fill_null("")
    speaker = pl.when(pl.col("actor") != "agent").then(pl.col("actor") + ": ").fill_null("")
    return flat.select(
        pl.col("step_index").alias("step"),
        pl.col("turn_index").alias("turn"),
        "kind",
        (speaker + pl.when(pl.col("kind") == "tool_call").then(call).otherwise(said)).alias("what"),
        _marks().alias("marks"),
        pl.col("expected_position").alias("matches"),
        # Two counts of 64 bits may need 65.
        pl.col("input_tokens").cast(pl.Int128).add(pl.col("output_tokens")).alias("tokens"),
        pl.col("duration_ms").alias("ms"),
    )


def _marks() -> pl.Expr:
    """Name what scoring says of a call."""
    named = {"is_backtrack": "repeat", "is_retry": "retry", "in_loop": "loop"}
    marks = [pl.when(column).then(pl.lit(word)) for column, word in named.items()]
    return pl.concat_str(marks, separator=", ", ignore_nulls=True).replace("", None)


def _titled(pairs: Iterator[tuple[str, str]], width: int | None) -> Iterator[str]:
    """Yield pairs as lines of at most `width`, texts below each other; None is one line each."""
    for title, text in pairs:
        if text == NULL:
            continue
        start = f"{INDENT}{title:<{TITLE}}"
        yield from (line.replace(JOINED, " ") for line in _wrapped(start, text, width))


def _wrapped(start: str, text: str, width: int | None) -> list[str]:
    """Break a text into lines of at most `width` terminal cells, the first behind `start`."""
    if width is None:
        return [start + text]
    room = max(width - len(start), TITLE)
    lines = [""]
    for word in text.split(" "):
        beside = f"{lines[-1]} {word}" if lines[-1] else word
        if cell_len(beside) <= room:
            lines[-1] = beside
        else:
            lines += chop_cells(word, room)
    kept = lines if lines[0] else lines[1:]
    indents = [start, *([" " * len(start)] * len(kept))]
    return [indent + line for indent, line in zip(indents, kept, strict=False)]


def _known(row: dict[str, Any], *keys: str) -> str:
    """Return the values that are known, each with its name."""
    known = (f"{key}{JOINED}{plain(row[key], CUT)}" for key in keys if row[key] is not None)
    return ", ".join(known) or NULL


def _expected_call(call: dict[str, Any]) -> str:
    if call["position"] is None:
        return "no call"
    optional = " (optional)" if call["optional"] else ""
    arguments = "(any arguments)" if call["tool_args"] is None else call["tool_args"]
    return plain(f"{call['tool_name']} {arguments}", CUT) + optional
