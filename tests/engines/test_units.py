"""Units of work, the local engine, and which engine is meant."""

from __future__ import annotations

import os
import pickle
import signal
from functools import partial
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.engines import chosen
from pipeline.engines.local import Local
from pipeline.engines.units import Failure, Task, plan
from pipeline.errors import EngineError, InputError, LakeError
from pipeline.policy import load, parse, presets

if TYPE_CHECKING:
    from pathlib import Path

seconds = st.lists(st.floats(min_value=0.01, max_value=100))


def doubled(number: int) -> int:
    return 2 * number


def refuse(number: int) -> int:
    raise InputError(f"{number} is no good")


def die_once(mark: Path, number: int) -> int:
    """Kill the process the first time; later attempts find the mark."""
    if number == 3 and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def die(number: int) -> int:
    os.kill(os.getpid(), signal.SIGKILL)
    return number


def threads(_: int) -> int:
    import polars as pl  # noqa: PLC0415 - in the worker

    return pl.thread_pool_size()


@given(seconds, st.floats(min_value=0, max_value=50))
def test_every_item_is_in_one_unit_and_units_are_long_enough(items, at_least):
    units = plan(items, float, at_least)
    assert [item for unit in units for item in unit] == items
    assert all(unit for unit in units)
    assert all(sum(unit) >= at_least * (1 - 1e-9) for unit in units[:-1])


@pytest.mark.parametrize("workers", [1, 2])
def test_every_unit_comes_back(workers):
    rows = Local(workers, 0).map_units(doubled, [[1, 2], [3], [4]])
    assert sorted(rows) == [2, 4, 6, 8]


def test_an_error_for_the_person_comes_through():
    with pytest.raises(InputError, match="7 is no good"):
        list(Local(2, 0).map_units(refuse, [[7], [7]]))


def test_a_killed_process_is_replaced(tmp_path):
    rows = Local(2, 0).map_units(partial(die_once, tmp_path / "mark"), [[1], [2], [3], [4], [5]])
    assert sorted(set(rows)) == [1, 2, 3, 4, 5]
    assert (tmp_path / "mark").exists()


def test_processes_that_always_die_are_given_up():
    with pytest.raises(EngineError, match="--resume"):
        list(Local(2, 0).map_units(die, [[1], [2]]))


def test_workers_share_the_cores():
    found = set(Local(2, 0).map_units(threads, [[1], [2]]))
    assert found == {max(1, (os.cpu_count() or 1) // 2)}


def test_another_version_is_refused():
    (row,) = Task(doubled, version="0.0.0")([1])
    assert isinstance(row, Failure)
    assert isinstance(row.error, LakeError)
    assert "ship one environment" in str(row.error)


def test_the_local_engine_has_no_master():
    with pytest.raises(InputError, match="--master spark://h:7077"):
        chosen("local", master="spark://h:7077")
    with pytest.raises(InputError, match="'ray'"):
        chosen("ray")


OWN = {
    "match": {"args": "names", "rule": [{"tool": "a", "arg": "b", "default": None}]},
    "composite": {"length": 0.2, "precision": 0.3},
    "backtracking": {"window": 8},
}


@pytest.mark.parametrize("name", [None, *(f"preset:{name}" for name in presets()), "own"])
def test_a_policy_keeps_its_hash_on_the_way_to_a_task(name):
    """Scores are filed under it: a task that saw another hash would file them elsewhere."""
    policy = parse(OWN, "own") if name == "own" else load(name)
    again = pickle.loads(pickle.dumps(policy))  # noqa: S301 - our own
    assert again == policy
    assert again.hash == policy.hash
