"""Landing the N-th batch reads what the lake holds once, not again for every batch."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from making import call, run, runs_of, want, write

from pipeline.lake import Lake
from pipeline.landing.again.known import Known
from pipeline.landing.batch import chunks
from pipeline.landing.land import land
from pipeline.scoring import score
from pipeline.store.disk import DiskStorage

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a log of nine runs that makes nine batches, each with a reference of its own."""
    monkeypatch.setattr(chunks, "MOST_RECORDS", 1)
    records = [run(f"r{i}", call("a", {"i": i}), expected=[want(f"t{i}")]) for i in range(9)]
    return write(tmp_path / "a.jsonl", records)


def counted(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Count how often each Parquet file is read."""
    read: Counter[str] = Counter()
    for name in ("scan_parquet", "read_parquet"):
        real = getattr(pl, name)

        def reader(files: Any, *args: Any, real: Any = real, **named: Any) -> Any:
            read.update(map(str, files if isinstance(files, list) else [files]))
            return real(files, *args, **named)

        monkeypatch.setattr(pl, name, reader)
    return read


def test_no_file_is_read_twice(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = counted(monkeypatch)
    assert land([source], tmp_path / "lake", workers=1).batches == 9
    assert read
    assert set(read.values()) == {1}


def test_one_more_landing_reads_each_batch_once(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    land([source], tmp_path / "lake", workers=1)
    again = run("r8", call("a", {"i": 8}), expected=[want("t8")])
    more = write(tmp_path / "b.jsonl", [again, run("r9")])
    monkeypatch.setattr(chunks, "MOST_RECORDS", 2)
    read = counted(monkeypatch)
    report = land([more], tmp_path / "lake", workers=1)
    assert (report.runs, report.duplicates) == (1, 1)
    twice = [name for name, times in read.items() if times > 1]
    assert len([name for name in read if name.endswith("runs.parquet")]) == 9
    assert [name.rsplit("/", 1)[1] for name in twice] == ["runs.parquet"]  # the one that holds r8
    assert runs_of(tmp_path / "lake").height == 10


def test_what_another_landing_commits_is_seen(source: Path, tmp_path: Path) -> None:
    lake = Lake.create(tmp_path / "lake")
    known = Known(lake)
    known.refresh()
    assert known.landed(pl.Series([1], dtype=pl.UInt64)) == []
    land([source], lake.path, workers=1)
    known.refresh()
    identities = pl.concat(
        pl.read_parquet(batch.file("runs"), glob=False)["identity"] for batch in lake.batches()
    )
    found = known.landed(identities)
    assert [batch.name for batch, _ in found] == [batch.name for batch in lake.batches()]
    assert all(rows == [0] for _, rows in found)
    assert known.reference_sets.n_unique() == 9


def test_a_batch_that_is_taken_away_is_forgotten(source: Path, tmp_path: Path) -> None:
    land([source], tmp_path / "lake", workers=1)
    lake = Lake.open(tmp_path / "lake")
    known = Known(lake)
    known.refresh()
    gone = lake.batches()[0]
    identity = pl.read_parquet(gone.file("runs"), glob=False)["identity"]
    gone.file("runs").parent.rename(tmp_path / "elsewhere")
    known.refresh()
    assert known.landed(identity) == []


def test_a_landing_reads_each_manifest_a_few_times_whatever_it_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A landing of four times the batches reads four times the manifests, not sixteen times."""
    monkeypatch.setattr(chunks, "MOST_RECORDS", 1)
    read: Counter[str] = Counter()
    real = DiskStorage.manifest

    def manifest(storage: DiskStorage, folder: str) -> dict[str, Any]:
        read[str(storage.address)] += 1
        return real(storage, folder)

    monkeypatch.setattr(DiskStorage, "manifest", manifest)
    for number in (8, 32):
        records = [run(f"r{i}", call("a"), expected=[want(f"t{i}")]) for i in range(number)]
        source = write(tmp_path / f"{number}.jsonl", records)
        assert land([source], tmp_path / f"lake-{number}", workers=1).batches == number
    few, many = read[str(tmp_path / "lake-8")], read[str(tmp_path / "lake-32")]
    assert 32 <= many < 5 * few


def test_scoring_reads_each_folder_a_few_times_whatever_the_lake_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chunks, "MOST_RECORDS", 1)
    read = counted(monkeypatch)
    sums = []
    for number in (8, 32):
        records = [
            run(f"r{i}", call("a"), expected=[want(f"a{i}")], task_id=f"t{i}")
            for i in range(number)
        ]
        land([write(tmp_path / f"{number}.jsonl", records)], tmp_path / f"lake-{number}", workers=1)
        read.clear()
        assert score(tmp_path / f"lake-{number}").batches == number
        sums.append(read.total())
    few, many = sums
    assert 32 <= many < 5 * few
