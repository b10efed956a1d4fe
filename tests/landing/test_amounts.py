"""Amounts that are none: negative ones are null and stay seen, sums beyond a double are null."""

from __future__ import annotations

import json

import polars as pl
from making import call, run, scores_of, steps_of, write

from pipeline.landing.land import land
from pipeline.scoring import score
from pipeline.tables.aggregate import aggregate

AMOUNTS = ("input_tokens", "output_tokens", "cost_usd", "duration_ms")


def _landed(tmp_path, *runs):
    land([write(tmp_path / "runs.jsonl", runs)], tmp_path / "lake", workers=1)
    score(tmp_path / "lake")
    return tmp_path / "lake"


def test_a_negative_amount_is_null_and_a_label(tmp_path):
    odd = call("a", input_tokens=-1, output_tokens=-7, cost_usd=-0.5, duration_ms=-2.5)
    good = call("a", input_tokens=0, output_tokens=7, cost_usd=0.0, duration_ms=2.5)
    lake = _landed(tmp_path, run("r", {**odd, "labels": {"own": 1}}, good))
    first, second = steps_of(lake).select(*AMOUNTS, "labels").rows()

    assert first[:4] == (None, None, None, None)
    assert json.loads(first[4]) == {
        "own": 1, "unread.input_tokens": -1, "unread.output_tokens": -7,
        "unread.cost_usd": -0.5, "unread.duration_ms": -2.5,
    }  # fmt: skip
    assert second == (0, 7, 0.0, 2.5, None)


def test_unknown_tokens_written_as_minus_one_cost_no_table(tmp_path):
    """One run's -1 + -1 made ln(1 - 2) of its tokens, which no table of the lake survived."""
    unknown = call("a", input_tokens=-1, output_tokens=-1)
    lake = _landed(tmp_path, run("known", call("a", input_tokens=100)), run("unknown", unknown))
    rows = aggregate(lake, metrics=["total_tokens", "token_efficiency_log"]).rows

    assert rows.select("metric", "n_scored", "n_null").rows() == [
        ("total_tokens", 1, 1), ("token_efficiency_log", 1, 1),
    ]  # fmt: skip
    assert rows["mean"].to_list()[0] == 100.0


def test_a_step_whose_time_cannot_be_read_says_so(tmp_path):
    lake = _landed(tmp_path, run("r", call("a", started_at="2026-02-31")))
    started, labels = steps_of(lake).select("started_at", "labels").row(0)

    assert started is None
    assert json.loads(labels) == {"unread.started_at": "2026-02-31"}


def test_a_sum_beyond_a_double_is_null(tmp_path):
    lake = _landed(
        tmp_path,
        run("huge", call("a", cost_usd=1e308), call("a", cost_usd=1e308)),
        run("small", call("a", cost_usd=0.5)),
    )

    assert scores_of(lake)["cost_usd"].to_list() == [None, 0.5]
    assert aggregate(lake, metrics=["cost_usd"]).rows.select("n_scored", "mean").row(0) == (1, 0.5)
    assert not scores_of(lake).select(pl.col(pl.Float64).is_nan().any()).row(0).count(True)
