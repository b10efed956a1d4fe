"""A Spark standalone cluster on loopback, started and ended by tests, and what they ask of it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
from hosts import HERE

from pipeline.lake import Lake
from pipeline.sample import sample

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from hosts import Host

SPARK = find_spec("pyspark")
HOME = Path(SPARK.origin).parent if SPARK and SPARK.origin else Path()
ROOT = Path(__file__).resolve().parents[1]
DEADLINE_S = float(os.environ.get("TRAJTAB_CLUSTER_DEADLINE", "600"))
"""How long anything may take before a test gives up: starting a JVM, noticing a loss."""

DEFAULTS = """\
spark.executor.memory 512m
spark.driver.memory 512m
spark.ui.enabled false
spark.sql.shuffle.partitions 4
"""


def until(what):
    """Wait for something to be there, and return it."""
    end = time.monotonic() + DEADLINE_S
    while not (found := what()):
        assert time.monotonic() < end, f"waited too long for {what}"
        time.sleep(0.02)
    return found


_until = until


def children(pid: int) -> list[int]:
    """Return the processes that a process started, from /proc."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            text = stat.read_text()
        except OSError:
            continue
        if int(text.rpartition(")")[2].split()[1]) == pid:
            found.append(int(stat.parent.name))
    return found


def descendants(pid: int) -> list[int]:
    found = children(pid)
    return found + [below for child in found for below in descendants(child)]


def executors(worker: int) -> list[int]:
    """Return a worker daemon's executors."""
    backend = "CoarseGrainedExecutorBackend"
    return [pid for pid in descendants(worker) if backend in command_of(pid)]


def python_workers(worker: int) -> list[int]:
    """Return the Python processes that work off tasks: what the executors' daemons forked."""
    below = [pid for executor in executors(worker) for pid in children(executor)]
    daemons = [pid for pid in below if "pyspark.daemon" in command_of(pid)]
    return [pid for daemon in daemons for pid in children(daemon)]


def busy(pid: int) -> bool:
    """Is any thread of a process running?"""
    for stat in Path(f"/proc/{pid}/task").glob("*/stat"):
        with suppress(OSError):
            if stat.read_text().rpartition(")")[2].split()[0] == "R":
                return True
    return False


def command_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    except OSError:
        return ""


def kill(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


class Cluster:
    """One master, beside which drivers run, and workers of one core each.

    Args:
        folder: for logs and what Spark writes.
        workers: how many.
        hosts: the master's, then one per worker; all are this one unless it is said.
        conf: lines for spark-defaults.conf.
    """

    def __init__(
        self, folder: Path, workers: int = 2, hosts: Sequence[Host] = (), conf: str = ""
    ) -> None:
        self.folder = folder
        self.host, *homes = hosts or [HERE] * (workers + 1)
        (folder / "conf").mkdir()
        (folder / "conf" / "spark-defaults.conf").write_text(DEFAULTS + conf)
        self.env = {
            **os.environ,
            "SPARK_HOME": str(HOME),
            "SPARK_CONF_DIR": str(folder / "conf"),
            "SPARK_LOCAL_IP": self.host.address,
            "SPARK_DAEMON_MEMORY": "256m",
            "PYSPARK_PYTHON": sys.executable,
            "PYTHONPATH": str(ROOT),
            "TRAJTAB_UNIT_SECONDS": "0.000001",
        }
        self._logs = 0
        self.master = self._start(self.host, "master.Master")
        self.workers: list[subprocess.Popen] = []
        try:
            self.url = until(lambda: self._said(0, r"Starting Spark master at (spark://\S+)"))
            self.workers += [self._worker(home) for home in homes]
            for number in range(1, workers + 1):
                until(lambda number=number: self._said(number, r"(Successfully registered)"))
        except BaseException:
            self.stop()
            raise

    def _start(self, host: Host, name: str, *args: str) -> subprocess.Popen:
        log = self.folder / f"{self._logs}.log"
        self._logs += 1
        with log.open("wb") as file:
            return subprocess.Popen(
                [*host.inside, str(HOME / "bin" / "spark-class"),
                 f"org.apache.spark.deploy.{name}",
                 "--host", host.address, "--port", "0", "--webui-port", "0", *args],
                env={**self.env, "SPARK_LOCAL_IP": host.address},
                stdout=file, stderr=subprocess.STDOUT,
            )  # fmt: skip

    def _worker(self, host: Host = HERE) -> subprocess.Popen:
        work = self.folder / f"work-{self._logs}"
        return self._start(
            host, "worker.Worker", "--cores", "1", "--memory", "1g", "--work-dir", str(work),
            self.url,
        )  # fmt: skip

    def _said(self, log: int, pattern: str) -> str | None:
        found = re.search(pattern, (self.folder / f"{log}.log").read_text(errors="replace"))
        return found[1] if found else None

    def executors(self) -> list[int]:
        return [pid for worker in self.workers for pid in executors(worker.pid)]

    def python_workers(self) -> list[int]:
        return [pid for worker in self.workers for pid in python_workers(worker.pid)]

    def lose(self, what: str) -> None:
        """Kill one of the cluster's processes with signal 9; a lost worker is replaced."""
        if what == "worker":
            worker = self.workers.pop(0)
            below = descendants(worker.pid)
            kill(worker.pid)
            worker.wait()
            for pid in below:  # its executors end with it
                kill(pid)
            self.workers.append(self._worker())
        else:
            find = self.executors if what == "executor" else self.python_workers
            kill(until(find)[0])

    def stop(self) -> None:
        for process in [*self.workers, self.master]:
            for pid in [*descendants(process.pid), process.pid]:
                kill(pid)
            process.wait()


def exported(home: Path, runs: int, files: int = 6) -> Path:
    """Write a sample of so many runs in so many files, and its tasks; return its folder."""
    sample(home, runs=runs, seed=1)
    whole = home / "runs.jsonl"
    with whole.open("rb") as lines:
        for number in range(files):
            with (home / f"runs-{number}.jsonl").open("wb") as part:
                part.writelines(lines.readline() for _ in range(-(-runs // files)))
    whole.unlink()
    return home


def trajtab(cluster: Cluster, *args: object) -> subprocess.Popen[str]:
    """Start a command line on the cluster: a driver of its own."""
    return driver(cluster, "-m", "pipeline", *args)


def driver(cluster: Cluster, *args: object) -> subprocess.Popen[str]:
    """Start Python as a driver, beside the master."""
    return subprocess.Popen(
        [*cluster.host.inside, sys.executable, *map(str, args), "--engine", "spark", "--master", cluster.url],
        env=cluster.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def ended(process: subprocess.Popen[str]) -> str:
    """Wait for a command to end well, and return what it printed."""
    out, err = process.communicate()
    assert process.returncode == 0, err[-3000:]
    return out


def table(lake: Path, name: str) -> pl.DataFrame:
    """Return all visible rows of a table, ordered; every folder must be whole."""
    found = Lake.open(lake)
    folders = (
        found.batches()
        if name in ("runs", "steps")
        else [f for policy in (lake / "scores").iterdir() for f in found.scores(policy.name[2:])]
    )
    for folder in folders:
        for held, rows in folder.manifest["rows"].items():
            assert pl.read_parquet(folder.file(held)).height == rows
    frame = pl.concat([pl.read_parquet(f.file(name)) for f in folders if f.rows(name)])
    order = ["run_key", *(c for c in ("step_index",) if c in frame.columns)]
    return frame.drop("landed_at", strict=False).sort(order, maintain_order=True)


def assert_nothing_left(lake: Path) -> None:
    """No orphan: nothing is visible without its manifest, and no shelf is left."""
    assert [path.name for path in (lake / ".tmp").iterdir()] == ["lock"]
    for home in (lake / "batches", *(lake / "scores").iterdir()):
        assert all((folder / "manifest.json").is_file() for folder in home.iterdir())


def assert_scored_as(lake: Path, right: Path) -> None:
    found, wanted = table(lake, "scores"), table(right, "scores")
    assert found.height == wanted.height == found["run_key"].n_unique()
    assert found.equals(wanted)
    assert_nothing_left(lake)


def assert_landed_as(lake: Path, right: Path) -> None:
    for name in ("runs", "steps"):
        assert table(lake, name).equals(table(right, name))
    assert_nothing_left(lake)


def scoring(lake: Path) -> bool:
    """Is a scoring under way? Tasks have left at least two batches on the shelf."""
    return len(list(lake.glob(".tmp/job-*/s-*/manifest.json"))) >= 2


def regrouping(lake: Path) -> bool:
    """Is a regrouping under way?"""
    return bool(list(lake.glob(".tmp/job-*/.regrouped")))


def writing(lake: Path) -> bool:
    """Is a regrouping past its shuffle, and writing partitions?"""
    return bool(list(lake.glob(".tmp/job-*/.regrouped/*")))


@contextmanager
def meanwhile(work, *, until: Callable[[], bool]) -> Iterator[None]:
    """Do work in a thread; the body runs as soon as it is half done. Its error is the test's."""
    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(work)
        _until(lambda: until() or done.done())
        assert not done.done(), done.exception() or "it was over before it could be disturbed"
        yield
        done.result()
