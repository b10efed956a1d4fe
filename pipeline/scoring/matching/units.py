"""What is compared with what: each run, or each user turn, against each alternative."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from pipeline.scoring.matching.turns import laid_out, of_steps
from pipeline.scoring.segments import Segments

if TYPE_CHECKING:
    from pipeline.policy import Policy
    from pipeline.scoring.matching.references import Expected

TURNS = 1 << 32
"""Room for turns in the packed (run, turn)."""


class Units(NamedTuple):
    """Comparisons, with the actual calls of each laid out flat.

    `frame`: pair (number), run, reference_id, n_reference, turn, ref, n_expected, first, relation,
    search, optional, n_calls.
    `calls`: pair, ref, ordinal, key, name_key, response_index, hidden (were its arguments not
    captured?), call (its number among the batch's tool calls); sorted by (pair, ordinal).
    """

    frame: pl.DataFrame
    calls: pl.DataFrame


class _Cut(NamedTuple):
    """The batch's calls, and for each row of a frame where its own begin and how many they are."""

    calls: pl.DataFrame
    begins: pl.Series
    n_calls: pl.Series


CALL_COLUMNS = ("key", "name_key", "response_index")

FACED = ("ref", "n_expected", "first", "relation", "search", "optional")


def units(runs: pl.DataFrame, steps: pl.DataFrame, expected: Expected, policy: Policy) -> Units:
    """Lay out every comparison; `runs` has n_rows and reference_set, `steps` are run after run."""
    cut = _by_turn if policy.match.unit == "turn" else _by_run
    frame, found = cut(runs, steps, expected)
    frame = frame.with_columns(found.n_calls.alias("n_calls"))
    flat = Segments(found.n_calls)
    row = found.begins.cast(pl.UInt32)[flat.owners] + flat.ordinals
    calls = found.calls[row].with_columns(
        flat.owners.alias("pair"),
        flat.ordinals.alias("ordinal"),
        frame["ref"][flat.owners].alias("ref"),
        row.alias("call") if "call" not in found.calls.columns else pl.col("call"),
    )
    return Units(frame, calls)


def _calls(steps: pl.DataFrame, is_call: pl.Series) -> pl.DataFrame:
    columns = [name for name in CALL_COLUMNS if name in steps.columns]
    hidden = pl.col("call_key").is_null().alias("hidden")
    return steps.select(*columns, hidden).filter(is_call).rechunk()


def _by_run(
    runs: pl.DataFrame, steps: pl.DataFrame, expected: Expected
) -> tuple[pl.DataFrame, _Cut]:
    is_call = steps["kind"] == "tool_call"
    in_run = Segments(Segments(runs["n_rows"]).totals(is_call))
    at_once = expected.alternatives.with_columns(pl.lit(0, dtype=pl.Int64).alias("turn"))
    frame = _numbered(_alternatives(runs, _faced(at_once, expected)))
    begins, n_calls = in_run.starts[frame["run"]], in_run.lengths[frame["run"]]
    return frame, _Cut(_calls(steps, is_call), begins, n_calls)


def _by_turn(
    runs: pl.DataFrame, steps: pl.DataFrame, expected: Expected
) -> tuple[pl.DataFrame, _Cut]:
    in_run = Segments(runs["n_rows"])
    turn = of_steps(steps["turn_index"], in_run)
    packed = (in_run.owners.cast(pl.Int64) * TURNS + turn).rename("packed")
    had = in_run.lists(turn)
    rows = laid_out(_alternatives(runs, expected.alternatives), had, expected)
    frame = _numbered(_faced(rows, expected))
    is_call = steps["kind"] == "tool_call"
    calls = _calls(steps, is_call).with_columns(packed.filter(is_call)).with_row_index("call")
    calls = calls.sort("packed", maintain_order=True)  # a log may come back to an earlier turn
    at = frame["run"].cast(pl.Int64) * TURNS + rows["made"]
    begins = calls["packed"].search_sorted(at, side="left").cast(pl.Int64)
    ends = calls["packed"].search_sorted(at, side="right").cast(pl.Int64)
    n_calls = (ends - begins).set(at.is_null(), 0)
    return frame, _Cut(calls.drop("packed"), begins, n_calls)


def _alternatives(runs: pl.DataFrame, alternatives: pl.DataFrame) -> pl.DataFrame:
    """Return one row per run and alternative of its reference, in the order of runs."""
    each = pl.int_range(runs.height, dtype=pl.UInt32, eager=True).alias("run")
    sets = runs.select("reference_set").with_columns(each)
    return sets.join(alternatives, on="reference_set", maintain_order="left_right")


def _faced(rows: pl.DataFrame, expected: Expected) -> pl.DataFrame:
    """Add what each row (reference_set, reference_id, turn) faces: its ref, or the empty one."""
    empty = expected.refs.height - 1
    ends = ["reference_set", "reference_id", "turn"]
    faced = expected.refs.select(*ends, *FACED)
    return rows.join(faced, on=ends, how="left", maintain_order="left").with_columns(
        pl.col("ref").fill_null(empty),
        pl.col("n_expected", "first").fill_null(0),
        pl.col("relation", "search", "optional").fill_null(value=False),
    )


def _numbered(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.select("run", "reference_id", "n_reference", "turn", *FACED).with_row_index("pair")


def part(whole: Units, wanted: pl.Series) -> Units:
    """Return the comparisons that `wanted` (a truth per pair) keeps; numbers stay."""
    return Units(whole.frame.filter(wanted), whole.calls.filter(wanted[whole.calls["pair"]]))


def renumbered(whole: Units, wanted: pl.Series) -> Units:
    """Return the comparisons that `wanted` (a truth per pair) keeps, numbered anew from 0."""
    some = part(whole, wanted)
    frame = some.frame.drop("pair").with_row_index("pair")
    pair = Segments(frame["n_calls"]).owners
    return Units(frame, some.calls.with_columns(pair.alias("pair")))
