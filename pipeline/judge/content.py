"""The parts of a log that a judge is shown: one text column per part, one row per unit judged.

Secrets are masked first and texts shortened after, since half a key is still a key.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from pipeline.redact import redact

if TYPE_CHECKING:
    from collections.abc import Sequence

FIELD = 4_000
"""Characters of one field (an output, a message) that a judge sees."""
HISTORY = 40
"""Steps before the judged one that a judge sees."""

_TEXTS = ("tool_args", "output", "error", "content")


def parts_of(
    units: pl.DataFrame,
    steps: pl.DataFrame,
    runs: pl.DataFrame,
    names: Sequence[str],
    most: int,
) -> pl.DataFrame:
    """Return `units` with one String column per part named, null where the log has nothing.

    Args:
        units: run_key and step_index (null: the whole run).
        steps: the steps of their runs, sorted by run and step: what `sql/judge/steps.sql` gives.
        runs: what `sql/judge/runs.sql` gives.
        names: parts, keys of `rubric.PARTS`.
        most: characters of one part at most; the middle is left out.
    """
    told = steps.with_columns(masked(steps[name]) for name in _TEXTS).with_columns(
        shortened(pl.col(name), FIELD) for name in _TEXTS
    )
    told = told.with_columns(said(), came_of_it(), row=pl.int_range(pl.len(), dtype=pl.Int64))
    about = runs.with_columns(masked(runs[name]) for name in ("task", "answer", "reference"))
    placed = _placed(units, told).join(about, on="run_key", how="left", maintain_order="left")
    columns = {name: _part(name, placed, told) for name in names}
    return units.with_columns(shortened(text, most).alias(name) for name, text in columns.items())


def said() -> pl.Expr:
    """Return the column `said`: a step in one line, without what came of it."""
    actor = pl.coalesce("actor", pl.lit("agent"))
    args = pl.coalesce("tool_args", pl.lit("(arguments not logged)"))
    content = pl.coalesce("content", pl.lit(""))
    tool = pl.coalesce("tool_name", pl.lit("(a tool)"))
    of_kind = (
        pl.when(kind="tool_call")
        .then(pl.format("{} calls {} with {}", actor, tool, args))
        .when(kind="final")
        .then(pl.format("{} gives the final answer: {}", actor, content))
        .otherwise(pl.format("{} says: {}", actor, content))
    )
    return pl.format("[{}] {}", "step_index", of_kind).alias("said")


def came_of_it() -> pl.Expr:
    """Return the column `came`: what a call returned, with its error; null for other steps."""
    failed = pl.when(pl.col("is_error") | pl.col("error").is_not_null())
    error = failed.then(pl.format("failed: {}", pl.coalesce("error", pl.lit("(no message)"))))
    output = pl.format("returned: {}", "output")
    told = pl.concat_str(error, output, separator="\n    ", ignore_nulls=True)
    is_call = pl.col("kind") == "tool_call"
    nothing = pl.lit("(no output logged)")
    return pl.when(is_call).then(pl.when(told != "").then(told).otherwise(nothing)).alias("came")


def masked(texts: pl.Series) -> pl.Series:
    """Return texts with secrets masked; each distinct text is looked at once."""
    distinct = texts.drop_nulls().unique()
    if distinct.is_empty():
        return texts
    table = pl.DataFrame({"from": distinct, "to": map(redact, distinct)})
    found = texts.to_frame("from").join(table, on="from", how="left", maintain_order="left")
    return found["to"].alias(texts.name)


def shortened(text: pl.Expr | pl.Series, most: int) -> pl.Expr:
    """Return texts of at most about `most` characters: head and tail, and what is between counted.

    >>> pl.select(shortened(pl.lit("abcdefghij"), 4)).item()
    'abc […6 characters left out…] j'
    """
    column = pl.lit(text) if isinstance(text, pl.Series) else text
    size = column.str.len_chars().cast(pl.Int64)
    tail = most // 4
    cut = pl.format(
        "{} […{} characters left out…] {}",
        column.str.head(most - tail), size - most, column.str.tail(tail),
    )  # fmt: skip
    return pl.when(size > most).then(cut).otherwise(column)


def _placed(units: pl.DataFrame, told: pl.DataFrame) -> pl.DataFrame:
    """Add each unit's row in the steps, and its run's first and last + 1."""
    spans = told.group_by("run_key", maintain_order=True).agg(
        first=pl.col("row").first(), last=pl.col("row").last() + 1
    )
    rows = told.select("run_key", "step_index", "row")
    return units.join(
        rows, on=["run_key", "step_index"], how="left", maintain_order="left"
    ).join(spans, on="run_key", how="left", maintain_order="left")  # fmt: skip


def _part(name: str, placed: pl.DataFrame, told: pl.DataFrame) -> pl.Series:
    if name in ("task", "answer", "reference"):
        return placed[name]
    if name == "step":
        return told["said"].gather(placed["row"])
    if name == "output":
        return told["came"].gather(placed["row"])
    whole = told.select(pl.concat_str("said", "came", separator="\n    ", ignore_nulls=True))
    lines = whole.to_series()
    if name == "outputs":
        lines = told.select(pl.when(kind="tool_call").then(pl.lit(lines))).to_series()
    if name != "history":
        return _joined(lines, placed["first"], placed["last"])
    start = pl.max_horizontal("first", pl.col("row") - HISTORY)
    spans = placed.select(start.alias("start"), "row", left_out=start - pl.col("first"))
    shown = _joined(lines, spans["start"], spans["row"])
    head = pl.when(pl.col("left_out") > 0).then(
        pl.format("({} earlier steps left out)", "left_out")
    )
    return spans.select(
        pl.when(pl.lit(shown).is_not_null()).then(
            pl.concat_str(head, pl.lit(shown), separator="\n", ignore_nulls=True)
        )
    ).to_series()


def _joined(lines: pl.Series, starts: pl.Series, ends: pl.Series) -> pl.Series:
    """Return, for each span of rows, its lines as one text; null where there are none."""
    spans = pl.DataFrame({"start": starts, "end": ends}).with_row_index("unit")
    flat = (
        spans.drop_nulls()
        .select("unit", row=pl.int_ranges("start", "end"))
        .explode("row")
        .drop_nulls()
    )
    texts = (
        flat.with_columns(line=lines.gather(flat["row"]))
        .drop_nulls("line")
        .group_by("unit", maintain_order=True)
        .agg(pl.col("line").str.join("\n"))
    )
    return spans.join(texts, on="unit", how="left", maintain_order="left")["line"]
