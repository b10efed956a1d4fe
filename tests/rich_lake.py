"""A lake with something of everything a report tells: names that act, secrets, two versions, days."""

from __future__ import annotations

import json
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING

import pytest
from lakes import final, landed, write
from making import call, run, want

from pipeline.landing.land import land
from pipeline.report.charts import drawing
from pipeline.scoring import score

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pipeline.lake import Lake

KEY = "sk-0123456789abcdef"
NAUGHTY = "</script><img src=x onerror=alert(1)>|&\"'"
ARMS = {"baseline": "agent_version = 'v1'", "candidate": "agent_version = 'v2'"}
TASKS = 6


def made_run(task: int, version: str, day: int) -> dict[str, object]:
    """v1 calls `hold` where `book` is expected and fails; v2 is right."""
    right = version == "v2"
    return run(
        f"{NAUGHTY} {task} {version} {day}",
        call("search", {"q": task, "note": f"secret words {KEY}"}, output=f"found {KEY}", duration_ms=10.0 + task),
        call("book" if right else "hold", {"seat": 1}, duration_ms=5.0, **({} if right else {"error": "full"})),
        final("done", input_tokens=100 * task, output_tokens=10),
        task_id=f"t|{task}",
        suite=NAUGHTY,
        trial=day,
        agent="a",
        agent_version=version,
        model=f"m{NAUGHTY}",
        success=right,
        started_at=f"2026-03-0{day + 1}T0{task}:00:00Z",
        expected=[want("search", {"q": task, "note": f"secret words {KEY}"}), want("book", {"seat": 1})],
    )  # fmt: skip


def rich_lake(folder: Path) -> Lake:
    """Make a lake of two versions on three days, with a reject, a replaced run, hidden arguments."""
    runs = [made_run(t, v, d) for t in range(TASKS) for v in ("v1", "v2") for d in range(3)]
    hidden = {"kind": "tool_call", "tool_name": "search"}
    longer = run("again", call("x"), call("x"), agent_version="v1", status="error")
    lake = landed(
        folder, *runs, run("again", call("x"), agent_version="v1", status="error"), "{broken"
    )
    more = write(
        folder / "more.jsonl", longer, run("hidden", hidden, expected=[want("search", {})])
    )
    land([more], lake.path, workers=1)
    score(lake)
    return lake


@contextmanager
def without_charts() -> Iterator[None]:
    """Leave the charts out, as where altair is not installed."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(drawing, "available", lambda: False)
        yield


@contextmanager
def each_chart_once() -> Iterator[None]:
    """Draw a chart once, however many pages of the same lake have it."""
    if not drawing.available():
        yield
        return
    import vl_convert  # noqa: PLC0415 - slow to load

    def once(name: str) -> Callable[..., object]:
        draw = getattr(vl_convert, name)
        known = cache(lambda spec, options: draw(json.loads(spec), **json.loads(options)))
        return lambda spec, **options: known(json.dumps(spec), json.dumps(options))

    with pytest.MonkeyPatch.context() as patched:
        for name in ("vegalite_to_vega", "vega_to_svg"):
            patched.setattr(vl_convert, name, once(name))
        yield
