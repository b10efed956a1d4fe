"""tau2-bench's own verdict on every expected action of its real results, against preset:tau2."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from making import scores_of
from peers.page import CHECKED_RUNS, CHECKS, SERVED_TWICE

from pipeline.landing.land import land
from pipeline.scoring import score

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

TAU2 = "preset:tau2"
SERVE_TWO_ACTIONS = {
    "50f23490-70cb-476a-861e-1af8a12f1f1c": 3,
    "a572d1c5-1db5-4b7f-9a80-76cedb898f38": 1,
}
"""Runs in which calls serve more than one expected action: how many actions find none of their own."""


@pytest.fixture
def files(real_data: Callable[[str], Path]) -> list[Path]:
    """Return the results files that hold simulations."""
    folders = [real_data("tau2_results"), real_data("tau2_fork_es")]
    found = [path for folder in folders for path in sorted(folder.glob("*.json"))]
    return [path for path in found if _whole(path)["simulations"]]


def _whole(path: Path) -> dict[str, Any]:
    whole: dict[str, Any] = json.loads(path.read_bytes())
    return whole


def _checks(simulation: dict[str, Any]) -> list[dict[str, Any]]:
    return (simulation["reward_info"] or {}).get("action_checks") or []


def _calls(simulation: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"role": message["role"], "content": None, "tool_calls": message["tool_calls"]}
        for message in simulation["messages"]
        if message.get("tool_calls")
    ]


def _apart(whole: dict[str, Any]) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Make a simulation of each check: the run's calls, and a task that expects one action."""
    for simulation in whole["simulations"]:
        for place, check in enumerate(_checks(simulation)):
            name = f"{simulation['id']}/{place}"
            task = {
                "id": name,
                "user_scenario": {},
                "evaluation_criteria": {"actions": [check["action"]]},
            }
            alone = {"reward_info": {"reward": 0.0, "action_checks": [check]}}
            named = {"id": name, "task_id": name, "messages": _calls(simulation)}
            yield task, {**simulation, **named, **alone}


def test_every_recorded_action_match_is_reproduced(files: list[Path], tmp_path: Path) -> None:
    recorded: dict[str, bool] = {}
    cut = []
    for path in files:
        whole = _whole(path)
        pairs = list(_apart(whole))
        tasks, simulations = map(list, zip(*pairs, strict=True))
        recorded |= {
            s["id"]: s["reward_info"]["action_checks"][0]["action_match"] for s in simulations
        }
        cut.append(tmp_path / path.name)
        cut[-1].write_text(json.dumps({**whole, "tasks": tasks, "simulations": simulations}))
    lake = tmp_path / "lake"
    land(cut, lake, format="tau2_results")
    score(lake, policy=TAU2)
    ours = dict(scores_of(lake, TAU2).select("run_id", "any_order_match").iter_rows())
    assert len(recorded) == CHECKS
    assert ours == {run_id: int(matched) for run_id, matched in recorded.items()}
    # Its own rule is needed for that: comparing all arguments both ways gives others.
    score(lake)
    exact = dict(scores_of(lake).select("run_id", "any_order_match").iter_rows())
    assert sum(exact[run_id] != matched for run_id, matched in recorded.items()) == 14


def test_a_whole_run_wants_a_call_for_every_action(files: list[Path], tmp_path: Path) -> None:
    """`tp` counts the actions matched, but where one call serves two of them only one has it."""
    matched = {
        simulation["id"]: [check["action_match"] for check in _checks(simulation)]
        for path in files
        for simulation in _whole(path)["simulations"]
        if _checks(simulation)
    }
    lake = tmp_path / "lake"
    land(files, lake)
    score(lake, policy=TAU2)
    rows = {row["run_id"]: row for row in scores_of(lake, TAU2).to_dicts()}
    short = {run_id: sum(flags) - rows[run_id]["tp"] for run_id, flags in matched.items()}
    assert {run_id: n for run_id, n in short.items() if n} == SERVE_TWO_ACTIONS
    other = {i for i, flags in matched.items() if rows[i]["any_order_match"] != all(flags)}
    assert other == set(SERVE_TWO_ACTIONS)
    assert (len(matched), len(other)) == (CHECKED_RUNS, SERVED_TWICE)
