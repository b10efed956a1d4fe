"""Laws that every metric keeps; joining the registry enrols a metric in them."""

from __future__ import annotations

import json
import math
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from making import call, run, scores_of, want, write

from pipeline.landing.land import land
from pipeline.metrics.registry import metrics
from pipeline.scoring import score

if TYPE_CHECKING:
    import random

    import polars as pl

CALLS = st.tuples(st.sampled_from("abc"), st.sampled_from([{}, {"x": 1}, {"x": 1.0}, {"x": "1"}]))
SEQUENCES = st.lists(CALLS, max_size=10)
PAIRS = st.lists(st.tuples(SEQUENCES, SEQUENCES), min_size=1, max_size=10)
Sequence = list[tuple[str, dict[str, Any]]]

NUMBERS = [name for name, metric in metrics().items() if str(metric.kind) != "text"]
MATCHING = [name for name in NUMBERS if metrics()[name].family in ("ordered", "overlap")]
OVERLAP = [
    name for name in MATCHING
    if metrics()[name].family == "overlap" and "position" not in name and not name.endswith("_turns")
]  # fmt: skip
BEST_IS_ONE = [
    name for name in MATCHING
    if metrics()[name].kind in ("fraction", "flag") and not name.endswith("_turns")
]  # fmt: skip


def record(number: int, expected: Sequence, actual: Sequence) -> dict[str, Any]:
    steps = [call(name, args, is_error=name == "c", output="x") for name, args in actual]
    wanted = [want(name, args) for name, args in expected]
    return run(f"r{number:03}", *steps, expected=wanted)


def scored(records: list[dict[str, Any]], files: int = 1) -> pl.DataFrame:
    with tempfile.TemporaryDirectory() as folder:
        lake = Path(folder, "lake")
        for part in range(files):
            source = Path(folder, f"{part}.jsonl")
            land([write(source, records[part::files])], lake)
        score(lake)
        return scores_of(lake).drop("run_key")


@given(PAIRS)
def test_every_number_is_in_its_range_and_never_nan(pairs: list[tuple[Sequence, Sequence]]) -> None:
    table = scored([record(i, e, a) for i, (e, a) in enumerate(pairs)])
    for name in NUMBERS:
        metric = metrics()[name]
        for value in table[name].drop_nulls():
            assert not math.isnan(value), name
            assert metric.low is None or value >= metric.low, name
            assert metric.high is None or value <= metric.high, name


@given(st.lists(SEQUENCES, min_size=1, max_size=10))
def test_a_run_equal_to_its_reference_scores_one(sequences: list[Sequence]) -> None:
    table = scored([record(i, s, s) for i, s in enumerate(sequences)])
    for name in BEST_IS_ONE:
        assert table[name].to_list() == [1] * len(sequences), name


@given(PAIRS, st.randoms(use_true_random=False))
def test_metrics_that_ignore_order_ignore_it(
    pairs: list[tuple[Sequence, Sequence]], chance: random.Random
) -> None:
    shuffled = [(e, chance.sample(a, len(a))) for e, a in pairs]
    table = scored([record(i, e, a) for i, (e, a) in enumerate(pairs + shuffled)])
    one, two = table.head(len(pairs)), table.tail(len(pairs))
    assert one.select(OVERLAP).equals(two.select(OVERLAP))


@given(PAIRS, st.randoms(use_true_random=False))
def test_no_other_run_touches_a_runs_numbers(
    pairs: list[tuple[Sequence, Sequence]], chance: random.Random
) -> None:
    """Neither the order of runs, nor the file, nor the batch they come in."""
    records = [record(i, e, a) for i, (e, a) in enumerate(pairs)]
    one = scored(records)
    assert one.equals(scored(chance.sample(records, len(records)), files=min(3, len(records))))


@pytest.mark.parametrize(
    "other",
    [
        {"b": [1, {"d": None, "c": 2.0}], "a": 1},
        {"a": 1.0, "b": [1e0, {"c": 2, "d": None}]},
        '{"a": 1, "b": [1, {"c": 2, "d": null}]}',
        json.dumps('{"a": 1, "b": [1.0, {"c": 2, "d": null}]}'),
    ],
)
def test_spelling_arguments_otherwise_changes_no_score(other: object) -> None:
    args = {"a": 1, "b": [1, {"c": 2, "d": None}]}
    plain = scored([run("r", call("t", args), expected=[want("t", args)])])
    assert scored([run("r", call("t", other), expected=[want("t", args)])]).equals(plain)
    assert scored([run("r", call("t", args), expected=[want("t", other)])]).equals(plain)
