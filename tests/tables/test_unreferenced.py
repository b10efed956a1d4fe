"""Where no run has a reference, a note says what the nulls are and what to do."""

from __future__ import annotations

from lakes import final, scored
from making import call, run, want

from pipeline.lake import Lake
from pipeline.tables.aggregate import aggregate

HELP = "no run has a reference, which f1 and its like need"


def helped(lake, *metrics):
    return any(note.startswith(HELP) for note in aggregate(lake, metrics=metrics).notes)


def test_it_is_said_of_metrics_that_need_one(tmp_path):
    lake = scored(tmp_path, run("r1", call("search"), final()), run("r2", final()))
    assert helped(lake, "n_calls", "f1", "in_order")
    assert not helped(lake, "n_calls")


def test_one_run_with_a_reference_is_enough(tmp_path):
    lake = scored(tmp_path, run("r1", call("a"), expected=[want("a")]), run("r2", final()))
    assert not helped(lake, "f1")


def test_an_empty_lake_needs_no_help(tmp_path):
    assert not helped(Lake.create(tmp_path / "lake"), "f1")
