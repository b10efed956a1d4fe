"""Scoring on a cluster that loses its parts: the scores are those of one machine, every time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from clusters import assert_scored_as, meanwhile, scoring

from pipeline.scoring import score

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("what", ["python", "executor", "worker"])
def test_a_loss_in_the_middle(cluster, engine, many: Path, lake: Path, what: str) -> None:
    with meanwhile(lambda: score(lake, engine=engine), until=lambda: scoring(lake)):
        cluster.lose(what)
    assert_scored_as(lake, many / "scored")
