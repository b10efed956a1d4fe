"""A lake of which something is damaged, gone, or set aside: told by file, or none of the lake's."""

from __future__ import annotations

import json
from shutil import copytree, rmtree
from typing import TYPE_CHECKING

import pytest
from lakes import trajtab, write
from making import call, run, runs_of, scores_of, want

from pipeline.lake import Lake
from pipeline.landing.land import land
from pipeline.scoring import score

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

BATCH, TASKS, SCORES = "batches/b-*", "tasks/t-*", "scores/p-*/s-*"
READING = (["check"], ["aggregate"], ["sql", "FROM runs"], ["score", "--all"])


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return write(tmp_path / "a.jsonl", run("r1", call("a"), expected=[want("a")]), run("r2"))


@pytest.fixture
def lake(tmp_path: Path, log: Path) -> Path:
    land([log], tmp_path / "lake")
    score(tmp_path / "lake")
    return tmp_path / "lake"


def cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-9])


def empty(file: Path) -> None:
    file.write_bytes(b"")


def listed(file: Path) -> None:
    file.write_text("[]")


def older(file: Path) -> None:
    """Keep a manifest's first key alone."""
    first, *_ = json.loads(file.read_text()).items()
    file.write_text(json.dumps(dict([first])))


def gone(file: Path) -> None:
    file.unlink()


@pytest.mark.parametrize(
    ("pattern", "damage"),
    [
        *((f"{BATCH}/{name}.parquet", how) for name in ("runs", "steps") for how in (cut, gone)),
        (f"{TASKS}/references.parquet", empty),
        (f"{SCORES}/scores.parquet", cut),
        (f"{SCORES}/scores.parquet", gone),
        *((f"{kind}/manifest.json", cut) for kind in (BATCH, TASKS, SCORES)),
        *((f"{kind}/manifest.json", older) for kind in (BATCH, TASKS, SCORES)),
        (f"{BATCH}/manifest.json", listed),
        ("lake.json", cut),
    ],
)
def test_a_damaged_file_is_named_with_what_to_do(
    lake: Path, pattern: str, damage: Callable[[Path], None], capsys: pytest.CaptureFixture[str]
) -> None:
    """By each command that reads it; the others do their work."""
    [file] = lake.glob(pattern)
    damage(file)
    seen = 0
    for command, *rest in READING:
        code = trajtab(command, lake, *rest)
        err = capsys.readouterr().err
        assert "internal error" not in err
        if code == 2:
            seen += 1
            assert str(file) in err
            assert "remove" in err or "restore it from a copy" in err
    assert seen


def test_a_lake_of_another_version_is_refused_with_what_to_do(
    lake: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (lake / "lake.json").write_text('{"version": 2, "policy": null}')
    assert trajtab("aggregate", lake) == 2
    assert "lake.json: lake version 2; this trajtab reads 1: take the" in capsys.readouterr().err
    (lake / "lake.json").write_text('{"version": 1, "policy": 5}')
    assert trajtab("aggregate", lake) == 2
    assert "lake.json: damaged" in capsys.readouterr().err


@pytest.mark.parametrize(("pattern", "name"), [(BATCH, "runs"), (SCORES, "scores")])
def test_what_the_message_says_mends_the_lake(
    lake: Path, log: Path, pattern: str, name: str
) -> None:
    before = scores_of(lake).drop("landed_at", strict=False)
    [folder] = lake.glob(pattern)
    cut(folder / f"{name}.parquet")
    rmtree(folder)
    land([log], lake)
    score(lake)
    assert scores_of(lake).drop("landed_at", strict=False).equals(before)


def test_a_copy_set_aside_in_the_lake_is_none_of_its_folders(lake: Path) -> None:
    [batch], [scores], [tasks] = (list(lake.glob(kind)) for kind in (BATCH, SCORES, TASKS))
    copytree(batch, batch.with_name(f"{batch.name}.bak"))
    copytree(batch, batch.with_name("copy of a batch"))
    copytree(scores, scores.with_name(f"{scores.name} (1)"))
    copytree(tasks, tasks.with_name(f"{tasks.name}~"))
    (lake / "batches" / "notes.txt").write_text("mine")
    assert runs_of(lake)["run_id"].to_list() == ["r1", "r2"]
    assert score(lake).batches == 0
    assert scores_of(lake).height == 2
    assert len(Lake.open(lake).tasks()) == 1
