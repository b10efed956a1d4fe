# ruff: noqa: T201 - a script that prints what it measures
"""What scoring and landing cost here, on one worker and on two: CPU seconds, and wall time.

python tests/cluster/measure.py [RUNS]

CPU is that of every process involved, drivers, executors and Python workers, as /proc accounts
them; a busy machine stretches wall time and leaves it alone.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from clusters import Cluster

from pipeline.sample import sample

FILES = 6
TICKS = os.sysconf("SC_CLK_TCK")


def spent(pid: int) -> float:
    """Return the CPU seconds of a process and of its children that have ended."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / TICKS


def run(cluster: Cluster | None, *args: object) -> tuple[float, float]:
    """Run a command and return its CPU and wall seconds, the cluster's included."""
    daemons = [process.pid for process in cluster.workers] if cluster else []
    env = {**os.environ, **(cluster.env if cluster else {})}
    env.pop("TRAJTAB_UNIT_SECONDS", None)  # units as they are planned
    where = ["--engine", "spark", "--master", cluster.url] if cluster else ["--workers", "2"]
    before, begin = os.times(), time.monotonic()
    earlier = sum(map(spent, daemons))
    subprocess.run(
        [sys.executable, "-m", "pipeline", *map(str, args), *where],
        check=True, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    wall = time.monotonic() - begin
    after = os.times()
    own = after.children_user + after.children_system
    own -= before.children_user + before.children_system
    if daemons:
        time.sleep(5)  # executors end after their driver
    return own + sum(map(spent, daemons)) - earlier, wall


def main(runs: int) -> None:
    """Print one row per step and place."""
    home = Path(tempfile.mkdtemp(prefix="trajtab-measure-"))
    export = home / "export"
    sample(export, runs=runs, seed=1)
    with (export / "runs.jsonl").open("rb") as lines:
        for number in range(FILES):
            with (export / f"runs-{number}.jsonl").open("wb") as part:
                part.writelines(lines.readline() for _ in range(-(-runs // FILES)))
    (export / "runs.jsonl").unlink()
    print(f"{runs} runs, {sum(f.stat().st_size for f in export.iterdir()) / 1e6:.0f} MB")
    print("step        place       CPU s   wall s")
    for workers in (0, 1, 2):
        cluster = None
        if workers:
            (home / f"spark-{workers}").mkdir()
            cluster = Cluster(home / f"spark-{workers}", workers)
        lake = home / f"lake-{workers}"
        steps = {
            "land": ("land", export, "--lake", lake),
            "score": ("score", lake),
            "score again": ("score", lake, "--all"),
        }
        for step, args in steps.items():
            cpu, wall = run(cluster, *args)
            place = f"{workers} workers" if workers else "local"
            print(f"{step:<11} {place:<10} {cpu:6.1f} {wall:8.1f}", flush=True)
        if cluster:
            cluster.stop()


if __name__ == "__main__":
    main(int(sys.argv[1]) if sys.argv[1:] else 200_000)
