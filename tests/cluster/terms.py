# ruff: noqa: T201 - a script that prints what it measures
"""What the parts of landing and scoring cost: CPU seconds of one core, per million runs too.

POLARS_MAX_THREADS=1 python tests/cluster/terms.py [RUNS]

Each part is what a task or the driver runs, over the same files, one after the other in this
process. The terms that Spark adds are measured by `measure.py`.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from clusters import exported

from pipeline.engines.shelf import Shelf
from pipeline.engines.staged import put_staged, read_staged
from pipeline.lake import Lake
from pipeline.landing.again.known import Known
from pipeline.landing.batch.chunks import cut
from pipeline.landing.batch.commit import commit
from pipeline.landing.batch.stage import stage
from pipeline.landing.options import Options
from pipeline.landing.recognise import recognise_all, rooms_of
from pipeline.landing.report import LandReport
from pipeline.landing.source.named import expand
from pipeline.policy import load
from pipeline.scoring.task import ScoreBatch

if TYPE_CHECKING:
    from collections.abc import Callable

LOADED = "import polars, duckdb, pipeline.landing.batch.stage, pipeline.scoring.task"


class Terms:
    """CPU seconds per part, printed as they come."""

    def __init__(self, runs: int) -> None:
        self.runs = runs

    def take(self, name: str, work: Callable[[], object]) -> None:
        begin = time.process_time()
        work()
        seconds = time.process_time() - begin
        print(f"{name:<42} {seconds:7.2f} {seconds / self.runs * 1e6:8.1f}", flush=True)


def main(runs: int) -> None:
    """Print one row per part."""
    home = Path(tempfile.mkdtemp(prefix="trajtab-terms-"))
    export = exported(home / "export", runs)
    options, report = Options(), LandReport()
    recognise_all(expand([str(export)]), [str(export)], "auto", report)
    logs, _ = rooms_of(report.recognised)
    shelf, lake = Shelf(home / "shelf"), Lake.create(home / "lake")
    shelf.path.mkdir()
    terms, known, policy = Terms(runs), Known(lake), load(None)
    print(f"{'part':<42} {'CPU s':>7} {'per 1M':>8}")
    terms.take("look through files, name batches", lambda: list(cut(logs, options.text())))
    chunks = list(cut(logs, options.text()))
    staged: list = []
    terms.take("decode", lambda: staged.extend(stage(chunk, options) for chunk in chunks))
    terms.take("leave on the shelf", lambda: [put_staged(shelf, each) for each in staged])
    staged.clear()
    names = [chunk.name for chunk in chunks]
    terms.take(
        "driver: read from the shelf",
        lambda: staged.extend(read_staged(shelf, name) for name in names),
    )
    terms.take(
        "driver: look for repeated runs, publish",
        lambda: [commit(known, each, options) for each in staged],
    )
    scored = ScoreBatch(str(lake.path), policy, shelf)
    terms.take("score, leave on the shelf", lambda: [scored(b.name) for b in lake.batches()])
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", LOADED], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    loading = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(f"{'Python worker: load everything':<42} {loading:7.2f}  {len(chunks)} batches")


if __name__ == "__main__":
    main(int(sys.argv[1]) if sys.argv[1:] else 200_000)
