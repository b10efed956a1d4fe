"""What is compared with what: each run, or each user turn, against each alternative."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from pipeline.errors import InputError
from pipeline.scoring.segments import owners, starts

if TYPE_CHECKING:
    from pipeline.policy import Policy
    from pipeline.scoring.references import Expected

MOST_TURNS = 100_000
TURNS = 1 << 32
"""Room for turns in the packed (run, turn)."""


class Units(NamedTuple):
    """Comparisons, with the actual calls of each laid out flat.

    `frame`: pair (number), run, reference_id, ref, n_expected, n_calls, first, relation,
    optional.
    `calls`: pair, ref, ordinal, key, name_key, args_status, response_index, call (its number among
    the batch's tool calls); sorted by (pair, ordinal).
    """

    frame: pl.DataFrame
    calls: pl.DataFrame


CALL_COLUMNS = ("key", "name_key", "args_status", "response_index")


def units(runs: pl.DataFrame, steps: pl.DataFrame, expected: Expected, policy: Policy) -> Units:
    """Lay out every comparison; `runs` has n_rows and reference_set, `steps` are run after run."""
    by_turn = policy.match.unit == "turn"
    turn = (
        steps["turn_index"].fill_null(0).cast(pl.Int64)
        if by_turn
        else pl.zeros(steps.height, dtype=pl.Int64, eager=True)
    )
    owner = owners(runs["n_rows"]).cast(pl.Int64)
    packed = (owner * TURNS + turn).rename("packed")
    is_call = steps["kind"] == "tool_call"
    columns = [name for name in CALL_COLUMNS if name in steps.columns]
    calls = (
        steps.filter(is_call)
        .select(columns)
        .with_columns(packed.filter(is_call))
        .with_row_index("call")
    )
    if by_turn:  # a log may come back to an earlier turn
        calls = calls.sort("packed", maintain_order=True)
    frame = _frame(runs, expected, _turns(runs, packed) if by_turn else None)
    at = frame["run"].cast(pl.Int64) * TURNS + frame["turn"]
    begins = calls["packed"].search_sorted(at, side="left").cast(pl.Int64)
    ends = calls["packed"].search_sorted(at, side="right").cast(pl.Int64)
    frame = frame.with_columns((ends - begins).alias("n_calls"))
    pair = owners(frame["n_calls"])
    ordinal = pl.int_range(len(pair), eager=True) - starts(frame["n_calls"]).gather(pair)
    row = begins.gather(pair) + ordinal
    flat = pl.DataFrame(
        {
            "pair": pair,
            "ref": frame["ref"].gather(pair),
            "ordinal": ordinal,
            **{name: calls[name].gather(row) for name in (*columns, "call")},
        }
    )
    return Units(frame, flat)


def _turns(runs: pl.DataFrame, packed: pl.Series) -> pl.Series:
    """Return how many user turns each run has, at least 1."""
    highest = (
        pl.DataFrame({"run": packed // TURNS, "turn": packed % TURNS})
        .group_by("run")
        .agg(pl.col("turn").max() + 1)
    )
    last: int = highest.select(pl.col("turn").max().fill_null(0)).item()
    if last > MOST_TURNS:
        raise InputError(
            f"a run has user turn {last}; at most {MOST_TURNS} can be compared by turn: "
            'set match.unit = "run", or number turns from 0'
        )
    each = pl.DataFrame({"run": pl.int_range(runs.height, eager=True)})
    return each.join(highest, on="run", how="left", maintain_order="left")["turn"].fill_null(1)


def _frame(runs: pl.DataFrame, expected: Expected, turns: pl.Series | None) -> pl.DataFrame:
    """Return one row per run, alternative and turn."""
    each = pl.int_range(runs.height, dtype=pl.UInt32, eager=True).alias("run")
    sets = runs.select("reference_set").with_columns(each)
    chosen = sets.join(expected.alternatives, on="reference_set", maintain_order="left_right")
    if turns is None:
        rows = chosen.with_columns(pl.lit(0, dtype=pl.Int64).alias("turn"))
    else:
        n = pl.max_horizontal("n_turns", turns.gather(chosen["run"]).alias("own"))
        rows = chosen.with_columns(pl.int_ranges(0, n, dtype=pl.Int64).alias("turn")).explode(
            "turn"
        )
    empty = expected.refs.height - 1
    faced = expected.refs.select(
        "reference_set",
        "reference_id",
        "turn",
        "ref",
        "n_expected",
        "first",
        "relation",
        "optional",
    )
    joined = rows.join(
        faced, on=["reference_set", "reference_id", "turn"], how="left", maintain_order="left"
    )
    return joined.select(
        "run",
        "reference_id",
        "turn",
        pl.col("ref").fill_null(empty),
        pl.col("n_expected", "first").fill_null(0),
        pl.col("relation", "optional").fill_null(value=False),
    ).with_row_index("pair")


def part(whole: Units, wanted: pl.Series) -> Units:
    """Return the comparisons that `wanted` (a truth per pair) keeps; numbers stay."""
    return Units(whole.frame.filter(wanted), whole.calls.filter(wanted.gather(whole.calls["pair"])))
