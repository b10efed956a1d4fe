"""Records that stand by themselves land the same in any order, from one file or several.

Where a difference is right it is said: BFCL's model and the suite of ADK's first eval files are the
file's name, so files of other names are other runs; a session's lines follow each other, and are
no records by themselves. Of a trace in several files an agent's place below another one is as its
part knew it, and a part without a step says nothing: those are cut no further than in two.
"""

from __future__ import annotations

import json
import shutil
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

import pytest
from reading import SAMPLES
from respelling import told

from pipeline.landing.land import land

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

LINES = (
    "agents_sdk/traces.jsonl", "annotations/annotations.jsonl", "bfcl_answers/BFCL_v4_trips.json",
    "langsmith/flight_runs.jsonl", "messages/records.jsonl", "openai_chat/travel_desk.jsonl",
    "openhands_output/output.jsonl", "otlp/rail_desk.jsonl", "pairs/pairs.jsonl",
    "recorder/trajectories.jsonl", "span_attributes/gates.jsonl", "tasks/tasks.jsonl",
    "taubench_fewshot/hotel-few_shot.jsonl", "trajtab/runs.jsonl",
)  # fmt: skip
SINGLE = {
    str(path.relative_to(SAMPLES))
    for path in SAMPLES.glob("*/*")
    if path.is_file() and path.parent.name not in {"claude_code", "tau2_directory", "adk_config"}
}
"""Logs that stand by themselves, with nothing beside them."""
WHERE = {"inside"}
"""A label of a step whose span stands in another file than those around it: so they are joined."""


def said(lake: Path) -> dict[str, list[str]]:
    """Return the rows of a lake in no order; steps with their runs, whose ids may be made up."""
    found = told(lake)
    steps = iter(found.pop("steps", []))
    for run in found.get("runs", []):
        run["steps"] = [_of_run(next(steps)) for _ in range(run["n_rows"])]
    for annotation in found.get("annotations", []):
        del annotation["position"]
    return {name: sorted(map(_text, rows)) for name, rows in found.items()}


def _text(row: Any) -> str:
    return json.dumps(row, default=str, sort_keys=True)


def _of_run(step: dict[str, Any]) -> dict[str, Any]:
    labels = {k: v for k, v in (step["labels"] or {}).items() if k not in WHERE}
    return {**step, "run_id": None, "labels": labels}


def _written(folder: Path, **parts: list[bytes]) -> Path:
    folder.mkdir()
    for name, lines in parts.items():
        (folder / f"{name}.jsonl").write_bytes(b"\n".join(lines) + b"\n")
    return folder


CUT: dict[str, Callable[[list[bytes]], dict[str, list[bytes]]]] = {
    "from the last to the first": lambda lines: {"a": lines[::-1]},
    "in two files": lambda lines: {
        "a": lines[: len(lines) // 2],
        "b": lines[len(lines) // 2 :],
    },
    "one line a file, the last first": lambda lines: {
        f"l{len(lines) - at:03}": [line] for at, line in enumerate(lines)
    },
}


TRACES = {"agents_sdk/traces.jsonl": 1, "langsmith/flight_runs.jsonl": 2, "otlp/rail_desk.jsonl": 2}
"""In how many files each may be cut."""
CUTS = [
    (log, cut) for log in LINES for most, cut in enumerate(CUT, 1) if most <= TRACES.get(log, most)
]


@pytest.mark.parametrize(("log", "cut"), CUTS)
def test_lines_in_another_order_and_in_other_files(tmp_path: Path, log: str, cut: str) -> None:
    lines = [line for line in (SAMPLES / log).read_bytes().splitlines() if line.strip()]
    land([SAMPLES / log], tmp_path / "right", workers=1)
    land([_written(tmp_path / "in", **CUT[cut](lines))], tmp_path / "lake", workers=1)
    assert said(tmp_path / "lake") == said(tmp_path / "right")


INSIDE = {
    "otlp/rail_desk.jsonl": {"resourceSpans", "scopeSpans", "spans", "attributes"},
    "jaeger/helpdesk.json": {"data", "spans", "tags"},
    "langfuse/hotel_desk.trace.json": {"observations"},
    "inspect_log/trip_desk.json": {"samples"},
    "tau2_results/hotel_concierge.json": {"simulations", "tasks"},
    "adk_evalset/helpdesk.evalset.json": {"eval_cases"},
    "adk_evalset_result/helpdesk.evalset_result.json": {"eval_case_results"},
}
"""Lists that tell nothing by their order: spans have times, runs and tasks have ids."""


def _turned(value: Any, names: set[str]) -> Any:
    if isinstance(value, list):
        return [_turned(item, names) for item in value]
    if not isinstance(value, dict):
        return value
    found = {name: _turned(member, names) for name, member in value.items()}
    lists = (name for name in names & found.keys() if isinstance(found[name], list))
    return found | {name: found[name][::-1] for name in lists}


@pytest.mark.parametrize("log", INSIDE)
def test_lists_without_an_order_turned_round(tmp_path: Path, log: str) -> None:
    text = (SAMPLES / log).read_text()
    values = map(json.loads, text.splitlines() if log.endswith("jsonl") else [text])
    other = (tmp_path / "in" / log).with_suffix(".json")
    other.parent.mkdir(parents=True)
    other.write_text("\n".join(json.dumps(_turned(value, INSIDE[log])) for value in values))
    land([SAMPLES / log], tmp_path / "right", workers=1)
    land([other], tmp_path / "lake", workers=1)
    assert said(tmp_path / "lake") == said(tmp_path / "right")


BY_NAME = {"adk_eval_legacy", "bfcl_result", "swe_agent"}
"""Formats that take a suite, a model or a task from a file's name: another one is another run."""


FOLDERS = {folder.name for folder in SAMPLES.iterdir() if folder.is_dir()} - {"annotations"}
"""But for what people say: who changed their mind says both again, and the last word counts."""


@pytest.mark.parametrize("name", sorted(FOLDERS))
def test_a_log_in_two_folders_counts_once(tmp_path: Path, name: str) -> None:
    for folder in ("a", "b"):
        shutil.copytree(SAMPLES / name, tmp_path / "in" / folder / name)
    once = land([SAMPLES / name], tmp_path / "right", workers=1)
    twice = land([tmp_path / "in"], tmp_path / "lake", workers=1)
    assert (twice.runs, twice.tasks) == (once.runs, once.tasks)
    assert told(tmp_path / "lake") == told(tmp_path / "right")


@pytest.mark.parametrize(
    "log", sorted(path for path in SINGLE if path.split("/")[0] not in BY_NAME)
)
def test_a_log_under_two_names_counts_once(tmp_path: Path, log: str) -> None:
    for name in ("a", "b"):
        to = tmp_path / "in" / f"{name}-{PurePath(log).name}"
        to.parent.mkdir(exist_ok=True)
        shutil.copy(SAMPLES / log, to)
    once = land([SAMPLES / log], tmp_path / "right", workers=1)
    twice = land([tmp_path / "in"], tmp_path / "lake", workers=1)
    assert (twice.runs, twice.tasks) == (once.runs, once.tasks)
