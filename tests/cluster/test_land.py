"""Landing on a cluster: the batches of one machine, by name and by content; then the tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from clusters import assert_nothing_left, assert_scored_as, table

from pipeline.engines import tables
from pipeline.lake import Lake
from pipeline.landing.land import land
from pipeline.scoring import score
from pipeline.tables.aggregate import aggregate
from pipeline.tables.compare import compare
from pipeline.tables.passk import passk
from pipeline.tables.percentiles import percentiles

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def lakes(
    engine, export: Path, alone: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, Path]:
    """The same export, landed and scored here, and by a cluster."""
    there = tmp_path_factory.mktemp("lakes") / "there"
    land([export], there, engine=engine)
    score(there, engine=engine)
    return alone, there


def test_the_same_batches(lakes: tuple[Path, Path]) -> None:
    here, there = lakes
    names = [[batch.name for batch in Lake.open(lake).batches()] for lake in lakes]
    assert names[0] == names[1]
    assert table(here, "runs").equals(table(there, "runs"))
    assert table(here, "steps").equals(table(there, "steps"))
    assert_nothing_left(there)


def test_the_same_scores(lakes: tuple[Path, Path]) -> None:
    here, there = lakes
    assert_scored_as(there, here)


def test_the_same_tables(engine, lakes: tuple[Path, Path], monkeypatch) -> None:
    """Equal to the last bit; percentiles that Spark interpolates, to the last but one."""
    here, there = lakes
    for asked in ({}, {"by": ["agent_version"], "metrics": ["all"]}, {"where": "trial = 1"}):
        wanted, found = aggregate(here, **asked), aggregate(there, engine=engine, **asked)
        assert found.rows.equals(wanted.rows)
        assert found.notes == wanted.notes
    by = {"by": ["agent_version"]}
    wanted = percentiles(here, **by)
    assert percentiles(there, engine=engine, **by).rows.equals(wanted.rows)
    monkeypatch.setattr(tables, "MOST_HERE", 0)
    found = percentiles(there, engine=engine, **by)
    keys = ["agent_version", "metric", "n_scored"]
    assert found.rows.select(keys).equals(wanted.rows.select(keys))
    for name in ("p25", "p50", "p75", "p95"):
        assert found.rows[name].to_list() == pytest.approx(wanted.rows[name].to_list(), rel=1e-12)


def test_the_same_arms_and_trials(engine, lakes: tuple[Path, Path]) -> None:
    here, there = lakes
    arms = {"baseline": "agent_version = 'v1'", "candidate": "agent_version = 'v2'"}
    wanted = compare(here, resamples=50, **arms)
    found = compare(there, resamples=50, engine=engine, **arms)
    assert found.rows.equals(wanted.rows)
    for asked in ({}, {"tasks": True}):
        wanted, found = passk(here, **asked), passk(there, engine=engine, **asked)
        assert found.rows.equals(wanted.rows)
        assert found.notes == wanted.notes
