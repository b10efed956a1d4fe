"""A lake in an S3 server: the same answers as on a disk, whatever fails on the way."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from itertools import count
from typing import TYPE_CHECKING

import polars as pl
import pytest
from landings import PROGRAM, assert_whole, content, ids, source
from objects import environment, with_environment

from pipeline.errors import LakeError, SourceNotFoundError
from pipeline.lake import Lake
from pipeline.landing.batch import chunks
from pipeline.landing.land import land
from pipeline.scoring import score
from pipeline.store import client
from pipeline.tables.aggregate import aggregate
from pipeline.tables.percentiles import percentiles

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from objects import Proxy, Request


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunks, "MOST_RECORDS", 3)


def start(file: Path, lake: str, *, url: str, cache: Path) -> subprocess.Popen[bytes]:
    """Land in a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, file, lake], env=with_environment(environment(url, cache))
    )


def is_write(request: Request, part: str) -> bool:
    return request.method == "PUT" and part in request.name


POINTS: dict[str, tuple[Callable[[Request], bool], str, int]] = {
    "before a data object": (lambda r: is_write(r, "/steps."), "before", 0),
    "after the data objects, before the commit": (lambda r: is_write(r, "head.json"), "before", 0),
    "after the commit, before any manifest": (lambda r: is_write(r, "head.json"), "after", 0),
    "after the manifest": (
        lambda r: is_write(r, "batches/") and is_write(r, "manifest.json"),
        "after",
        3,
    ),
}
"""Where a landing is killed: at which request, after it or before, and how many runs show then."""


@pytest.mark.parametrize("point", POINTS)
def test_killed_landing(point: str, s3: str, proxy: Proxy, tmp_path: Path) -> None:
    """Kill -9: whole batches or nothing; the next landing completes it, nothing twice."""
    file = source(tmp_path, range(6))
    here, at, shown = POINTS[point]
    landing = start(file, s3, url=proxy.url, cache=tmp_path / "cache")

    def judge(request: Request, when: str) -> int | None:
        if when == at and here(request) and landing.poll() is None:
            landing.send_signal(signal.SIGKILL)
            landing.wait()
            return 500  # nobody hears it
        return None

    proxy.judge = judge
    assert landing.wait() == -signal.SIGKILL
    proxy.judge = lambda _request, _when: None
    assert_whole(s3)
    assert len(ids(s3)) == shown if Lake(s3).exists() else shown == 0
    land([file], s3, workers=1)
    assert ids(s3) == [f"r{i:02}" for i in range(6)]
    assert_whole(s3)
    assert land([file], s3, workers=1).already == 2


def test_two_writers_at_once(s3: str, proxy: Proxy, tmp_path: Path) -> None:
    """Both commit at the same moment, runs in common: no run twice, none lost."""
    files = [source(tmp_path, range(6), "a"), source(tmp_path, range(4, 10), "b")]
    Lake.create(s3)
    both = threading.Barrier(2)

    def judge(request: Request, when: str) -> int | None:
        if is_write(request, "head.json") and when == "before" and not both.broken:
            with suppress(threading.BrokenBarrierError):
                both.wait(timeout=120)
                both.abort()  # only the first two meet
        return None

    proxy.judge = judge
    writers = [start(f, s3, url=proxy.url, cache=tmp_path / "cache") for f in files]
    assert [writer.wait() for writer in writers] == [0, 0]
    assert ids(s3) == [f"r{i:02}" for i in range(10)]
    assert_whole(s3)
    batches = Lake.open(s3).batches()
    commits = sum(1 for request in proxy.seen if is_write(request, "head.json"))
    assert commits > len(batches), "they did meet, and one decided again"
    assert sum(batch.manifest["duplicates"] for batch in batches) == 2
    sequences = [folder.manifest["sequence"] for folder in Lake.open(s3).tasks()]
    assert sequences == list(range(len(sequences)))


def test_two_scorers_at_once(s3: str, tmp_path: Path) -> None:
    land([source(tmp_path, range(6))], s3, workers=1)
    land([source(tmp_path, range(6))], tmp_path / "local", workers=1)
    score(tmp_path / "local")
    errors: list[BaseException] = []

    def one() -> None:
        try:
            score(s3)
        except BaseException as error:  # noqa: BLE001 - told by the test
            errors.append(error)

    threads = [threading.Thread(target=one) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert aggregate(s3).rows.equals(aggregate(tmp_path / "local").rows)


def test_one_request_in_twenty_fails(s3: str, proxy: Proxy, tmp_path: Path) -> None:
    """500 and 503, half of them after the store did what was asked: everything completes."""
    file = source(tmp_path, range(9))
    numbers, failed = count(1), []

    def judge(request: Request, when: str) -> int | None:
        number = next(numbers) if when == "before" else len(proxy.seen)
        if number % 20 == 7 and when == "before":
            failed.append(request)
            return 503
        if number % 20 == 17 and when == "after" and request.method == "PUT":
            failed.append(request)
            return 500
        return None

    proxy.judge = judge
    told = land([file], s3, workers=1)
    assert (told.batches, told.runs, told.duplicates) == (3, 9, 0)
    score(s3)
    found = [aggregate(s3, by=["task_id"]).rows, percentiles(s3).rows]
    assert land([file], s3, workers=1).already == 3
    assert len(failed) >= len(proxy.seen) // 25
    proxy.judge = lambda _request, _when: None
    land([file], tmp_path / "local", workers=1)
    score(tmp_path / "local")
    right = [
        aggregate(tmp_path / "local", by=["task_id"]).rows,
        percentiles(tmp_path / "local").rows,
    ]
    assert all(a.equals(b) for a, b in zip(found, right, strict=True))
    assert all(a.equals(b) for a, b in zip(content(s3), content(tmp_path / "local"), strict=True))
    assert_whole(s3)


def test_a_large_table_goes_and_comes_in_parts(
    s3: str, proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "PART", 5 << 20)  # the least that S3 allows
    texts = pl.DataFrame({"n": range(12), "text": [os.urandom(1 << 19).hex() for _ in range(12)]})
    lake = Lake.create(s3)
    with lake.workspace() as work:
        folder = lake.commit(work, "scores/p-1/s-1", {"texts": texts}, {"name": "s-1"})
    parts = [request for request in proxy.seen if is_write(request, "/texts.")]
    assert len(parts) >= 2
    assert pl.read_parquet(Lake.open(s3).folder(folder.relative).file("texts")).equals(texts)


def test_what_is_missing_is_told(s3: str, proxy: Proxy) -> None:
    with pytest.raises(SourceNotFoundError, match="no lake here"):
        Lake.open(s3)
    with pytest.raises(LakeError, match="no bucket 'nowhere'"):
        Lake.open("s3://nowhere/lake")
    with pytest.raises(LakeError, match="no bucket 'nowhere'"):
        Lake.create("s3://nowhere/lake")
    proxy.judge = lambda _request, _when: 403
    with pytest.raises(LakeError, match="the store refuses to read lake"):
        Lake.open(s3)


def test_the_missing_extra_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "obstore", None)
    with pytest.raises(LakeError, match=r"pip install 'trajtab\[objects\]'"):
        Lake("s3://bucket/lake")
