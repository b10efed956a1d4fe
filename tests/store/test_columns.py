"""Of a large table only the columns that are read are fetched, and they read as they were."""

from __future__ import annotations

import os
from itertools import pairwise
from typing import TYPE_CHECKING

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from making import call, run, write

from pipeline.lake import Lake
from pipeline.landing.land import land
from pipeline.scoring import score
from pipeline.store import reading, transfer
from pipeline.workbench import query

if TYPE_CHECKING:
    from pathlib import Path

    from objects import Memory

URL = "s3://bucket/lake"
ROWS = 3000


def table() -> pl.DataFrame:
    return pl.DataFrame(
        {
            "n": range(ROWS),
            "wide": [os.urandom(512).hex() for _ in range(ROWS)],
            "kind": pl.Series(["a", "b", None] * 1000, dtype=pl.Enum(["a", "b"])),
            "list": [[str(i), None] if i % 3 else None for i in range(ROWS)],
            "list.like": [i / 7 for i in range(ROWS)],
            "last": [None] * ROWS,
        }
    )


@pytest.fixture
def stored(memory: Memory) -> tuple[Lake, pl.DataFrame]:
    """A lake with one table of 3 MB, most of it in one column, in several row groups."""
    lake, frame = Lake.create(URL), table()
    store, path = memory.stores[URL], "scores/p-1/s-1"
    with lake.workspace() as work:
        frame.write_parquet(work / "t.parquet", row_group_size=700)
        store.put(f"{path}/t.parquet", work / "t.parquet")
    store.put(f"{path}/manifest.json", b'{"rows": {"t": 3000}}')
    return lake, frame


def fetched(memory: Memory) -> int:
    """Return how many bytes ranges asked for."""
    return sum(end - start for start, end in memory.ranges)


@pytest.mark.parametrize(
    "columns", [["n"], ["kind", "list"], ["list.like"], ["last"], ["wide"], ["n", "wide", "last"]]
)
def test_columns_read_as_they_were(
    stored: tuple[Lake, pl.DataFrame], memory: Memory, columns: list[str]
) -> None:
    lake, frame = stored
    path = lake.folder("scores/p-1/s-1").file("t", columns)
    assert pl.read_parquet(path, columns=columns, glob=False).equals(frame.select(columns))
    scanned = pl.scan_parquet(path, glob=False).select(columns).collect()
    assert scanned.equals(frame.select(columns))
    assert pl.read_parquet_schema(path) == frame.schema
    whole = path.stat().st_size
    assert (fetched(memory) < whole / 3) == ("wide" not in columns)


def test_each_set_is_fetched_once_and_none_where_all_is_here(
    stored: tuple[Lake, pl.DataFrame], memory: Memory
) -> None:
    lake, frame = stored
    folder = lake.folder("scores/p-1/s-1")
    assert folder.file("t", ["n", "kind"]) == folder.file("t", ["kind", "n", "n"])
    before = fetched(memory)
    whole = folder.file("t")
    assert pl.read_parquet(whole, glob=False).equals(frame)
    after = fetched(memory)
    assert after > before
    assert folder.file("t", ["list"]) == whole
    assert fetched(memory) == after


@settings(max_examples=30)
@given(
    spans=st.lists(
        st.tuples(st.integers(0, 5_000_000), st.integers(1, 900_000)).map(
            lambda pair: (pair[0], pair[0] + pair[1])
        )
    )
)
def test_joined_spans_cover_the_same_and_stay_apart(spans: list[tuple[int, int]]) -> None:
    joined = transfer._joined(sorted(spans))
    assert all(any(a <= start and end <= b for a, b in joined) for start, end in spans)
    assert all(b + transfer.CLOSE < a for (_, b), (a, _) in pairwise(joined))
    assert {edge for span in joined for edge in span} <= {edge for span in spans for edge in span}


def test_scoring_and_landing_read_few_columns(
    tmp_path: Path, memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Outputs are most of a log, and scores need none of them."""
    monkeypatch.setattr(reading, "SMALL", 0)
    monkeypatch.setattr(transfer, "TAIL", 16 << 10)
    monkeypatch.setattr(transfer, "CLOSE", 1 << 10)

    def runs(numbers: range) -> list[dict[str, object]]:
        return [run(f"r{i}", call("a", {"i": i}, output=os.urandom(4000).hex())) for i in numbers]

    file = write(tmp_path / "a.jsonl", runs(range(200)))
    land([file], URL, workers=1)
    size = Lake.open(URL).batches()[0].manifest["files"]["steps"]["bytes"]
    assert size > 500_000
    land([file], tmp_path / "local", workers=1)
    for lake in (URL, tmp_path / "local"):
        score(lake)
        land([write(tmp_path / "b.jsonl", runs(range(300, 310)))], lake, workers=1)
    assert fetched(memory) < size / 4
    told = "SELECT run_id, n_calls, f1, error_rate FROM scores ORDER BY run_id"
    assert query(URL, told).rows.equals(query(tmp_path / "local", told).rows)
    memory.ranges.clear()
    counted = query(URL, "SELECT count(*) AS n, count(DISTINCT call_key) AS keys FROM calls").rows
    assert counted.rows() == [(210, 210)]
    assert fetched(memory) < size / 4, "a query too"
