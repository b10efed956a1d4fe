"""Small logs and lakes for tests: our own format, made on the spot."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import polars as pl

from pipeline.current import current, policy_of, superseded_keys
from pipeline.lake import Lake

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


def call(name: str, args: Any = None, **more: Any) -> dict[str, Any]:
    """Return a tool call step."""
    return {"kind": "tool_call", "tool_name": name, "tool_args": args or {}, **more}


def want(name: str, args: Any = None, **more: Any) -> dict[str, Any]:
    """Return an expected call."""
    return {"tool_name": name, "tool_args": args or {}, **more}


def run(run_id: str, *steps: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Return a run."""
    return {"run_id": run_id, "steps": list(steps), **more}


def write(path: Path, records: Iterable[dict[str, Any]]) -> Path:
    """Write records as JSON lines."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [json.dumps(record, ensure_ascii=False) for record in records]
    path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    return path


def runs_of(lake: Path) -> pl.DataFrame:
    """Return the runs of a lake that count."""
    opened = Lake.open(lake)
    frames = [pl.read_parquet(batch.file("runs")) for batch in opened.batches()]
    if not frames:
        return pl.DataFrame(schema={"run_id": pl.String})
    gone = superseded_keys(opened.batches())
    return pl.concat(frames).filter(~pl.col("run_key").is_in(gone)).sort("run_id", "agent")


def steps_of(lake: Path) -> pl.DataFrame:
    """Return the steps of the runs that count."""
    opened = Lake.open(lake)
    frames = [pl.read_parquet(batch.file("steps")) for batch in opened.batches()]
    gone = superseded_keys(opened.batches())
    return pl.concat(frames).filter(~pl.col("run_key").is_in(gone)).sort("run_id", "step_index")


def scores_of(lake: Path, policy: str | None = None) -> pl.DataFrame:
    """Return the scores that count, by run id."""
    opened = Lake.open(lake)
    state = current(opened, policy_of(opened, policy))
    frames = [pl.read_parquet(folder.file("scores")) for folder in state.scores]
    return pl.concat(frames).filter(~pl.col("run_key").is_in(state.superseded)).sort("run_id")
