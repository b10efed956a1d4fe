"""Landing over an engine gives the batches that one machine makes; regrouping, whole runs."""

from __future__ import annotations

import json
import random
from shutil import copytree

import polars as pl
import pytest

from pipeline.engines import placing, whole_runs
from pipeline.engines.local import Local
from pipeline.engines.placing import partitions_of
from pipeline.engines.scattered import BODY, FILE, LINE, PART, RUN, Scattered
from pipeline.errors import InputError, LakeError
from pipeline.lake import Lake
from pipeline.landing.batch import chunks
from pipeline.landing.land import land
from pipeline.sample import sample


def content(lake):
    found = Lake.open(lake)
    frames = [pl.read_parquet(b.file("runs")).drop("landed_at") for b in found.batches()]
    return [batch.name for batch in found.batches()], pl.concat(frames)


@pytest.fixture(scope="module")
def logs(tmp_path_factory):
    """Small files that share batches, around a large one that fills three."""
    folder = tmp_path_factory.mktemp("export")
    for number, runs in enumerate((7, 9, 100, 30, 5, 20)):
        sample(folder / str(number), runs=runs, seed=number)
        (folder / str(number) / "tasks.jsonl").unlink()
    return folder


@pytest.fixture
def export(logs, tmp_path, monkeypatch):
    """Give a copy of the logs; their batches are small."""
    monkeypatch.setattr(chunks, "MOST_RECORDS", 40)
    return copytree(logs, tmp_path / "export")


def test_the_same_batches_in_the_same_order(export, tmp_path):
    land([export], tmp_path / "here", workers=1)
    report = land([export], tmp_path / "there", engine=Local(1, 0))
    assert report.runs == 171
    names, runs = content(tmp_path / "here")
    found, rows = content(tmp_path / "there")
    assert found == names
    assert rows.equals(runs)
    assert [path.name for path in (tmp_path / "there" / ".tmp").iterdir()] == ["lock"]


def test_what_landed_here_has_landed_there(export, tmp_path):
    land([export], tmp_path / "lake", workers=1)
    report = land([export], tmp_path / "lake", engine=Local(1, 0))
    assert (report.batches, report.runs) == (0, 0)


def test_a_killed_landing_is_resumed(export, tmp_path, monkeypatch):
    """The driver dies after its fourth batch, when all are staged: none is decoded again."""

    class StoppedError(BaseException):
        pass

    class Ahead(Local):
        """Its tasks are ahead of the driver, as those of other machines may be."""

        def map_units(self, function, units):
            yield from list(super().map_units(function, units))

    def stop(report):
        if report.batches == 4:
            raise StoppedError

    with pytest.raises(StoppedError):
        land([export], tmp_path / "lake", engine=Ahead(1, 0), progress=stop)
    monkeypatch.setattr("pipeline.engines.landing.stage", None)
    report = land([export], tmp_path / "lake", engine=Local(1, 0), resume=True)
    assert (report.already, report.batches) == (4, 2)
    land([export], tmp_path / "whole", workers=1)
    assert content(tmp_path / "lake")[0] == content(tmp_path / "whole")[0]
    assert content(tmp_path / "lake")[1].equals(content(tmp_path / "whole")[1])


def test_packed_files_are_unpacked_where_tasks_see_them(export, tmp_path):
    import gzip  # noqa: PLC0415 - here alone

    file = export / "0" / "runs.jsonl"
    packed = tmp_path / "runs.jsonl.gz"
    packed.write_bytes(gzip.compress(file.read_bytes()))
    land([packed], tmp_path / "here", workers=1)
    land([packed], tmp_path / "there", engine=Local(2, 0))
    assert content(tmp_path / "there")[1].equals(content(tmp_path / "here")[1])


def test_a_dry_run_is_made_here(export, tmp_path):
    with pytest.raises(InputError, match="--dry-run"):
        land([export], tmp_path / "lake", engine=Local(1, 0), dry_run=True)


@pytest.fixture
def scattered(tmp_path):
    """300 rows of 40 runs over four files, and three lines that name no run."""
    draw = random.Random(3)  # noqa: S311 - no secret
    home = tmp_path / "scattered"
    home.mkdir()
    rows = [{"trace_id": f"t{draw.randrange(40)}", "n": n} for n in range(300)]
    files = [[], [], [], []]
    for row in rows:
        draw.choice(files).append(json.dumps(row).encode())
    files[1].insert(3, b"{broken")
    files[2] += [b"[1]", b'{"trace_id": "\xff"']
    for number, lines in enumerate(files):
        (home / f"{number}.jsonl").write_bytes(b"\n".join(lines) + b"\n\n")
    return sorted(home.iterdir())


def lines_of(files):
    return [line for file in files for line in file.read_bytes().splitlines()]


def in_parts(files):
    return {str(file.relative_to(file.parents[1])): file.read_bytes() for file in files}


def regrouped(source, target, partitions, workers=1):
    target.mkdir()
    return Local(workers, 0).regroup(source, target, partitions)


def test_no_line_is_lost_and_every_run_is_in_one_file(scattered, tmp_path, monkeypatch):
    monkeypatch.setattr(whole_runs, "FILE_BYTES", 500)
    monkeypatch.setattr(placing, "BLOCK", 64)
    monkeypatch.setattr(placing, "ROWS", 7)
    files = regrouped(Scattered(scattered, "trace_id"), tmp_path / "out", 3)
    assert len(files) > 3
    assert sorted(lines_of(files)) == sorted(line for line in lines_of(scattered) if line)
    homes: dict[str, set[str]] = {}
    for file in files:
        runs = [json.loads(line)["trace_id"] for line in lines_of([file]) if b'"n"' in line]
        assert runs == sorted(runs)
        for run in runs:
            homes.setdefault(run, set()).add(str(file))
    assert len(homes) == 40
    assert {len(where) for where in homes.values()} == {1}


def test_rows_of_a_run_keep_their_order(scattered, tmp_path):
    files = regrouped(Scattered(scattered, "trace_id"), tmp_path / "out", 2)
    seen = [json.loads(line) for line in lines_of(scattered) if b'"n"' in line]
    found = [json.loads(line) for line in lines_of(files) if b'"n"' in line]
    for run in {row["trace_id"] for row in seen}:
        assert [r for r in found if r["trace_id"] == run] == [
            r for r in seen if r["trace_id"] == run
        ]


def test_what_is_written_depends_on_the_rows_alone(scattered, tmp_path):
    source = Scattered(scattered, "$.trace_id")
    one = regrouped(source, tmp_path / "one", 3)
    two = regrouped(source, tmp_path / "two", 3, workers=2)
    assert in_parts(one) == in_parts(two)


def test_parquet_keeps_its_columns(scattered, tmp_path):
    files = []
    for file in scattered:
        rows = [json.loads(line) for line in lines_of([file]) if b'"n"' in line]
        frame = pl.DataFrame(rows).with_columns(
            pl.lit([1.5]).alias("list"), pl.struct("n").alias("s")
        )
        files.append(file.with_suffix(".parquet"))
        frame.write_parquet(files[-1])
    found = pl.concat(
        map(pl.read_parquet, regrouped(Scattered(files, "trace_id"), tmp_path / "o", 2))
    )
    whole = pl.concat(map(pl.read_parquet, files))
    assert found.schema == whole.schema
    assert found.sort("n").equals(whole.sort("n"))


def test_what_cannot_be_regrouped_is_told(scattered, tmp_path):
    table = tmp_path / "t.parquet"
    pl.DataFrame({"a": [1]}).write_parquet(table)
    with pytest.raises(InputError, match="no such column"):
        regrouped(Scattered([table], "trace_id"), tmp_path / "one", 1)
    with pytest.raises(InputError, match="one at a time"):
        regrouped(Scattered([table, *scattered], "trace_id"), tmp_path / "two", 1)
    with pytest.raises(InputError, match="no JSON path"):
        regrouped(Scattered(scattered, "$..["), tmp_path / "three", 1)


def test_rows_out_of_order_are_refused(scattered, tmp_path):
    source = Scattered(scattered, "trace_id")
    frames = [
        pl.DataFrame(
            {
                PART: [0],
                RUN: [run],
                FILE: [0],
                LINE: [0],
                BODY: [b"{}"],
            }
        )
        for run in ("b", "a")
    ]
    (tmp_path / "out").mkdir()
    with pytest.raises(LakeError, match="cut in two"):
        whole_runs.write_part(source, 0, frames, tmp_path / "out")
    assert list((tmp_path / "out").iterdir()) == []


def test_scattered_traces_land_whole(tmp_path):
    """Eight spans of each of 30 traces, over three files: alone, each file has parts of traces."""
    from clusters import ROOT  # noqa: PLC0415 - where the samples are

    lines = (ROOT / "data_samples/langsmith/flight_runs.jsonl").read_text().splitlines()
    home = tmp_path / "spans"
    home.mkdir()
    files = [(home / f"{n}.jsonl").open("w") for n in range(3)]
    draw = random.Random(1)  # noqa: S311 - no secret
    for number in range(30):
        for line in lines:
            draw.choice(files).write(
                line.replace("018f0000-", f"{0x10000000 + number:08x}-") + "\n"
            )
    for file in files:
        file.close()
    report = land([home], tmp_path / "lake", regroup="trace_id", engine=Local(1, 0))
    whole = tmp_path / "whole.jsonl"
    whole.write_bytes(b"".join(file.read_bytes() for file in sorted(home.iterdir())))
    land([whole], tmp_path / "right", workers=1)
    found, right = (content(tmp_path / name)[1].sort("run_id") for name in ("lake", "right"))
    kept = ["run_id", "n_rows", "status", "final_output"]
    assert report.runs == 30
    assert found.select(kept).equals(right.select(kept))
    assert partitions_of(Scattered([whole], "trace_id")) == 1
