# ruff: noqa: T201 - a script that prints what it measures
"""What scoring and landing cost here, on one worker and on two: CPU seconds, and wall time.

python tests/cluster/measure.py [RUNS]

CPU is that of every process involved, drivers, their JVMs, executors and Python workers, as the
kernel accounts them when they have ended; a busy machine stretches wall time more than CPU.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from clusters import Cluster, children, exported, until

TICKS = os.sysconf("SC_CLK_TCK")
SUBREAPER = 36
"""prctl: what outlives its parent below this process becomes its child, and is accounted to it."""


def spent(pid: int) -> float:
    """Return the CPU seconds of a process and of its children that have ended."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / TICKS


def collect(others: set[int]) -> None:
    """Wait for the children beside these: a driver's JVM ends after its Python."""
    while left := set(children(os.getpid())) - others:
        os.waitpid(left.pop(), 0)


def run(cluster: Cluster | None, *args: object) -> tuple[float, float]:
    """Run a command and return its CPU and wall seconds, the cluster's included."""
    workers = [process.pid for process in cluster.workers] if cluster else []
    others = set(children(os.getpid()))
    env = {**os.environ, **(cluster.env if cluster else {})}
    env.pop("TRAJTAB_UNIT_SECONDS", None)  # units as they are planned
    where = ["--engine", "spark", "--master", cluster.url] if cluster else ["--workers", "2"]
    before, begin = os.times(), time.monotonic()
    earlier = sum(map(spent, workers))
    subprocess.run(
        [sys.executable, "-m", "pipeline", *map(str, args), *where],
        check=True, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    wall = time.monotonic() - begin
    collect(others)
    if cluster:
        until(lambda: not cluster.executors())  # they end after their driver
        collect(others)
    after = os.times()
    own = after.children_user + after.children_system
    own -= before.children_user + before.children_system
    return own + sum(map(spent, workers)) - earlier, wall


def main(runs: int) -> None:
    """Print one row per step and place."""
    ctypes.CDLL(None).prctl(SUBREAPER, 1, 0, 0, 0)
    home = Path(tempfile.mkdtemp(prefix="trajtab-measure-"))
    export = exported(home / "export", runs)
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
