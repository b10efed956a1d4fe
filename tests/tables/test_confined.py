"""A filter chooses among the runs of a lake: it reads no other file, whoever wrote it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

import pipeline
from pipeline.errors import TrajtabError
from pipeline.sample import example

if TYPE_CHECKING:
    from pathlib import Path

Ask = Callable[[Any, str], object]
"""A function of a lake and a condition."""

DOORS: dict[str, Ask] = {
    "aggregate": lambda lake, rule: pipeline.aggregate(lake, metrics=["f1"], where=rule),
    "percentiles": lambda lake, rule: pipeline.percentiles(lake, metrics=["f1"], where=rule),
    "scores": lambda lake, rule: pipeline.scores(lake, where=rule),
    "trend": lambda lake, rule: pipeline.trend(lake, by="agent_version", where=rule),
    "passk": lambda lake, rule: pipeline.passk(lake, k=[1], where=rule),
    "passk --pass": lambda lake, rule: pipeline.passk(lake, k=[1], rule=rule),
    "compare": lambda lake, rule: pipeline.compare(
        lake,
        baseline="agent_version = 'v1'",
        candidate=f"agent_version = 'v2' AND {rule}",
        metrics=["f1"],
    ),
}


@pytest.fixture(params=list(DOORS))
def ask(request: pytest.FixtureRequest) -> Ask:
    """Return each function that takes a condition."""
    return DOORS[request.param]


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    """Return a file of somebody's that is no part of the lake."""
    file = tmp_path / "secret.txt"
    file.write_text("hunter2")
    return file


def test_a_condition_is_asked_of_the_runs(ask: Ask) -> None:
    assert ask(example(), "run_id IS NOT NULL") is not None


@pytest.mark.parametrize(
    "read", ["SELECT count(*) FROM read_text('{}')", "SELECT count(*) FROM glob('{}')"]
)
def test_no_condition_reads_a_file(ask: Ask, secret: Path, read: str) -> None:
    with pytest.raises(TrajtabError, match="disabled by configuration"):
        ask(example(), f"({read.format(secret)}) = 1")


def test_no_condition_reads_a_python_variable(ask: Ask) -> None:
    import polars as pl  # noqa: PLC0415 - the variable is what is looked for

    mine = pl.DataFrame({"a": [1]})
    with pytest.raises(TrajtabError, match="mine"):
        ask(example(), "(SELECT count(*) FROM mine) = 1")
    assert mine.height == 1


def test_a_lake_in_a_folder_with_marks_of_patterns_is_read(tmp_path: Path, ask: Ask) -> None:
    odd = tmp_path / "it's [a] *lake?"
    odd.symlink_to(example(), target_is_directory=True)
    assert ask(odd, "run_id IS NOT NULL") is not None
