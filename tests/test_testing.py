"""The assertion for tests of agents: what fails, what passes, and what the failure shows."""

from __future__ import annotations

import pytest
from making import call, run, want, write

from pipeline.errors import InputError, UnknownNameError
from pipeline.landing.land import land
from pipeline.scoring import score
from pipeline.testing import LIMITS, REGRESSION, UNKNOWN, assert_no_regression

V1, V2 = "agent_version = 'v1'", "agent_version = 'v2'"
TASKS = 12


def booking(version, task, **more):
    """Return a run of both arms' id: v2 books the wrong seat, and cancels, in every other task."""
    wrong = version == "v2" and task % 2 == 0
    steps = [call("search", {"q": task}), call("book", {"seat": 99 if wrong else task})]
    expected = [want("search", {"q": task}), want("book", {"seat": task})]
    return run(
        f"r{task}", *steps, *([call("cancel")] if wrong else []), agent_version=version,
        task_id=f"t{task}", suite="desk", success=not wrong, **({"expected": expected} | more),
    )  # fmt: skip


def lake_in(folder, records):
    lake = folder / "lake"
    land([write(folder / "log.jsonl", records)], lake, workers=1)
    score(lake)
    return lake


@pytest.fixture(scope="module")
def bookings(tmp_path_factory):
    """Land both versions' runs once."""
    records = [booking(v, task) for v in ("v1", "v2") for task in range(TASKS)]
    return lake_in(tmp_path_factory.mktemp("bookings"), records)


def failure(lake, baseline=V1, candidate=V2, **options):
    """Return the message of the failure."""
    with pytest.raises(AssertionError) as failed:
        assert_no_regression(lake, baseline=baseline, candidate=candidate, **options)
    return str(failed.value)


def test_a_worse_candidate_fails_with_the_comparison_and_the_first_diffs(bookings):
    """6 of 12 tasks lose f1 1 to 2·1/(2 + 3) = .4; the worst of them comes first."""
    told = failure(bookings, metrics=["f1", "success"])
    parts = told.split("\n\n")
    assert parts[0] == f"{REGRESSION}\nworse: f1, success"
    head, _, f1, success = parts[1].splitlines()
    assert head.split()[:5] == ["metric", "better", "n_tasks", "baseline_mean", "candidate_mean"]
    assert f1.split()[:6] == ["f1", "higher", "12", "1", "0.7", "-0.3"]
    assert success.split()[:6] == ["success", "higher", "12", "1", "0.5", "-0.5"]
    assert len(parts[2:-1]) == 3
    for shown in parts[2:-1]:
        assert shown.startswith("task desk/t")
        assert "f1 1 to 0.4\nrun r" in shown
        assert "= equal 1  ~ arguments differ 1  + extra 1" in shown
        assert 'book {"seat":99}' in shown
    assert "note: baseline: 12 runs where agent_version = 'v1'" in parts[-1]


def test_the_run_shown_is_the_candidates(bookings):
    """Both arms use the same run ids."""
    told = failure(bookings, metrics=["f1"], show=1)
    assert told.count("\nrun r") == 1
    assert "\nrun r0 (v2)\n" in told


def test_each_task_is_shown_once_and_each_metrics_worst_first(tmp_path):
    """Task 11 loses most steps, task 0 its success."""
    records = [
        run(
            f"{v}{task}", *[call("a")] * (1 + (v == "v2") * (task + 1)), agent_version=v,
            task_id=f"t{task:02}", success=v == "v1" or task > 8,
        )
        for v in ("v1", "v2")
        for task in range(TASKS)
    ]  # fmt: skip
    told = failure(lake_in(tmp_path, records), metrics=["success", "n_steps"])
    shown = [line for line in told.splitlines() if line.startswith("task ")]
    assert shown == [
        "task t00: success 1 to 0",
        "task t11: n_steps 1 to 13",
        "task t01: success 1 to 0",
    ]


def test_only_tasks_that_lost_are_shown(bookings):
    """6 of 12 lose f1; their order is that of their names."""
    told = failure(bookings, metrics=["f1"], show=TASKS)
    assert [line.split(":")[0] for line in told.splitlines() if line.startswith("task ")] == [
        f"task desk/t{task}" for task in (0, 10, 2, 4, 6, 8)
    ]


def test_of_a_tasks_trials_the_candidates_first_that_failed_is_shown(tmp_path):
    """Suite b fails in v1's trial 0 and in v2's 1 and 2; suite a, of like tasks, in all."""
    every = range(4)
    failing = {("b", "v1"): [0], ("b", "v2"): [1, 2], ("a", "v1"): every, ("a", "v2"): every}
    records = [
        run(
            f"{suite}-{v}-{task}-{trial}", call("a"), agent_version=v, suite=suite,
            task_id=f"t{task}", trial=trial, success=trial not in failed,
        )
        for (suite, v), failed in failing.items()
        for task in range(TASKS)
        for trial in every
    ]  # fmt: skip
    told = failure(lake_in(tmp_path, records), metrics=["success"], show=TASKS)
    shown = [lines.splitlines()[:2] for lines in told.split("\n\n") if lines.startswith("task ")]
    assert shown == [
        [f"task b/t{task}: success 0.75 to 0.5", f"run b-v2-{task}-1 (v2)"]
        for task in sorted(range(TASKS), key=str)
    ]


def test_without_a_reference_the_counts_are_shown(tmp_path):
    records = [
        run(f"{v}{task}", *[call("a")] * n, agent_version=v, task_id=f"t{task}")
        for v, n in (("v1", 1), ("v2", 3))
        for task in range(TASKS)
    ]
    told = failure(lake_in(tmp_path, records), metrics=["n_steps"], show=1)
    assert "task t0: n_steps 1 to 3\nrun v20 (v2)\nn_steps: " in told


def test_of_a_tasks_trials_the_worst_is_shown(tmp_path):
    records = [
        run(
            f"{v}-{task}-{trial}", *[call("a")] * (5 if v == "v2" and trial == 1 else 1),
            agent_version=v, task_id=f"t{task}", trial=trial,
        )
        for v in ("v1", "v2")
        for task in range(TASKS)
        for trial in range(3)
    ]  # fmt: skip
    told = failure(lake_in(tmp_path, records), metrics=["n_steps"], show=2)
    assert "\nrun v2-0-1 (v2)\n" in told
    assert "\nrun v2-1-1 (v2)\n" in told
    assert told.count("\nrun ") == 2


def test_a_better_or_equal_candidate_passes_and_the_comparison_is_returned(bookings):
    result = assert_no_regression(bookings, baseline=V2, candidate=V1, metrics=["f1"])
    assert (result.kind, result.rows["verdict"].to_list()) == ("compare", ["better"])
    assert_no_regression(bookings, baseline=V1, candidate=V1)


def test_what_chance_may_do_passes(tmp_path):
    """One task of three got worse: inconclusive."""
    records = [booking(v, task) for v in ("v1", "v2") for task in (1, 2, 3)]
    result = assert_no_regression(lake_in(tmp_path, records), baseline=V1, candidate=V2)
    assert result.rows.filter(metric="f1")["verdict"].to_list() == ["inconclusive"]


def test_tasks_the_candidate_lacks_fail(tmp_path):
    """Task 3 errored and task 5 was not run: neither may hide a regression."""
    records = [booking("v1", task) for task in range(1, 12, 2)]
    records += [booking("v2", task) for task in (1, 7, 9, 11)]
    records.append(booking("v2", 3, status="error"))
    told = failure(lake_in(tmp_path, records), metrics=["f1"])
    assert told.startswith(
        f"{UNKNOWN}\nwithout a value on 2 tasks that the baseline has one of: f1\n\n"
    )


def test_a_metric_asked_for_must_be_there(bookings):
    told = failure(bookings, V2, V1, metrics=["success", "total_tokens"])
    assert told.startswith(f"{UNKNOWN}\nno task has values in both arms: total_tokens\n\n")


def test_nothing_in_common_fails(tmp_path):
    records = [booking("v1", 1), booking("v2", 2)]
    lake = lake_in(tmp_path, records)
    told = failure(lake)
    assert told.startswith(f"{UNKNOWN}\n")
    assert "no task has values in both arms: " in told


class TestGate:
    def limits(self, folder, text):
        file = folder / "gate.toml"
        file.write_text(text)
        return file

    def test_a_gate_file_decides(self, bookings, tmp_path):
        """f1 drops by .3: more than .05, less than .5 allowed."""
        told = failure(bookings, gate="preset:five-percent")
        assert told.startswith(f"{REGRESSION}\nfail: f1 (max_drop = 0.05): drop 0.3 > 0.05 allowed")
        assert [line.split()[0] for line in told.split("\n\n")[1].splitlines()[2:]] == [
            "f1", "in_order",
        ]  # fmt: skip
        assert "task desk/t0: f1 1 to 0.4\n" in told
        wide = self.limits(tmp_path, '[[gate]]\nmetric = "f1"\nmax_drop = 0.6\n')
        result = assert_no_regression(bookings, baseline=V1, candidate=V2, gate=wide)
        assert result.rows.select("metric", "verdict").rows() == [("f1", "worse")]

    def test_a_limit_of_the_candidates_own_shows_the_tasks_beyond_it(self, bookings, tmp_path):
        """v2 against itself: nothing got worse, but every other task has an f1 of .4."""
        floor = self.limits(tmp_path, '[[gate]]\nmetric = "f1"\nmax_drop = 0.1\ntask_floor = 0.5\n')
        told = failure(bookings, V2, V2, gate=floor, show=1)
        assert told.startswith(
            f"{LIMITS}\nfail: f1 (max_drop = 0.1, task_floor = 0.5): task desk/t0: 0.4 < "
        )
        assert "\ntask desk/t0: f1 0.4 to 0.4\nrun r0 (v2)\n" in told
        most = self.limits(tmp_path, '[[gate]]\nmetric = "n_calls"\nmax = 2\n')
        told = failure(bookings, V1, V2, gate=most)
        assert told.startswith(
            f"{LIMITS}\nfail: n_calls (max = 2): mean of all its tasks 2.5 > max 2"
        )
        assert [line for line in told.splitlines() if line.startswith("task ")] == [
            f"task desk/t{task}: n_calls 2 to 3" for task in (0, 10, 2)
        ]

    def test_too_few_is_shown_from_the_fewest_on_though_fewer_is_better(self, bookings, tmp_path):
        least = self.limits(tmp_path, '[[gate]]\nmetric = "n_calls"\nmin = 3\n')
        told = failure(bookings, V1, V2, gate=least)
        assert [line for line in told.splitlines() if line.startswith("task ")] == [
            f"task desk/t{task}: n_calls 2 to 2" for task in (1, 11, 3)
        ]

    def test_a_task_without_a_value_is_beyond_no_limit(self, tmp_path):
        told = {0: False, 1: True, 2: None}
        records = [booking("v2", task) | {"success": success} for task, success in told.items()]
        floor = self.limits(
            tmp_path, '[[gate]]\nmetric = "success"\nmax_drop = 0.1\ntask_floor = 0.5\n'
        )
        shown = failure(lake_in(tmp_path, records), V2, V2, gate=floor, show=3)
        assert "task desk/t0: success 0 to 0\n" in shown
        assert "task desk/t2" not in shown

    def test_a_run_without_a_task_is_shown_as_one(self, tmp_path):
        records = [run(f"r{i}", call("a"), agent_version="v2", success=i != 1) for i in range(3)]
        floor = self.limits(
            tmp_path, '[[gate]]\nmetric = "success"\nmax_drop = 0.1\ntask_floor = 0.5\n'
        )
        told = failure(lake_in(tmp_path, records), V2, V2, gate=floor)
        assert [line for line in told.splitlines() if line.startswith("run r")] == [
            "run r1 (v2)", "run r0 (v2)", "run r2 (v2)",
        ]  # fmt: skip

    def test_what_it_cannot_judge_fails(self, bookings, tmp_path):
        file = self.limits(tmp_path, '[[gate]]\nmetric = "total_tokens"\nmax_drop = 0\n')
        told = failure(bookings, gate=file)
        assert told.startswith(f"{UNKNOWN}\nnot judgeable: total_tokens (max_drop = 0): no task")

    def test_what_is_inconclusive_passes(self, bookings, tmp_path):
        file = self.limits(tmp_path, '[[gate]]\nmetric = "f1"\nmax_drop = 0.05\nmin_tasks = 100\n')
        assert_no_regression(bookings, baseline=V1, candidate=V2, gate=file)


def test_a_question_that_makes_no_sense_is_no_regression(bookings):
    with pytest.raises(InputError, match="matches none"):
        assert_no_regression(bookings, baseline=V1, candidate="agent_version = 'v3'")
    with pytest.raises(UnknownNameError, match="unknown metric 'f2'"):
        assert_no_regression(bookings, baseline=V1, candidate=V2, metrics=["f2"])
