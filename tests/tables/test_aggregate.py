"""Aggregates: counts, means, micro, errors and intervals, against hand computations."""

from __future__ import annotations

import polars as pl
import pytest

from pipeline.errors import QueryError, SourceNotFoundError, UnknownNameError
from pipeline.lake import Lake
from pipeline.metrics.registry import chosen, headline
from pipeline.tables.aggregate import aggregate, aggregate_scores, mean_over_groups
from pipeline.tables.passk import passk
from pipeline.tables.percentiles import percentiles

COUNTS = ["n_total", "n_scored", "n_null", "n_error", "n_vacuous"]
VALUES = ["mean", "micro", "std", "min", "max", "ci_low", "ci_high", "mean_errors_zero"]


def one(con, metric, by=()):
    """Return the only row of one metric."""
    return aggregate_scores(con, chosen([metric]), by).row(0, named=True)


def test_pooled_and_grouped_means_differ(scores_of_runs):
    """Subtasks of 4705, 3077, 3107 and 3153 samples: pooled .2292, over subtasks .2276 (S1)."""
    subtasks = {"a": (4705, 0.2421), "b": (3077, 0.2382), "c": (3107, 0.2171), "d": (3153, 0.2131)}
    frame = pl.concat(
        pl.DataFrame({"suite": suite, "f1": mean}).select(pl.all().repeat_by(n).explode())
        for suite, (n, mean) in subtasks.items()
    )
    con = scores_of_runs(frame)
    assert one(con, "f1")["mean"] == pytest.approx(0.2292, abs=5e-5)
    rows = aggregate_scores(con, chosen(["f1"]), ["suite"])
    assert dict(rows.select("suite", "mean").rows()) == {k: m for k, (_, m) in subtasks.items()}
    assert mean_over_groups(rows) == ["unweighted mean over groups: f1 0.227625"]


def test_errors_are_counted_apart_and_as_zero(scores_of_runs):
    """8 samples, 2 right, 2 errored: .333 over the scored, .25 with errors as 0 (D1)."""
    runs = [{"exact_match": int(i < 2)} for i in range(6)] + [{"run_status": "error"}] * 2
    row = one(scores_of_runs(runs), "exact_match")
    assert (row["n_total"], row["n_scored"], row["n_null"], row["n_error"]) == (8, 6, 0, 2)
    assert row["mean"] == pytest.approx(1 / 3, rel=1e-15)
    assert row["mean_errors_zero"] == 0.25


def test_success_counts_infrastructure_errors(scores_of_runs):
    """4 trials, 2 infrastructure failures, 1 pass: .5 and .25 (D3)."""
    failed = {"run_status": "error"}
    row = one(scores_of_runs([{"success": True}, {"success": False}, failed, failed]), "success")
    assert (row["n_scored"], row["n_null"], row["n_error"]) == (2, 0, 2)
    assert (row["mean"], row["mean_errors_zero"]) == (0.5, 0.25)


def test_an_errored_run_with_a_value_is_scored(scores_of_runs):
    runs = [{"success": False, "run_status": "error"}, {"success": True}]
    row = one(scores_of_runs(runs), "success")
    assert (row["n_scored"], row["n_error"], row["mean_errors_zero"]) == (2, 0, 0.5)


def test_only_errors_are_zero_with_errors_as_zero(scores_of_runs):
    row = one(scores_of_runs([{"run_status": "error"}] * 3), "f1")
    assert (row["n_error"], row["mean"], row["mean_errors_zero"]) == (3, None, 0.0)


def test_errors_are_plain_nulls_where_no_reference_is_needed(scores_of_runs):
    runs = [{"error_rate": 0.5}, {"run_status": "error"}, {}]
    row = one(scores_of_runs(runs), "error_rate")
    assert (row["n_total"], row["n_scored"], row["n_null"], row["n_error"]) == (3, 1, 2, 0)
    assert row["mean_errors_zero"] is None


def test_errors_are_no_zeros_of_a_metric_they_are_not_errors_of(scores_of_runs):
    """What a run did before it failed counts as it is."""
    row = one(scores_of_runs([{"composite": 0.5}, {"run_status": "error"}]), "composite")
    assert (row["n_null"], row["n_error"], row["mean"]) == (1, 0, 0.5)
    assert row["mean_errors_zero"] is None


def test_vacuous_runs_are_counted_with_and_without_a_task(scores_of_runs):
    nothing = {"n_expected": 0, "n_calls": 0, "f1": 1.0}
    runs = [nothing, nothing | {"task_id": "t"}, nothing | {"task_id": "t"}, {"f1": 0.5}]
    assert one(scores_of_runs(runs), "f1")["n_vacuous"] == 3


def test_errors_as_zero_make_no_sense_where_lower_is_better(scores_of_runs):
    row = one(scores_of_runs([{"n_missing": 2}, {"run_status": "error"}]), "n_missing")
    assert (row["n_error"], row["mean"], row["mean_errors_zero"]) == (1, 2.0, None)


def test_three_of_three_is_no_certainty(scores_of_runs):
    """Wilson for 3 of 3: [.4385, 1] (S3)."""
    row = one(scores_of_runs([{"exact_match": 1, "task_id": t} for t in "abc"]), "exact_match")
    assert row["ci_low"] == pytest.approx(0.4385, abs=5e-5)
    assert row["ci_high"] == 1.0
    assert (row["min"], row["max"], row["std"]) == (1.0, 1.0, 0.0)


def test_equal_values_count_their_tasks_not_their_trials(scores_of_runs):
    """None of 12 trials on 3 tasks passes: Wilson on 3, [0, .5615]."""
    runs = [{"exact_match": 0, "task_id": t} for t in "abc" for _ in range(4)]
    row = one(scores_of_runs(runs), "exact_match")
    assert row["ci_low"] == 0.0
    assert row["ci_high"] == pytest.approx(0.5615, abs=5e-5)
    assert (row["min"], row["max"], row["std"]) == (0.0, 0.0, 0.0)


CLUSTERED = [("a", 0), ("a", 1), ("b", 1), ("b", 1), (None, 0)]
"""Mean 3/5; Σ(x - mean) is -.2 in a, .8 in b, -.6 alone, so se² = 3/2 · 1.04 / 25 = .0624."""


def test_the_interval_of_a_mean_takes_tasks_for_clusters(scores_of_runs):
    """With 2 degrees t is 4.302653: 10.6 ± 4.302653·√.0624 = 10.6 ± 1.074802."""
    row = one(scores_of_runs([{"task_id": t, "n_steps": 10 + x} for t, x in CLUSTERED]), "n_steps")
    assert row["mean"] == 10.6
    assert row["ci_low"] == pytest.approx(9.525198, abs=1e-6)
    assert row["ci_high"] == pytest.approx(11.674802, abs=1e-6)
    assert row["std"] == pytest.approx(0.3**0.5, rel=1e-14)  # 1.2 / 4


def test_the_interval_of_runs_without_a_task_is_the_usual_one(scores_of_runs):
    """Of 1, 2, 3: 2 ± 4.302653·√(1/3) = 2 ± 2.484138, where the range is open; here it ends at 0."""
    row = one(scores_of_runs([{"n_steps": n} for n in (1, 2, 3)]), "n_steps")
    assert (row["mean"], row["std"], row["ci_low"]) == (2.0, 1.0, 0.0)
    assert row["ci_high"] == pytest.approx(4.484138, abs=1e-6)


@pytest.mark.parametrize("kind", [{"n_expected": 0, "n_calls": 0}, {"run_status": "error"}])
def test_runs_of_every_kind_are_in_one_interval(scores_of_runs, kind):
    """As above, where one of the three is vacuous, or errored."""
    row = one(scores_of_runs([{"n_steps": 1}, {"n_steps": 2} | kind, {"n_steps": 3}]), "n_steps")
    assert (row["mean"], row["std"]) == (2.0, 1.0)
    assert row["ci_high"] == pytest.approx(4.484138, abs=1e-6)


def test_the_interval_of_a_fraction_over_ten_tasks(scores_of_runs):
    """Five tasks at .4, five at .6, two trials each: se² = 10/9 · 10·.2² / 20², 2.262157·se."""
    runs = [{"task_id": f"t{i}", "f1": 0.4 + 0.2 * (i % 2)} for i in range(10)] * 2
    row = one(scores_of_runs(runs), "f1")
    assert row["mean"] == pytest.approx(0.5, rel=1e-14)
    assert (row["ci_low"], row["ci_high"]) == pytest.approx((0.424595, 0.575405), abs=1e-6)


def test_the_interval_is_clipped_to_the_range(scores_of_runs):
    row = one(scores_of_runs([{"task_id": t, "in_order": x} for t, x in CLUSTERED]), "in_order")
    assert (row["ci_low"], row["ci_high"]) == (0.0, 1.0)


def test_the_interval_of_a_share_shrinks_its_count(scores_of_runs):
    """The design effect is .0624 / (.6·.4 / 4) = 1.04; Wilson for .6 of 5 / 1.04 values."""
    runs = [{"task_id": t, "exact_match": x} for t, x in CLUSTERED]
    row = one(scores_of_runs(runs), "exact_match")
    assert row["ci_low"] == pytest.approx(0.226093, abs=1e-5)
    assert row["ci_high"] == pytest.approx(0.885079, abs=1e-5)


def test_tasks_of_one_name_in_two_suites_are_two_clusters(scores_of_runs):
    """Means 1 and 2 in two clusters of two: se² = 2/1 · 2 / 16 = 1/4, 1.5 ± 12.7062/2."""
    runs = [
        {"suite": s, "task_id": "t", "n_steps": n}
        for s, n in zip("xxyy", (1, 1, 2, 2), strict=True)
    ]
    row = one(scores_of_runs(runs), "n_steps")
    assert row["ci_high"] == pytest.approx(1.5 + 12.7062047 / 2, rel=1e-8)
    assert row["ci_low"] == 0.0


@pytest.mark.parametrize("metric", ["exact_match", "in_order", "n_steps"])
def test_one_task_has_no_interval(scores_of_runs, metric):
    row = one(scores_of_runs([{"task_id": "t", metric: x} for x in (0, 1, 1)]), metric)
    assert (row["n_scored"], row["ci_low"], row["ci_high"]) == (3, None, None)


def test_equal_values_have_a_mean_without_an_interval(scores_of_runs):
    """The mean of thirds is a third: fixed point must not carry it outside its values."""
    row = one(scores_of_runs([{"in_order": 1 / 3}] * 7), "in_order")
    assert (row["mean"], row["std"], row["min"], row["max"]) == (1 / 3, 0.0, 1 / 3, 1 / 3)
    assert (row["ci_low"], row["ci_high"]) == (None, None)


def test_one_value_has_no_spread(scores_of_runs):
    row = one(scores_of_runs([{"n_steps": 5}]), "n_steps")
    assert (row["mean"], row["std"], row["ci_low"]) == (5.0, None, None)


def test_micro_pools_counts_over_the_scored_runs(scores_of_runs):
    """Precision 1/1, 1/3 and one errored run of 9 calls: mean 2/3, micro 2/4."""
    runs = [
        {"precision": 1.0, "tp": 1, "n_calls": 1},
        {"precision": 1 / 3, "tp": 1, "n_calls": 3},
        {"n_calls": 9, "run_status": "error"},
    ]
    row = one(scores_of_runs(runs), "precision")
    assert row["mean"] == pytest.approx(2 / 3, rel=1e-15)
    assert row["micro"] == 0.5


def test_micro_is_null_without_a_count_to_divide_by(scores_of_runs):
    con = scores_of_runs([{"recall": 1.0, "tp": 0, "n_expected": 0, "n_calls": 2, "n_steps": 3}])
    assert one(con, "recall")["micro"] is None
    assert one(con, "n_steps")["micro"] is None


def test_vacuous_runs_are_told(scores_of_runs):
    vacuous = {"f1": 1.0, "n_expected": 0, "n_calls": 0, "n_steps": 1}
    con = scores_of_runs([vacuous, vacuous, {**vacuous, "n_calls": 1, "f1": 0.0}, {"n_calls": 0}])
    row = one(con, "f1")
    assert (row["n_total"], row["n_scored"], row["n_null"], row["n_vacuous"]) == (4, 3, 1, 2)
    assert one(con, "n_steps")["n_vacuous"] == 0


def test_runs_without_calls_are_runs(scores_of_runs):
    con = scores_of_runs([{"n_calls": 0, "n_steps": 1}] * 1000)
    row = one(con, "n_calls")
    assert (row["n_total"], row["n_scored"], row["mean"], row["max"]) == (1000, 1000, 0.0, 0.0)
    row = one(con, "error_rate")
    assert (row["n_total"], row["n_scored"], row["n_null"], row["mean"]) == (1000, 0, 1000, None)


def test_tokens_beyond_32_bits_add_up(scores_of_runs):
    """4e9 + 4e9 tokens are 8e9 (S9)."""
    row = one(scores_of_runs([{"total_tokens": 4_000_000_000}] * 2), "total_tokens")
    assert row["mean"] * row["n_scored"] == 8e9
    assert one(scores_of_runs([{"total_tokens": 2**62}] * 9), "total_tokens")["mean"] == 2.0**62


def test_a_large_value_in_one_group_leaves_another_exact(scores_of_runs):
    costs = {"cheap": [1e-7, 3e-7], "dear": [1e300, 1e300]}
    runs = [{"agent": a, "cost_usd": c} for a, values in costs.items() for c in values]
    rows = aggregate_scores(scores_of_runs(runs), chosen(["cost_usd"]), ["agent"])
    assert rows["mean"].to_list() == [pytest.approx(2e-7, rel=1e-14), 1e300]


def test_no_run_is_a_row_of_nothing_for_each_metric(scores_of_runs):
    rows = aggregate_scores(scores_of_runs([]), chosen(None))
    assert rows["metric"].to_list() == headline()
    assert set(rows.drop("metric").rows()) == {(0, 0, 0, 0, 0, *[None] * 8)}
    assert aggregate_scores(scores_of_runs([]), chosen(None), ["agent"]).is_empty()


def test_columns_are_the_documented_ones(scores_of_runs):
    rows = aggregate_scores(scores_of_runs([{}]), chosen(["all"]), ["agent"])
    assert rows.columns == ["agent", "metric", *COUNTS, *VALUES]
    assert {rows.schema[name] for name in COUNTS} == {pl.Int64()}
    assert {rows.schema[name] for name in VALUES} == {pl.Float64()}


def varied(n_runs: int) -> pl.DataFrame:
    """Return runs with values no float sum adds up alike in two orders."""
    row = pl.int_range(n_runs, dtype=pl.Int64)
    share = (row.hash(1) % 1000).cast(pl.Float64) / 997
    return pl.select(
        run_id=pl.format("r{}", row),
        agent=pl.format("agent-{}", row.hash(2) % 3),
        suite=pl.lit("s"),
        task_id=pl.when(row.hash(3) % 5 > 0).then(pl.format("t{}", row.hash(4) % 40)),
        f1=pl.when(row.hash(5) % 9 > 0).then(share.clip(0, 1)),
        exact_match=(row.hash(6) % 3 == 0).cast(pl.Int8),
        cost_usd=share.exp() ** 9 / 7,
    )


def test_the_bytes_are_the_same_in_any_order_and_number_of_threads(scores_of_runs):
    """200,000 runs are several of DuckDB's units of parallel work."""
    frame, seen = varied(200_000), set()
    for runs in (frame, frame.reverse(), frame.sample(fraction=1, shuffle=True, seed=1)):
        con = scores_of_runs(runs)
        for threads in (1, 2):
            con.execute(f"SET threads = {threads}")
            rows = aggregate_scores(con, chosen(["f1", "exact_match", "cost_usd"]), ["agent"])
            seen.add(rows.write_csv())
    con.execute("RESET threads")
    assert len(seen) == 1


def test_an_empty_lake_has_rows_of_nothing(tmp_path):
    lake = Lake.create(tmp_path / "lake")
    result = aggregate(lake.path, metrics=["f1", "recall", "f1"])
    assert (result.kind, result.rows["metric"].to_list()) == ("aggregate", ["f1", "recall"])
    assert result.rows["n_total"].to_list() == [0, 0]
    assert [note.split(" ")[0] for note in result.notes] == ["policy:", "the"]


def test_what_the_person_names_wrongly_is_refused(tmp_path):
    with pytest.raises(SourceNotFoundError, match="no lake here"):
        aggregate(tmp_path / "nowhere")
    lake = Lake.create(tmp_path / "lake")
    with pytest.raises(UnknownNameError, match="did you mean 'f1'"):
        aggregate(lake, metrics=["f2"])
    with pytest.raises(UnknownNameError, match="unknown group column 'team'"):
        aggregate(lake, by=["team"])


def test_a_lake_is_filtered_grouped_and_told_of(lake_of):
    runs = [{"agent": a, "n_steps": n} for a, n in (("a", 1), ("b", 2), ("b", 9))]
    lake = lake_of(runs, runs, None)
    result = aggregate(lake, by=["agent"], metrics=["n_steps"], where="n_steps < 5 OR false")
    rows = result.rows.select("agent", "metric", "n_total", "mean").rows()
    assert rows == [("a", "n_steps", 2, 1.0), ("b", "n_steps", 2, 2.0)]
    assert result.notes[1:] == [
        "1 of 3 batches is not scored yet: run `trajtab score`",
        "unweighted mean over groups: n_steps 1.5",
    ]


def test_batches_may_come_in_any_order(lake_of):
    batches = [varied(1000), varied(3000), varied(2000)]
    one = aggregate(lake_of(*batches), by=["agent"], metrics=["f1", "cost_usd"]).rows
    other = aggregate(lake_of(*batches[::-1]), by=["agent"], metrics=["f1", "cost_usd"]).rows
    assert one.write_csv() == other.write_csv()


def test_a_filter_that_leaves_nothing_is_told_of(lake_of):
    lake = lake_of([{"agent": "x"}])
    for table in (aggregate, percentiles, passk):
        assert (
            "no scored run matches --where \"agent = 'y'\""
            in table(lake, where="agent = 'y'").notes
        )
        assert not any("matches" in note for note in table(lake, where="agent = 'x'").notes)


def test_a_filter_that_fails_on_a_value_is_refused(lake_of):
    with pytest.raises(QueryError, match=r"--where 'agent::INT = 1': Conversion Error"):
        aggregate(lake_of([{"agent": "x"}]), where="agent::INT = 1")


def test_the_mean_over_groups_leaves_out_groups_without_values(scores_of_runs):
    runs = [{"agent": a, "n_steps": n} for a, n in (("a", 1), ("a", 1), ("b", 2), ("c", None))]
    rows = aggregate_scores(scores_of_runs(runs), chosen(["n_steps", "f1"]), ["agent"])
    assert mean_over_groups(rows) == ["unweighted mean over groups: n_steps 1.5"]
    assert mean_over_groups(rows.clear()) == []
