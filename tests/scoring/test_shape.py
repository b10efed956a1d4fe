"""What makes scoring cheap, told without a clock: what it reads, groups and joins."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl
import pyarrow.parquet as pq
import pytest

from pipeline.current import tasks_of
from pipeline.lake import Lake
from pipeline.landing.land import land
from pipeline.policy import DEFAULT, parse
from pipeline.sample import sample
from pipeline.schema import References, Runs, Steps
from pipeline.scoring import score
from pipeline.scoring.batch import run_columns, score_batch, step_columns
from pipeline.scoring.matching.references import KEYS
from pipeline.tasks import TaskFolders

if TYPE_CHECKING:
    from pathlib import Path

    from pipeline.policy import Policy
    from pipeline.scoring.batch import Scored

RUNS = 400


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    """50 tasks, 8 runs each, in one batch."""
    sample(tmp_path, runs=RUNS, seed=7)
    land([tmp_path / "runs.jsonl"], tmp_path / "lake", workers=1)
    return Lake.open(tmp_path / "lake")


def scored(lake: Lake, policy: Policy = DEFAULT) -> Scored:
    (batch,) = lake.batches()
    known = TaskFolders.of(lake)
    return score_batch(known, batch, tasks_of(batch, known.latest), policy)


def keep_only(lake: Lake, table: str, columns: set[str]) -> None:
    """Leave these columns of a table, and no other."""
    for file in lake.path.rglob(f"{table}.parquet"):
        frame = pl.read_parquet(file)
        frame.select(name for name in frame.columns if name in columns).write_parquet(file)


def test_only_the_columns_it_names_are_opened(lake: Lake) -> None:
    whole = scored(lake)
    keep_only(lake, "steps", set(step_columns(DEFAULT)))
    keep_only(lake, "references", set(KEYS))
    keep_only(lake, "runs", set(run_columns(DEFAULT)))
    found = scored(lake)
    assert found.scores.equals(whole.scores, null_equal=True)
    assert found.calls.equals(whole.calls, null_equal=True)


@pytest.mark.parametrize("match", [{}, {"args": "names"}, {"unit": "turn"}])
def test_a_policy_without_rules_names_no_text(match: dict[str, str]) -> None:
    columns = step_columns(parse({"match": match}, "here"))
    assert not [name for name in columns if Steps.polars()[name] == pl.String]
    texts = [name for name in KEYS if References.polars()[name] == pl.String]
    assert texts == ["reference_set"]  # the key of the whole set
    unread = {"final_output", "final_state", "source_path", "source_id"}
    assert unread <= set(Runs.names()) - set(run_columns(DEFAULT))


def spied(monkeypatch: pytest.MonkeyPatch, kind: type, method: str) -> list[tuple[int, list[Any]]]:
    """Note every call of a method of frames: the rows of the frame, and the arguments."""
    seen: list[tuple[int, list[Any]]] = []
    real = getattr(kind, method)

    def noting(frame: Any, *args: Any, **named: Any) -> Any:
        rows = (
            frame.height
            if isinstance(frame, pl.DataFrame)
            else frame.select(pl.len()).collect().item()
        )
        seen.append((rows, [*args, *named.values()]))
        return real(frame, *args, **named)

    monkeypatch.setattr(kind, method, noting)
    return seen


@pytest.mark.parametrize("kind", [pl.DataFrame, pl.LazyFrame])
def test_neither_steps_nor_calls_nor_runs_are_grouped(
    lake: Lake, monkeypatch: pytest.MonkeyPatch, kind: type
) -> None:
    grouped = [spied(monkeypatch, kind, name) for name in ("group_by", "unique")]
    scores = scored(lake).scores
    expected = int(scores["n_expected"].sum())
    assert scores.height == RUNS
    assert scores["n_calls"].sum() > RUNS
    references = pl.concat([pl.read_parquet(f) for f in lake.path.rglob("references.parquet")])
    assert references.height < RUNS < expected  # else nothing would tell them apart
    assert any(grouped)
    for rows, by in (call for calls in grouped for call in calls):
        assert rows <= references.height, by


def test_no_join_by_run(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    joined = spied(monkeypatch, pl.DataFrame, "join")
    scores = scored(lake).scores
    n_calls = scores["n_calls"].sum()
    keys = [str(a) for _, given in joined for a in given if not isinstance(a, pl.DataFrame)]
    assert not [key for key in keys if "run" in key or "pair" in key]
    # Calls meet their expected positions by one join; a second is for tools expected in two ways.
    assert sum(rows >= n_calls for rows, _ in joined) == 1


def test_nothing_is_looked_at_run_by_run(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows leave the engine for Python only where a search is needed: not once per run."""
    rows = spied(monkeypatch, pl.DataFrame, "iter_rows")
    scored(lake)
    assert sum(n for n, _ in rows) < RUNS / 4


def test_more_runs_take_no_more_plans(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The number of plans follows from the longest run, not from how many runs there are."""
    made = []
    for runs in (40, 400):
        sample(tmp_path / str(runs), runs=runs, seed=7)
        land([tmp_path / str(runs) / "runs.jsonl"], tmp_path / f"lake{runs}", workers=1)
        with monkeypatch.context() as patch:
            plans = spied(patch, pl.LazyFrame, "_collect_eager")
            scored(Lake.open(tmp_path / f"lake{runs}"))
        made.append(len(plans))
    few, many = made
    assert 0 < many <= 1.5 * few


def test_fractions_are_in_dictionaries(lake: Lake) -> None:
    """Tables read them again and again: half the work, where values are few."""
    made = scored(lake).scores
    score(lake)
    (file,) = lake.path.rglob("scores.parquet")
    metadata = pq.ParquetFile(file).metadata.row_group(0)
    columns = [metadata.column(place) for place in range(metadata.num_columns)]
    encodings = {column.path_in_schema: column.encodings for column in columns}
    fractions = [name for name, dtype in made.schema.items() if dtype == pl.Float64]
    assert [name for name in fractions if "RLE_DICTIONARY" not in encodings[name]] == []
    assert pl.read_parquet(file).equals(made, null_equal=True)
    assert pl.read_parquet_schema(file) == made.schema
