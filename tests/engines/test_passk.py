"""pass@k over an engine: parts add up to what one machine counts, and no trial counts twice."""

from __future__ import annotations

import json

import pytest
from lakes import write
from making import call, run

from pipeline.engines import parts
from pipeline.engines.local import Local
from pipeline.errors import InputError, QueryError
from pipeline.lake import Lake
from pipeline.landing.batch import chunks
from pipeline.landing.land import land
from pipeline.scoring import score
from pipeline.tables.passk import passk

ENGINE = Local(1, 0)


def runs(trials):
    """Two tasks in two arms: trials of task t0 that call one tool, of t1 that call two or fail."""
    made = []
    for place, (task, trial, version) in enumerate(trials):
        steps = [call("a")] if task != "t1" or place % 2 else [call("a"), call("b")]
        own = {"task_id": task, "trial": trial, "agent_version": version}
        own |= {"status": "error"} if place % 5 == 4 else {}
        own |= {"labels": {"team": "ab"[place % 2]}}
        made.append(run(f"r{place}", *steps, **{k: v for k, v in own.items() if v is not None}))
    return made


def made(home, trials):
    write(home / "runs.jsonl", *runs(trials))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chunks, "MOST_RECORDS", 3)
        land([home / "runs.jsonl"], home / "lake", workers=1)
    score(home / "lake")
    return home / "lake"


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    trials = [(f"t{i % 3}", i // 3 % 4, f"v{i // 12}") for i in range(24)]
    trials += [(None, None, "v0"), ("t0", None, "v0"), ("t0", None, "v0"), (None, None, "v2")]
    return made(tmp_path_factory.mktemp("passk"), trials)


ONE_CALL = "n_calls = 1"


@pytest.mark.parametrize(
    "asked",
    [
        {"rule": ONE_CALL},
        {"rule": ONE_CALL, "by": ["labels.team"], "k": [1, 2, 3]},
        {"rule": ONE_CALL, "tasks": True},
        {"rule": ONE_CALL, "where": "trial < 2"},
        {"rule": ONE_CALL, "where": "false"},
        {"tasks": True},
    ],
    ids=json.dumps,
)
def test_parts_add_up(lake, asked):
    whole, found = passk(lake, **asked), passk(lake, engine=ENGINE, **asked)
    assert found.rows.schema == whole.rows.schema
    assert found.rows.equals(whole.rows)
    assert found.notes == whole.notes


def test_a_task_is_in_several_parts(lake):
    """28 runs in batches of three: a task's trials, of which v0 has four, are in four of them."""
    assert len(parts.asked(ENGINE, lake, None, None).units) == 10
    rows = passk(lake, rule=ONE_CALL, tasks=True, k=[1], engine=ENGINE).rows
    counts = rows.filter(agent_version="v0", task_id="t2").row(0, named=True)
    # Runs 2, 5, 8 and 11 of 28: none is the fifth of five (4, 9, 14, ...), all call one tool.
    assert [counts[n] for n in ("n_trials", "n_passed", "n_error", "n_null")] == [4, 4, 0, 0]


def test_an_empty_lake_has_the_same_empty_table(tmp_path):
    Lake.create(tmp_path / "lake")
    whole = passk(tmp_path / "lake")
    found = passk(tmp_path / "lake", engine=ENGINE)
    assert found.rows.equals(whole.rows)
    assert found.rows.schema == whole.rows.schema


@pytest.mark.parametrize(
    "trials",
    [
        [0, 1, 2, 3, 4, 5, 1, 2, 7],  # two come again in another part
        [0, 1, 1, 3, 4, 5, 0, 6, 1],  # within a part, and across: three too many
        [3, 1, 8, 2, 5, 9, 4, 2, 9],  # ranges with gaps, between and over each other
    ],
    ids=str,
)
def test_a_trial_that_is_there_twice_is_told_as_here(tmp_path, trials):
    lake = made(tmp_path, [("t0", trial, "v0") for trial in trials])
    with pytest.raises(InputError, match="times in one arm") as here:
        passk(lake)
    with pytest.raises(InputError) as there:
        passk(lake, engine=ENGINE)
    assert str(there.value) == str(here.value)


def test_numbers_between_those_of_another_part_are_no_repeats(tmp_path):
    lake = made(tmp_path, [("t0", trial, "v0") for trial in (0, 2, 9, 1, 3, 5, 4, 6, 8)])
    assert passk(lake, engine=ENGINE, k=[3]).rows.equals(passk(lake, k=[3]).rows)


@pytest.mark.parametrize("rule", ["no_such = 1", "n_calls", "true; select 1"])
def test_a_refused_rule_is_told_as_here(lake, rule):
    with pytest.raises((InputError, QueryError)) as here:
        passk(lake, rule=rule)
    with pytest.raises(type(here.value)) as there:
        passk(lake, rule=rule, engine=ENGINE)
    assert str(there.value) == str(here.value)


@pytest.mark.parametrize(
    "rule", ["n_calls > (SELECT avg(n_calls) FROM scores)", "n_calls > avg(n_calls) OVER ()"]
)
def test_a_rule_that_looks_at_all_runs_is_refused(lake, rule):
    with pytest.raises(InputError, match=r"--pass.*--engine local"):
        passk(lake, rule=rule, engine=ENGINE)
