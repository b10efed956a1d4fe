"""What lands does not depend on how the work was cut up: batch sizes, workers, short ways."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from making import runs_of, steps_of
from reading import SAMPLES
from strategies import json_values

from pipeline.lake import Lake
from pipeline.landing.batch import chunks, rows, stage
from pipeline.landing.formats import trajtab
from pipeline.landing.land import land
from pipeline.landing.records import places
from pipeline.sample import sample

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

OF_THE_BATCH = ("run_key", "landed_at")


def tables(lake: Path) -> list[pl.DataFrame]:
    """Return all that landed, without what names the batch and the moment."""
    opened = Lake.open(lake)
    kept = [
        runs_of(lake).drop(OF_THE_BATCH),
        steps_of(lake).drop("run_key"),
    ]
    for table, key in (("tasks", "task_id"), ("references", "reference_set")):
        frames = [
            pl.read_parquet(folder.file(table), glob=False)
            for folder in opened.tasks()
            if folder.rows(table)
        ]
        kept.append(pl.concat(frames).unique(maintain_order=True).sort(key, maintain_order=True))
    rejects = [
        pl.read_parquet(batch.file("rejects"), glob=False)
        for batch in opened.batches()
        if batch.rows("rejects")
    ]
    return [*kept, pl.concat(rejects).sort(pl.all()) if rejects else pl.DataFrame()]


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Return a made-up export with flaws in it, and real shapes of every format."""
    folder = tmp_path_factory.mktemp("logs")
    sample(folder, runs=120, seed=3)
    log = folder / "runs.jsonl"
    lines = log.read_bytes().splitlines(keepends=True)
    lines[10] = lines[10][:200] + b"\n"
    lines[50] = lines[50].strip() + lines[51]
    lines[90] = lines[90].replace(b'"trial":', b'"attempt":')
    log.write_bytes(b"".join(lines))
    return [log, folder / "tasks.jsonl", SAMPLES]


@pytest.fixture(scope="module")
def right(logs: list[Path], tmp_path_factory: pytest.TempPathFactory) -> list[pl.DataFrame]:
    lake = tmp_path_factory.mktemp("right") / "lake"
    land(logs, lake, workers=1)
    return tables(lake)


@pytest.mark.parametrize(
    "sizes",
    [(17, 3, 2, 1), (64, 1, 1, 1), (100, 50, 1000, 1), (50, 1024, 1024, 2)],
)
def test_any_cut_and_any_number_of_workers_land_the_same(
    sizes: tuple[int, int, int, int], logs: list[Path], right: list[pl.DataFrame],
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    batch, group, flush, workers = sizes
    monkeypatch.setattr(chunks, "MOST_RECORDS", batch)
    monkeypatch.setattr(places, "GROUP_RECORDS", group)
    monkeypatch.setattr(rows, "FLUSH_RUNS", flush)
    monkeypatch.setattr(stage, "FEW", 2)
    land(logs, tmp_path / "lake", workers=workers)
    for found, wanted in zip(tables(tmp_path / "lake"), right, strict=True):
        assert found.equals(wanted)


def test_batches_are_named_alike_by_any_number_of_workers(
    logs: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chunks, "MOST_RECORDS", 60)
    names = []
    for workers in (1, 2):
        land(logs, tmp_path / str(workers), workers=workers)
        names.append([batch.name for batch in Lake.open(tmp_path / str(workers)).batches()])
    assert names[0] == names[1]


STEP = st.fixed_dictionaries(
    {"kind": st.sampled_from(["llm_call", "tool_call", "final", "message"])},
    optional={
        "tool_name": st.sampled_from(["a", "b", "é"]),
        "tool_args": st.one_of(st.dictionaries(st.text(max_size=2), json_values), json_values),
        "output": json_values,
        "error": st.sampled_from([None, "", "broken"]),
        "is_error": st.sampled_from([None, True, False]),
        "content": json_values,
        "duration_ms": st.sampled_from([-1, 0, 2.5]),
        "started_at": st.sampled_from([None, "2026-01-01T00:00:00Z", 1_767_225_600, "later"]),
        "turn_index": st.sampled_from([0, 1, 2**40, -1]),
        "input_tokens": st.integers(-5, 2**65),
        "labels": st.dictionaries(st.text(max_size=2), json_values, max_size=2),
        "surprise": json_values,
    },
)
RECORD = st.fixed_dictionaries(
    {"run_id": st.sampled_from(["r1", "r2", "r3", "r4"]), "steps": st.lists(STEP, max_size=4)},
    optional={
        "agent": st.sampled_from([None, "x", "y"]),
        "trial": st.sampled_from([0, 3, -1, 2**40]),
        "started_at": st.sampled_from(["2026-01-01T00:00:00Z", "2026-01-01 01:02:03", 5.5, "?"]),
        "final_output": json_values,
        "final_state": json_values,
        "labels": st.dictionaries(st.text(max_size=2), json_values, max_size=2),
        "expected": st.sampled_from([None, [], [{"tool_name": "a"}], [[], [{"tool_name": "b"}]]]),
    },
)


@given(records=st.lists(RECORD, min_size=1, max_size=6))
@settings(max_examples=25)
def test_the_short_way_lands_what_one_by_one_does(
    records: list[Any], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("short")
    log = folder / "a.jsonl"
    log.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    found = []
    for few in (1, 1000):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(stage, "FEW", few)
            lake = folder / f"lake-{few}"
            land([log], lake, format="trajtab", workers=1)
        opened = Lake.open(lake)
        (batch,) = opened.batches()
        found.append(
            [
                pl.read_parquet(folder.file(table), glob=False).drop("landed_at", strict=False)
                for folder in (batch, *opened.tasks())
                for table in ("runs", "steps", "rejects", "references")
                if folder.rows(table)
            ]
        )
    for short, long in zip(*found, strict=True):
        assert short.equals(long)


def test_the_short_way_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nothing is amiss, no record is decoded one by one."""
    sample(tmp_path, runs=100, seed=1)

    def one_by_one(*_: object, **__: object) -> Callable[..., None]:
        raise AssertionError

    monkeypatch.setattr(stage, "_one_by_one", one_by_one)
    assert land([tmp_path / "runs.jsonl"], tmp_path / "lake", workers=1).runs == 100
    assert trajtab.FORMAT.decode_many is not None
