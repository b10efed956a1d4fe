"""Many runs at once into one sink, and one run told of from many sides: nothing lost, nothing mixed."""

from __future__ import annotations

import asyncio
import json
import threading
from collections import Counter
from typing import TYPE_CHECKING, Any

import polars as pl

from pipeline.lake import Lake
from pipeline.landing.land import land
from pipeline.record import Recorder, Sink

if TYPE_CHECKING:
    from pathlib import Path

THREADS, TASKS, RUNS = 8, 200, 25


def check(folder: Path, names: set[str], calls: int) -> None:
    """Every run is there once, with its own calls in their order and nobody else's."""
    lines = [json.loads(line) for line in (folder / "r.jsonl").read_text().splitlines()]
    assert Counter(line["run_id"] for line in lines) == Counter(names)
    for line in lines:
        assert [step["tool_args"] for step in line["steps"]] == [
            {"run": line["run_id"], "n": n} for n in range(calls)
        ]
        assert {step["output"] for step in line["steps"]} == {line["run_id"]}
    report = land([folder / "r.jsonl"], folder / "lake", workers=1)
    assert (report.runs, report.calls) == (len(names), len(names) * calls)
    assert (report.duplicates, report.rejects.total()) == (0, 0)


def test_eight_threads_and_two_hundred_tasks_at_once(tmp_path: Path) -> None:
    sink = Sink(tmp_path / "r.jsonl", fsync=False)
    begin = threading.Barrier(THREADS + 1)

    def in_thread(number: int) -> None:
        begin.wait()
        for count in range(RUNS):
            name = f"thread-{number}-{count}"
            with Recorder(sink, run_id=name) as run:
                tool = run.tool(lambda run, n: run, name="f")  # noqa: ARG005 - its arguments are looked at
                for n in range(5):
                    tool(run=name, n=n)

    async def in_task(number: int) -> None:
        name = f"task-{number}"
        async with Recorder(sink, run_id=name) as run:

            @run.tool
            async def f(run: str, n: int) -> str:
                await asyncio.sleep(0.001 * (n % 3))
                return run

            for n in range(5):
                await f(run=name, n=n)

    async def tasks() -> None:
        await asyncio.gather(*map(in_task, range(TASKS)))

    threads = [threading.Thread(target=in_thread, args=(n,)) for n in range(THREADS)]
    for thread in threads:
        thread.start()
    begin.wait()
    asyncio.run(tasks())
    for thread in threads:
        thread.join()
    names = {f"thread-{t}-{r}" for t in range(THREADS) for r in range(RUNS)}
    check(tmp_path, names | {f"task-{n}" for n in range(TASKS)}, calls=5)


def test_one_run_told_of_by_threads_and_tasks(tmp_path: Path) -> None:
    """Each side's calls stay in their order, and live flags are the scorer's all the same."""
    begin = threading.Barrier(THREADS)

    def from_thread(run: Recorder, number: int) -> None:
        begin.wait()
        for n in range(50):
            run.tool_call(f"thread-{number}", {"n": n % 4}, n)

    async def from_task(run: Recorder, number: int) -> None:
        @run.tool(name=f"task-{number}")
        async def f(n: int) -> int:
            await asyncio.sleep(0)
            return n

        for n in range(20):
            await f(n)

    async def all_tasks(run: Recorder) -> None:
        await asyncio.gather(*(from_task(run, n) for n in range(20)))

    with Recorder(Sink(tmp_path / "r.jsonl"), run_id="r") as run:
        threads = [threading.Thread(target=from_thread, args=(run, n)) for n in range(THREADS)]
        for thread in threads:
            thread.start()
        asyncio.run(all_tasks(run))
        for thread in threads:
            thread.join()
    seen: dict[str, list[Any]] = {}
    for step in run.record["steps"]:
        seen.setdefault(step["tool_name"], []).append(step["output"])
    assert seen == {f"thread-{n}": list(range(50)) for n in range(THREADS)} | {
        f"task-{n}": list(range(20)) for n in range(20)
    }
    flags = [step["reported_backtrack"] for step in run.record["steps"]]
    from pipeline.scoring import score  # noqa: PLC0415 - the only test here that scores

    land([tmp_path / "r.jsonl"], tmp_path / "lake", workers=1)
    score(Lake.open(tmp_path / "lake"))
    (file,) = (tmp_path / "lake").glob("scores/*/*/call_scores.parquet")
    assert pl.read_parquet(file)["is_backtrack"].to_list() == flags
