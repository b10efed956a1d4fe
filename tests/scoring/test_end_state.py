"""The final state against the expected one, and under checks; every right value by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from making import run
from scoring.judging import add, scored

from pipeline.errors import InputError
from pipeline.scoring import end_state

if TYPE_CHECKING:
    from pathlib import Path

BOOKED = "SELECT run_key FROM final_state WHERE state->>'status' IS DISTINCT FROM 'booked'"


def check(sql: str, name: str = "booked") -> str:
    return f'[[end_state.check]]\nname = "{name}"\nsql = """{sql}"""\n'


def verdict(folder: Path, expected: Any, final: Any, policy: str = "") -> int | None:
    """Return the verdict on one run of a task."""
    lake = folder / "lake"
    add(lake, "tasks", {"task_id": "t", "prompt": "?", "expected_state": expected})
    add(lake, "trajtab", run("r", task_id="t", final_state=final))
    return scored(lake, policy)["end_state_match"].item()


@pytest.mark.parametrize(
    ("expected", "final", "right"),
    [
        ({"a": 1}, {"a": 1, "b": 2}, 1),
        ({"a": 1, "b": 2}, {"a": 1}, 0),
        ({}, {"a": 1}, 1),
        ({}, {}, 1),
        ({"a": None}, {"a": None}, 1),
        ({"a": None}, {"b": 1}, 0),  # null is not a missing key
        ({"a": {"b": 1, "c": 2}}, {"a": {"c": 2, "b": 1}}, 1),
        ({"a": {"b": 1}}, {"a": {"b": 1, "c": 2}}, 0),  # below the top, whole values
        ({"a": [1, 2]}, {"a": [2, 1]}, 0),
        ({"a": 1}, {"a": 1.0}, 1),
        ({"a": [0, {"b": 1e0}]}, {"a": [-0.0, {"b": 1}]}, 1),
        ({"a": 1}, {"a": True}, 0),
        ({"a": 1}, {"a": "1"}, 0),
        ({"a": 2**53 + 1}, {"a": 2.0**53}, 0),
        ({"a": 2**53}, {"a": 2.0**53}, 1),
        ({"a": 10**40 + 1}, {"a": 10**40 + 1}, 1),
        ({"a": 10**40 + 1}, {"a": 10**40}, 0),
        ({"a": 10**30}, {"a": 1e30}, 0),  # 1e30 is a double: 1000000000000000019884624838656
        ({"a": "x"}, {"a": "x "}, 0),
        ({"a": 1}, [1], 0),
        ([1, 2], [1.0, 2], 1),
        ("done", "done", 1),
        ({"a": 1}, None, None),
        (None, {"a": 1}, None),
    ],
)
def test_expected_state(tmp_path: Path, expected: Any, final: Any, right: int | None) -> None:
    assert verdict(tmp_path, expected, final) == right


def test_a_run_without_a_task_or_a_state(tmp_path: Path) -> None:
    """The task's state is asked of its runs only; one without a final state is not known."""
    lake = tmp_path / "lake"
    add(lake, "tasks", {"task_id": "t", "prompt": "?", "expected_state": {"a": 1}})
    runs = [
        run("a", final_state={"a": 1}),
        run("b", task_id="t"),
        run("c", task_id="t", final_state={}),
    ]
    add(lake, "trajtab", *runs)
    assert scored(lake)["end_state_match"].to_list() == [None, None, 0]


def test_checks_return_offenders(tmp_path: Path) -> None:
    """No expected state is needed; a run without a final state stays unknown."""
    lake = tmp_path / "lake"
    states = [{"status": "booked"}, {"status": "open"}, {}, None]
    add(lake, "trajtab", *(run(f"r{i}", final_state=state) for i, state in enumerate(states)))
    assert scored(lake, check(BOOKED))["end_state_match"].to_list() == [1, 0, 0, None]


def test_both_must_hold(tmp_path: Path) -> None:
    state = {"status": "booked", "price": 12}
    cheap = check("SELECT * FROM final_state WHERE (state->>'price')::INT > 10", "cheap")
    assert verdict(tmp_path, {"status": "booked"}, state, check(BOOKED)) == 1
    assert scored(tmp_path / "lake", check(BOOKED) + cheap)["end_state_match"].item() == 0
    assert verdict(tmp_path / "other", {"status": "open"}, state, check(BOOKED)) == 0


def test_runs_of_one_id_are_told_apart(tmp_path: Path) -> None:
    """Two agents may use the same run id: the offender's key says which run it is."""
    lake = tmp_path / "lake"
    add(
        lake,
        "trajtab",
        run("same", agent="good", final_state={"status": "booked"}),
        run("same", agent="bad", final_state={"status": "open"}),
    )
    found = scored(lake, check(BOOKED)).select("agent", "end_state_match")
    assert dict(found.rows()) == {"good": 1, "bad": 0}


def test_each_distinct_pair_is_compared_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[Any, Any]] = []
    compare = end_state.holds
    monkeypatch.setattr(end_state, "holds", lambda e, f: seen.append((e, f)) or compare(e, f))
    lake = tmp_path / "lake"
    add(lake, "tasks", {"task_id": "t", "prompt": "?", "expected_state": {"a": 1}})
    add(lake, "trajtab", *(run(f"r{i}", task_id="t", final_state={"a": i % 2}) for i in range(10)))
    assert scored(lake)["end_state_match"].to_list() == [0, 1] * 5
    assert len(seen) == 2


@pytest.mark.parametrize(
    ("sql", "why"),
    [
        ("SELECT run_id FROM final_state", "no column run_key .* run_id"),
        ("SELECT 'x' AS run_key", "no key but String"),
        ("SELECT -1 AS run_key", "no key but Int"),
        ("SELECT run_key FROM nowhere", "nowhere"),
        ("SELEC run_key", "syntax error"),
        ("SELECT run_key FROM final_state WHERE (state->>'a')::INT = 1", "Conversion Error"),
        ("DELETE FROM final_state RETURNING run_key", "only SELECT runs"),
        ("SELECT run_key FROM final_state; DROP TABLE final_state", "one SELECT statement"),
        ("SELECT 1 AS run_key FROM read_text('/etc/hostname')", "disabled by configuration"),
        ("COPY final_state TO '{folder}/stolen.csv'", "only SELECT runs"),
        ("ATTACH '{folder}/stolen.db'", "only SELECT runs"),
        ("SET enable_external_access = true", "only SELECT runs"),
        ("SELECT run_key FROM runs", "runs"),
    ],
)
def test_hostile_and_broken_checks(tmp_path: Path, sql: str, why: str) -> None:
    add(tmp_path / "lake", "trajtab", run("r", final_state={"a": "x"}))
    with pytest.raises(InputError, match=f"end_state.check 'booked': .*{why}"):
        scored(tmp_path / "lake", check(sql.replace("{folder}", str(tmp_path))))
    assert not list(tmp_path.glob("stolen*"))


def test_a_check_that_finds_no_one(tmp_path: Path) -> None:
    """Not even where its result has a row without a key, as an aggregate of nothing has."""
    add(tmp_path / "lake", "trajtab", run("r", final_state={"status": "booked"}))
    nothing = "SELECT max(run_key) AS run_key FROM final_state WHERE state->>'status' = 'open'"
    assert scored(tmp_path / "lake", check(nothing))["end_state_match"].item() == 1
