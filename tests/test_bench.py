"""The bench at a tiny size: every row has its figure. What the figures are is no matter here."""

from __future__ import annotations

import json
from time import process_time

import pytest
from bench import __main__ as bench
from bench import growth, landing, peers, plain, scoring, soak, tables, whole
from bench.measuring import Process, Row, process, ratios
from click.testing import CliRunner
from lakes import trajtab

from pipeline.landing.land import land
from pipeline.sample import sample
from pipeline.scoring import score
from pipeline.tables.aggregate import aggregate


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    return sample(tmp_path_factory.mktemp("log"), runs=200, seed=3)[0].path


@pytest.fixture(scope="module")
def lake(log, tmp_path_factory):
    lake = tmp_path_factory.mktemp("lakes") / "lake"
    land([log], lake, workers=1)
    return lake


def test_the_plain_loop_computes_the_same_figures(log, lake):
    """Speed is compared of equal work: every headline metric, its count, mean and deviation."""
    score(lake)
    plainly = plain.summed(log)
    rows = aggregate(lake).rows
    assert set(rows["metric"]) < set(plainly)
    for metric, *figures in rows.select("metric", "n_scored", "mean", "std").rows():
        assert plainly[metric] == pytest.approx(tuple(figures)), metric


def test_scoring_and_landing_have_their_rows(log, lake, tmp_path):
    found = [*scoring.rows(lake, 1), *landing.rows(log, tmp_path, 1, chat_runs=40)]
    assert [row.row for row in found] == ["a", "a", "b", "b", "b"]
    assert all(row.value > 0 for row in found)


def in_this_process(*args):
    """Run a command without a process of its own, as other tests here have them."""
    begin = process_time()
    assert trajtab(*args) == 0
    return Process(cpu_s=process_time() - begin, peak_mib=1, wall_s=1)


def test_the_whole_has_its_rows(log, tmp_path, monkeypatch):
    monkeypatch.setattr(whole, "trajtab", in_this_process)
    found = whole.rows(log, tmp_path, 1)
    assert [row.goal for row in found] == [">= 1.5", ">= 25", "", ""]
    assert {row.row for row in found} == {"c"}
    assert len(found[0].detail["land_score_again_aggregate_cpu_s"]) == 4


def test_a_peer_is_measured_or_said_to_be_absent(log, lake, monkeypatch):
    counted = []
    scorers = {"one": lambda examples: counted.append(len(examples))}
    known = [
        peers.Peer("polars", lambda: scorers, {"one": ("f1",)}),
        peers.Peer("no-such-library", lambda: scorers, {"one": ("f1",)}),
    ]
    monkeypatch.setattr(peers, "PEERS", known)
    one, same, everything, absent = peers.rows(log, lake, 20, 1)
    assert counted == [2, 20]
    theirs = {row.detail["their_us_per_run"] for row in (one, same, everything)}
    assert len(theirs) == 1
    assert min(one.value, same.value, everything.value) > 0
    assert (one.goal, same.goal, everything.goal) == ("", ">= 100", "")
    assert (absent.value, absent.what) == (None, "no-such-library: not installed, skipped")


def test_tables_have_a_row_per_size(tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "TABLES", {"aggregate": (), "sql": (tables.QUERY,)})
    monkeypatch.setattr(tables, "SEED_RUNS", 50)
    found = tables.rows(tmp_path, [120], 1)
    assert [row.what for row in found] == ["aggregate, 120 rows", "sql, 120 rows"]
    assert all(row.detail["peak_mib"] > 0 for row in found)


def test_growth_is_the_exponent_between_once_and_sixteen_times(tmp_path, monkeypatch):
    """CPU in proportion to the runs, after start-up, is an exponent of 1; memory is compared as is."""
    sizes = {}

    def trajtab(command, source, *_):
        if command == "land":
            sizes["runs"] = len(source.read_text().splitlines())
        return Process(cpu_s=2 + sizes["runs"] / 100, peak_mib=100 + sizes["runs"], wall_s=1)

    monkeypatch.setattr(growth, "trajtab", trajtab)
    found = growth.rows(tmp_path, 100, 1)
    assert [row.goal for row in found] == ["<= 1.3", "<= 1.05"] * 3
    assert [row.value for row in found] == pytest.approx([1700 / 200, 1.0] * 3, rel=0.02)


def test_a_soak_leaves_no_log_behind(tmp_path):
    found = soak.soak(tmp_path, runs=25, piece=10)
    assert (found["runs"], found["batches"], found["stages"]["land"]["processes"]) == (25, 3, 3)
    assert [path.name for path in tmp_path.iterdir()] == ["lake"]
    assert all(stage["peak_mib"] > 0 for stage in found["stages"].values())


def test_figures_are_printed_and_written(tmp_path, monkeypatch):
    def measured(_folder, wanted, sizes):
        yield Row("a", "this", 1.25, "x", "<= 5", {"repeats": sizes["repeats"], "rows": wanted})

    monkeypatch.setattr(bench, "measured", measured)
    target = tmp_path / "figures.json"
    ran = CliRunner().invoke(bench.main, ["--rows", "a", "--repeats", "2", "-o", str(target)])
    assert ran.exit_code == 0
    assert "1.25 x" in ran.output
    told = json.loads(target.read_text())
    assert told["rows"][0]["detail"] == {"repeats": 2, "rows": "a"}
    assert {"polars", "duckdb"} <= set(told["machine"]["versions"])


def test_an_unknown_row_is_refused():
    ran = CliRunner().invoke(bench.main, ["--rows", "ax"])
    assert ran.exit_code == 2
    assert "x: the rows are abcdef" in ran.output


def test_a_process_that_fails_is_told():
    with pytest.raises(RuntimeError, match="exit 2"):
        process("-m", "pipeline", "land")


def test_a_ratio_is_the_median_of_pairs():
    found, detail = ratios(lambda: sum(range(200_000)), lambda: sum(range(100_000)), 3)
    assert found > 0
    assert len(detail["cpu_s"]) == 3
