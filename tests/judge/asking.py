"""Batch files, answers and little lakes for the tests of judges, spelled short."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from judge.serving import answer
from lakes import final, scored
from making import call, run

import pipeline
from pipeline import judge

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from pipeline.lake import Lake
    from pipeline.tables.result import Result


def lines(path: Path) -> list[dict[str, Any]]:
    """Read JSON lines."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def write_lines(path: Path, rows: Iterable[Any]) -> Path:
    """Write JSON lines; a text stands as it is."""
    told = [row if isinstance(row, str) else json.dumps(row) for row in rows]
    path.write_text("".join(f"{line}\n" for line in told), encoding="utf-8")
    return path


def batch(path: Path, count: int, max_output: int = 50) -> Path:
    """Write a batch file of so many short questions."""
    return write_lines(
        path,
        (
            {
                "custom_id": f"j-{number:04}",
                "method": "POST",
                "url": "/v1/chat/completions",
                "body": {
                    "model": "m",
                    "messages": [{"role": "user", "content": f"question {number:04}"}],
                    "max_completion_tokens": max_output,
                },
            }
            for number in range(count)
        ),
    )


def openai(custom: str, content: str | None, **more: Any) -> dict[str, Any]:
    """Return one line of OpenAI's batch output."""
    body = answer("")
    body["choices"][0]["message"]["content"] = content
    body["choices"][0] |= more
    return {
        "id": "batch_req_1",
        "custom_id": custom,
        "response": {"status_code": 200, "request_id": "r", "body": body},
        "error": None,
    }


def anthropic(custom: str, text: str, stop: str = "end_turn") -> dict[str, Any]:
    """Return one line of Anthropic's batch results."""
    message = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "served-a",
        "content": [{"type": "text", "text": text}],
        "stop_reason": stop,
        "usage": {"input_tokens": 90, "output_tokens": 9},
    }
    return {"custom_id": custom, "result": {"type": "succeeded", "message": message}}


RELEVANCE = "preset:tool_relevance"
NAME = "judge.tool_relevance"


def yes(custom: str, *, value: bool = True) -> dict[str, Any]:
    """Return an answer under preset:tool_relevance."""
    return openai(custom, json.dumps({"reason": "so", "relevant": value}))


def no(custom: str) -> dict[str, Any]:
    """Return the opposite answer."""
    return yes(custom, value=False)


def prepared(lake: Lake, folder: Path, rubric: Any = RELEVANCE, **more: Any) -> list[str]:
    """Write a batch file and return its ids, in its order."""
    judge.prepare(lake, rubric, folder / "requests.jsonl", **more)
    return [row["custom_id"] for row in lines(folder / "requests.jsonl")]


def land(lake: Lake, folder: Path, *told: Any, name: str = "responses") -> Result:
    """Land lines as one file."""
    return judge.land([write_lines(folder / f"{name}.jsonl", told)], lake)


def column(lake: Lake, name: str = NAME) -> dict[str, float | None]:
    """Return a column by run id, from the view that all tables read."""
    return dict(pipeline.scores(lake, columns=["run_id", name]).rows.rows())


def little(folder: Path) -> Lake:
    """Land and score six runs of three tasks in two versions; the first two runs are alike."""
    records = []
    for version in ("v1", "v2"):
        for task in ("t1", "t2", "t3"):
            same = task == "t1"
            query = "x" if same else f"{task} {version}"
            records.append(
                run(
                    f"{version}-{task}",
                    {"kind": "message", "actor": "user", "content": f"find {task}"},
                    call("search", {"q": query}, output="found"),
                    call("book", {"id": 7 if same else version}, output="booked"),
                    final("done"),
                    task_id=task,
                    agent="a",
                    agent_version=version,
                    expected=[],
                )
            )
    return scored(folder, *records)
