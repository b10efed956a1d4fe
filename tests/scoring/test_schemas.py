"""Calls under their tools' JSON Schemas; right values from JSON Schema 2020-12, counted by hand."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from making import call
from making import run as bare_run
from scoring.judging import add, scored, uncaptured

from pipeline.checks import check
from pipeline.lake import Lake
from pipeline.scoring import schemas
from pipeline.tasks import TaskFolders

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytest.importorskip("jsonschema_rs", reason="the extra `schema` is not installed")

DATED = {
    "type": "object",
    "properties": {"day": {"type": "string", "format": "date"}, "n": {"type": "integer"}},
    "required": ["day"],
}


def tool(name: str, schema: Any = DATED) -> dict[str, Any]:
    return {"name": name, "input_schema": schema}


def task(task_id: str, *tools: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"task_id": task_id, "suite": "s", "prompt": "?", "tools": list(tools), **fields}


def run(run_id: str, *steps: dict[str, Any], task_id: str = "t") -> dict[str, Any]:
    return bare_run(run_id, *steps, task_id=task_id, suite="s")


def search(**args: Any) -> dict[str, Any]:
    return call("search", args)


def rates(folder: Path, tasks: list[dict[str, Any]], *runs: dict[str, Any]) -> list[float | None]:
    """Land tasks and runs, and return each run's rate."""
    add(folder / "lake", "tasks", *tasks)
    add(folder / "lake", "trajtab", *runs)
    found = dict(scored(folder / "lake").select("run_id", "schema_valid_rate").rows())
    return [found[run["run_id"]] for run in runs]


def test_share_of_valid_calls(tmp_path: Path) -> None:
    """A real day, a missing one, the 30th of February, and a call of a tool without a schema."""
    steps = [search(day="2024-02-29"), search(), search(day="2024-02-30"), call("pay")]
    found = rates(tmp_path, [task("t", tool("search"), tool("pay", None))], run("r", *steps))
    assert found == [pytest.approx(1 / 3)]


@pytest.mark.parametrize(
    ("n", "right"), [(1, 1.0), (1.0, 1.0), (10**40, 1.0), (1.5, 0.0), ("1", 0.0), (True, 0.0)]
)
def test_numbers(tmp_path: Path, n: Any, right: float) -> None:
    """1.0 is an integer (2020-12, 6.1.1), of any length; true and "1" are none."""
    found = rates(tmp_path, [task("t", tool("search"))], run("r", search(day="2024-01-01", n=n)))
    assert found == [right]


def test_invalid_arguments_are_not_valid(tmp_path: Path) -> None:
    """Text that is no JSON object is invalid even where the schema allows everything."""
    found = rates(
        tmp_path, [task("t", tool("search", {}))], run("r", call("search", tool_args="oops"))
    )
    assert found == [0.0]


def test_null_where_nothing_can_be_said(tmp_path: Path) -> None:
    """No call, no schema for the call, arguments not captured, another task, no task."""
    found = rates(
        tmp_path,
        [task("t", tool("search")), task("other")],
        run("none"),
        run("unknown", call("pay")),
        run("hidden", search(day="2024-01-01"), uncaptured("search")),
        run("elsewhere", search(day="2024-01-01"), task_id="other"),
        bare_run("free", search(day="2024-01-01")),
        run("seen", search(day="2024-01-01"), uncaptured("pay")),
    )
    assert found == [None, None, None, None, None, 1.0]


def test_each_task_has_its_own_tools(tmp_path: Path) -> None:
    """Two tasks give one tool two schemas; the same task id in another suite is another task."""
    closed = {"maxProperties": 0}
    foreign = {**run("c", search(day="2024-01-01")), "suite": "elsewhere"}
    found = rates(
        tmp_path,
        [task("t", tool("search")), task("u", tool("search", closed))],
        run("a", search(day="2024-01-01")),
        run("b", search(day="2024-01-01"), task_id="u"),
        foreign,
    )
    assert found == [1.0, 0.0, None]


def test_a_task_without_a_suite_has_its_tools_too(tmp_path: Path) -> None:
    """A missing suite is the same suite as a missing suite, and no other."""
    asked = search(day="2024-01-01"), search()
    found = rates(
        tmp_path,
        [{**task("t", tool("search")), "suite": None}],
        bare_run("a", *asked, task_id="t"),
        run("b", *asked),
    )
    assert found == [0.5, None]


def test_the_latest_landing_of_a_task_counts(tmp_path: Path) -> None:
    """Landed again with other tools a task has those, and none where the last has none."""
    lake = tmp_path / "lake"
    found = rates(tmp_path, [task("t", tool("search"))], run("a", search(day="2024-01-01")))
    add(lake, "tasks", task("t", tool("search", {"maxProperties": 0}), min_steps=2))
    found += scored(lake)["schema_valid_rate"].to_list()
    add(lake, "tasks", task("t", min_steps=3))
    assert [*found, *scored(lake)["schema_valid_rate"]] == [1.0, 0.0, None]


def test_each_distinct_call_is_checked_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 40 calls in 4 runs, 2 are different; under the schemas of 2 tasks that is 3 checks."""
    checked: list[Any] = []
    make = schemas.validator.__wrapped__

    def counting(schema: str) -> Callable[[Any], bool]:
        check = make(schema)
        return lambda args: checked.append((schema, json.dumps(args))) or check(args)

    monkeypatch.setattr(schemas, "validator", counting)
    calls = [search(day="2024-01-01"), search(day="never")] * 5
    same = [search(day="2024-01-01")] * 10
    runs = [run("a", *calls), run("b", *calls), run("c", *calls), run("d", *same, task_id="u")]
    found = rates(tmp_path, [task("t", tool("search")), task("u", tool("search", {}))], *runs)
    assert found == [0.5, 0.5, 0.5, 1.0]
    assert len(checked) == len(set(checked)) == 3


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        ({"type": "nope"}, "nope"),
        ({"$ref": "file:///etc/hostname"}, "nothing is fetched"),
        ({"$ref": "http://127.0.0.1:9/x.json"}, "nothing is fetched"),
        ({"$ref": "#/$defs/gone"}, "gone"),
        ({"pattern": "(("}, "regex"),
        ("hello", "Invalid string"),
    ],
)
def test_broken_schemas(tmp_path: Path, schema: Any, why: str) -> None:
    """A schema that is none costs its tool's calls their verdict, no run its scores, and is listed."""
    tools = tool("search", schema), tool("pay")
    steps = search(), call("pay", {"day": "2024-02-29"}), call("pay", {})
    found = rates(tmp_path, [task("t", *tools)], run("r", search()), run("s", *steps))
    listed = check(tmp_path / "lake").rows.filter(pl.col("check") == "broken_schemas")

    assert found == [None, 0.5]
    assert listed["subject"].to_list() == ["search"]
    assert "no JSON Schema in 1 tasks: " in listed["detail"][0]
    assert why in listed["detail"][0]


def test_without_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jsonschema_rs", None)
    found = rates(tmp_path, [task("t", tool("search"))], run("r", search(day="2024-01-01")))
    assert found == [None]


def test_argument_texts_are_read_only_for_schemas(tmp_path: Path) -> None:
    """Tools without a schema ask for no column of texts."""
    assert columns(tmp_path, task("t", tool("pay", None))) == ()
    assert "tool_args" in columns(tmp_path, task("t", tool("pay"), min_steps=1))


def columns(folder: Path, landed: dict[str, Any]) -> tuple[str, ...]:
    """Return the step columns to read once the task has landed."""
    add(folder / "lake", "tasks", landed)
    known = TaskFolders.of(Lake.open(folder / "lake"))
    return schemas.step_columns(schemas.in_force(known, known.latest))
