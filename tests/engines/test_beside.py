"""What is not computed: annotations and configurations land, and opinions count, over an engine."""

from __future__ import annotations

import json

import polars as pl
import pytest
from lakes import write
from making import call, run

from pipeline.engines import parts
from pipeline.engines.local import Local
from pipeline.lake import Lake
from pipeline.landing.batch import chunks
from pipeline.landing.land import land
from pipeline.scoring import score
from pipeline.tables.aggregate import aggregate
from pipeline.tables.compare import compare
from pipeline.tables.passk import passk
from pipeline.tables.percentiles import percentiles

ENGINE = Local(1, 0)
HUMAN = "human.overall_quality"
CRITERIA = {"criteria": {"tool_trajectory_avg_score": 0.8}}


@pytest.fixture
def export(tmp_path, monkeypatch):
    """Nine runs for batches of three, what people said of four of them, and criteria."""
    monkeypatch.setattr(chunks, "MOST_RECORDS", 3)
    home = tmp_path / "export"
    home.mkdir()
    runs = [
        run(f"r{i}", call("a"), task_id=f"t{i % 4}", agent_version=f"v{i % 2}") for i in range(9)
    ]
    write(home / "runs.jsonl", *runs)
    words = [
        ("r0", "ann", 5),
        ("r0", "bob", 2),
        ("r4", "ann", 4),
        ("r8", "ann", 1),
        ("r7", "bob", 3),
    ]
    write(
        home / "said.jsonl",
        *(
            {"trajectory_id": of, "annotator_id": who, "overall_quality": score}
            for of, who, score in words
        ),
    )
    (home / "test_config.json").write_text(json.dumps(CRITERIA))
    return home


def said(lake):
    files = [folder.file("annotations") for folder in lake.annotations()]
    return pl.concat(map(pl.read_parquet, files)).drop("landed_at")


def test_they_land_as_here(export, tmp_path):
    here = land([export], tmp_path / "here", workers=1)
    there = land([export], tmp_path / "there", engine=ENGINE)
    assert (there.runs, there.annotations, len(there.configs)) == (9, 5, 1)
    assert (here.runs, here.annotations, here.batches) == (9, 5, there.batches)
    found, right = (Lake.open(tmp_path / name) for name in ("there", "here"))
    names = [[folder.name for folder in lake.annotations()] for lake in (found, right)]
    assert names[0] == names[1]
    assert said(found).equals(said(right))
    files = [
        {path.name: path.read_bytes() for path in (lake.path / "configs").iterdir()}
        for lake in (found, right)
    ]
    assert files[0] == files[1]
    assert len(files[0]) == 2
    again = land([export], tmp_path / "there", engine=ENGINE)
    assert (again.runs, again.annotations, again.batches) == (0, 0, 0)


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"by": ["agent_version"], "metrics": [HUMAN, "f1"]},
        {"by": ["task_id"], "metrics": ["all"]},
        {"where": f'"{HUMAN}" >= 3', "metrics": [HUMAN, "n_calls"]},
    ],
    ids=str,
)
def test_opinions_count_as_here(export, tmp_path, asked):
    """The runs of one part may all be without opinion: r3 to r5 have one, r1 and r2 none."""
    lake = tmp_path / "lake"
    land([export], lake, workers=1)
    score(lake)
    assert len(parts.asked(ENGINE, lake, None, None).units) == 3
    whole, found = aggregate(lake, **asked), aggregate(lake, engine=ENGINE, **asked)
    assert HUMAN in whole.rows["metric"].to_list()
    assert found.rows.equals(whole.rows)
    assert found.notes == whole.notes
    assert percentiles(lake, engine=ENGINE, **asked).rows.equals(percentiles(lake, **asked).rows)


def test_the_mean_is_over_what_people_said(export, tmp_path):
    """r0: (5 + 2) / 2; then 4, 1, 3. The mean of 3.5, 4, 1, 3 is 2.875; five runs have none."""
    lake = tmp_path / "lake"
    land([export], lake, engine=ENGINE)
    score(lake)
    row = aggregate(lake, metrics=[HUMAN], engine=ENGINE).rows.row(0, named=True)
    assert (row["n_scored"], row["n_null"], row["mean"]) == (4, 5, 2.875)


def test_opinions_are_compared_as_here(export, tmp_path):
    """t0 has r0 in one arm (3.5), r4 and r8 in the other (4 and 1): 2.5 less 3.5 is -1."""
    lake = tmp_path / "lake"
    land([export], lake, workers=1)
    score(lake)
    asked = {
        "baseline": "run_id < 'r4'",
        "candidate": "run_id >= 'r4'",
        "metrics": [HUMAN, "n_calls"],
        "resamples": 20,
    }
    whole, found = compare(lake, **asked), compare(lake, engine=ENGINE, **asked)
    assert found.rows.row(0, named=True)["delta"] == -1
    assert found.rows.equals(whole.rows)
    assert (found.notes, found.facts) == (whole.notes, whole.facts)
    rule = {"rule": f'"{HUMAN}" >= 3', "k": [1], "tasks": True}
    found = passk(lake, engine=ENGINE, **rule).rows
    # Of t0 people spoke of r0, r4 and r8; of t3 of r7 alone.
    assert found.filter(task_id="t0")["n_passed"].to_list() == [2]
    assert found.filter(task_id="t3")["n_null"].to_list() == [1]
    assert found.equals(passk(lake, **rule).rows)
