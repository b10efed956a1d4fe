"""Reading while another process lands: what is seen is the lake before the landing, or after it."""

from __future__ import annotations

from shutil import copytree
from typing import TYPE_CHECKING, Any

import pytest
from making import call, run, want, write

from pipeline.checks import check
from pipeline.lake import Folder, Lake
from pipeline.landing.land import land
from pipeline.scoring import score
from pipeline.tables.compare import compare
from pipeline.workbench import query

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

ARMS = {"baseline": "agent_version = 'v1'", "candidate": "agent_version = 'v2'"}
OTHER = "preset:tau2"
MOST_LISTINGS = 5


def counted(lake: Path) -> Any:
    return query(lake, "SELECT count(*), count(DISTINCT run_id) FROM runs").rows.rows()


def checked(lake: Path) -> Any:
    rows = check(lake).rows
    return rows.filter(rows["severity"] == "error").rows()


def compared(lake: Path) -> Any:
    return _sizes(compare(lake, **ARMS, metrics=["f1"]).facts)


def compared_under_two(lake: Path) -> Any:
    return _sizes(compare(lake, **ARMS, metrics=["f1"], candidate_policy=OTHER).facts)


def _sizes(facts: dict[str, Any]) -> list[int]:
    return [arm["n_runs"] for arm in facts["arms"]]


@pytest.fixture
def sources(tmp_path: Path) -> list[Path]:
    """Snapshots of two versions' runs, then their finished runs, which replace them."""

    def records(*calls: Any) -> list[dict[str, Any]]:
        return [
            run(f"{v}-{i}", *calls, agent_version=v, task_id=f"t{i}", expected=[want("a")])
            for v in ("v1", "v2")
            for i in range(3)
        ]

    return [
        write(tmp_path / "day.jsonl", records(call("a"))),
        write(tmp_path / "night.jsonl", records(call("a"), call("b"))),
    ]


@pytest.mark.parametrize("read", [counted, checked, compared, compared_under_two])
def test_a_landing_between_any_two_listings_is_seen_whole_or_not_at_all(
    tmp_path: Path,
    sources: list[Path],
    read: Callable[[Path], Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    listing = Lake.batches
    land([sources[0]], tmp_path / "base", workers=1)
    for policy in (None, OTHER):
        score(tmp_path / "base", policy=policy)
    whole = copytree(tmp_path / "base", tmp_path / "whole")
    land([sources[1]], whole, workers=1)
    seen, landed = (read(tmp_path / "base"), read(whole)), []
    for moment in range(MOST_LISTINGS):
        lake = copytree(tmp_path / "base", tmp_path / f"lake-{moment}")
        left = iter(range(moment, -1, -1))

        def then_landing(self: Lake, lake: Path = lake, left: Any = left) -> list[Folder]:
            found = listing(self)
            if next(left, None) == 0:
                monkeypatch.setattr(Lake, "batches", listing)
                land([sources[1]], lake, workers=1)
            return found

        monkeypatch.setattr(Lake, "batches", then_landing)
        meanwhile = read(lake)
        landed.append(Lake.batches is listing)
        monkeypatch.setattr(Lake, "batches", listing)
        assert meanwhile in seen, f"a landing after listing {moment}"
    assert landed[0]
    assert not landed[-1], "no reader lists so often"
