"""Checks: a sound lake has no offender, and each fault is found and named."""

from __future__ import annotations

import json

import polars as pl
import pytest
from lakes import final, landed, scored, trajtab
from making import call, run, want

from pipeline import checks
from pipeline.checks import check, failed
from pipeline.lake import Lake
from pipeline.scoring import score

HOUR = "2026-11-28T{:02}:30:00Z"


def offenders(lake, name=None):
    rows = check(lake).rows
    if name is not None:
        rows = rows.filter(pl.col("check") == name)
    return rows.select("severity", "subject", "detail").rows()


def named(lake):
    return set(check(lake).rows["check"])


def rewrite(lake, table, change):
    """Change a table behind the lake's back, as a faulty disk or writer would."""
    file = lake.batches()[0].file(table)
    change(pl.read_parquet(file)).write_parquet(file)


@pytest.fixture
def lake(tmp_path):
    return scored(
        tmp_path,
        run("r0", call("a", duration_ms=1.0), final(), task_id="t", trial=0, expected=[want("a")]),
        run("r1", final(), task_id="t", trial=1, started_at=HOUR.format(1)),
        run("r2", started_at=HOUR.format(2)),
    )


class TestSound:
    def test_no_offender(self, lake):
        result = check(lake)
        assert result.rows.is_empty()
        assert result.rows.columns == ["check", "severity", "subject", "detail"]
        assert not failed(result)

    def test_an_empty_lake(self, tmp_path):
        assert offenders(Lake.create(tmp_path / "lake")) == []

    def test_every_check_says_what_it_means(self):
        for one in checks.checks():
            assert one.meaning.endswith((".", "?")), one.name
            assert one.severity in checks.SEVERITIES


class TestFaults:
    """Damage done to the files: each is an error."""

    def test_row_counts(self, lake):
        rewrite(lake, "steps", lambda steps: steps.filter(pl.col("kind") != "tool_call"))
        found = offenders(lake, "row_counts")
        assert found == [("error", "r0", "n_rows is 2, steps holds 1")]
        assert failed(check(lake))

    def test_steps_without_run(self, lake):
        rewrite(lake, "runs", lambda runs: runs.filter(pl.col("run_id") != "r0"))
        ((severity, subject, detail),) = offenders(lake, "steps_without_run")
        assert (severity, subject) == ("error", "r0")
        assert detail.startswith("steps: 2")

    @pytest.mark.parametrize("indices", [[0, 2, 0], [1, 2, 0], [0, 0, 0]])
    def test_step_index_gaps(self, lake, indices):
        moved = pl.Series("step_index", indices, dtype=pl.UInt32)
        rewrite(lake, "steps", lambda steps: steps.with_columns(moved))
        ((severity, subject, _),) = offenders(lake, "step_index_gaps")
        assert (severity, subject) == ("error", "r0")

    def test_negative_durations(self, lake):
        rewrite(lake, "steps", lambda steps: steps.with_columns(-pl.col("duration_ms")))
        found = [("error", "r0", "steps: 1, the first at step_index 0")]
        assert offenders(lake, "negative_durations") == found

    def test_missing_references(self, lake):
        file = lake.tasks()[0].file("references")
        pl.read_parquet(file).clear().write_parquet(file)
        ((severity, subject, _),) = offenders(lake, "missing_references")
        assert (severity, subject) == ("error", "run r0")

    def test_a_run_that_may_not_take_its_tasks_reference_misses_none(self, lake):
        rewrite(lake, "runs", lambda runs: runs.with_columns(reference_set=pl.lit("none")))
        assert offenders(lake, "missing_references") == []


class TestLogs:
    """Faults of the logs themselves, and what landing made of them."""

    def test_ends_before_start(self, tmp_path):
        early, late = HOUR.format(1), HOUR.format(2)
        lake = scored(
            tmp_path,
            run("bad", started_at=late, ended_at=early),
            run("good", started_at=early, ended_at=late),
            run("open", started_at=late),
        )
        ((severity, subject, _),) = offenders(lake)
        assert (severity, subject) == ("warning", "bad")

    def test_duplicate_trials_name_both_sources(self, tmp_path):
        lake = scored(
            tmp_path,
            run("r1", task_id="t", trial=0, agent="a"),
            run("r2", task_id="t", trial=0, agent="a"),
            run("r3", task_id="t", trial=0, agent="b"),
            run("r4", task_id="t", agent="a"),
            run("r5", task_id="t", agent="a"),
        )
        ((severity, subject, detail),) = offenders(lake)
        assert (severity, subject) == ("warning", "t trial 0")
        assert f"run r1 of {tmp_path}/log.jsonl:1, run r2 of {tmp_path}/log.jsonl:2" in detail
        assert "more" not in detail

    def test_of_many_duplicate_trials_the_first_are_named(self, tmp_path):
        """A task tried anew each night, its trials always numbered from 0."""
        lake = scored(tmp_path, *(run(f"r{n}", task_id="t", trial=0) for n in range(9)))
        ((_, _, detail),) = offenders(lake)
        assert detail.endswith("log.jsonl:3 and 6 more")

    def test_superseded_runs(self, tmp_path):
        landed(tmp_path, run("r", call("a")))
        lake = landed(tmp_path, run("r", call("a"), call("b")), name="longer")
        score(lake)
        ((severity, subject, detail),) = offenders(lake)
        assert (severity, subject) == ("info", "r")
        assert f"1 rows of {tmp_path}/log.jsonl:1, replaced by batch b-" in detail

    def test_repeated_runs(self, tmp_path):
        landed(tmp_path, run("r", call("a"), call("b")))
        lake = landed(tmp_path, run("r", call("a")), name="shorter")
        score(lake)
        ((severity, _, detail),) = offenders(lake)
        assert (severity, detail) == ("info", f"runs left out: 1, of {tmp_path}/shorter.jsonl")

    def test_unresolved_runs(self, tmp_path):
        landed(tmp_path, run("r", call("a")))
        lake = landed(tmp_path, run("r", call("b")), name="other")
        score(lake)
        expected = f"2 copies: {tmp_path}/log.jsonl:1, {tmp_path}/other.jsonl:1"
        assert offenders(lake) == [("warning", "r", expected)]

    def test_very_many_copies_of_a_run_are_one_row_that_names_a_few(self, tmp_path):
        lake = scored(tmp_path, *(run("r", call("a", {"i": i})) for i in range(30)))
        first = ", ".join(f"{tmp_path}/log.jsonl:{line}" for line in range(1, 6))
        assert offenders(lake) == [("warning", "r", f"30 copies: {first}, 25 more")]

    def test_rejected_records_by_reason(self, tmp_path):
        lake = scored(tmp_path, "{bad", run("r"), "[]", "{bad too")
        first = "records: {}; the first at {}/log.jsonl:{}"
        assert offenders(lake) == [
            ("warning", "not_an_object", first.format(1, tmp_path, 3)),
            ("warning", "not_json", first.format(2, tmp_path, 1)),
        ]

    def test_empty_hours_between_two_full_ones(self, tmp_path):
        hours = [1, 1, 3, 7]
        runs = [run(f"r{i}", started_at=HOUR.format(hour)) for i, hour in enumerate(hours)]
        lake = scored(tmp_path, *runs, run("unknown"))
        assert offenders(lake) == [
            ("warning", "2026-11-28 02:00 UTC", "0 runs; 2 the hour before, 1 the hour after")
        ]

    def test_unscored_batches(self, tmp_path):
        lake = landed(tmp_path, run("r"))
        ((severity, subject, detail),) = offenders(lake)
        assert (severity, subject) == ("warning", lake.batches()[0].name)
        assert detail == f"runs: 1, of {tmp_path}/log.jsonl"

    def test_batches_without_runs(self, tmp_path):
        lake = landed(tmp_path, "{bad")
        assert named(lake) == {"batches_without_runs", "rejected_records"}

    def test_tasks_alone_are_fine(self, tmp_path):
        assert offenders(landed(tmp_path, {"task_id": "t", "prompt": "p"}, form="tasks")) == []

    def test_shared_run_ids(self, tmp_path):
        lake = scored(tmp_path, run("r", agent="a"), run("r", agent="b"))
        assert offenders(lake) == [("info", "r", "2 arms use this id")]


class TestCommand:
    def test_errors_exit_1_and_come_first(self, tmp_path, capsys):
        lake = landed(tmp_path, run("r0", final()), run("r1", final()), "{bad")
        rewrite(lake, "runs", lambda runs: runs.with_columns(n_rows=pl.col("n_rows") + 1))
        assert trajtab("check", lake.path, "--format", "json") == 1
        rows = json.loads(capsys.readouterr().out)["rows"]
        assert [(row["severity"], row["subject"]) for row in rows[:3]] == [
            ("error", "r0"),
            ("error", "r1"),
            ("warning", "not_json"),
        ]

    def test_warnings_alone_exit_0(self, tmp_path, capsys):
        lake = landed(tmp_path, run("r"), "{bad")
        assert trajtab("check", lake.path) == 0
        assert "rejected_records" in capsys.readouterr().out

    def test_no_lake(self, tmp_path, capsys):
        assert trajtab("check", tmp_path) == 2
        assert "no lake here" in capsys.readouterr().err
