"""Traces scattered over files, brought together by a cluster that loses its parts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from clusters import assert_landed_as, meanwhile, regrouping, writing

from pipeline.landing.land import land

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("what", ["python", "executor", "worker"])
def test_a_loss_in_the_middle(
    cluster, engine, scattered: Path, right: Path, tmp_path: Path, what: str
) -> None:
    """A worker is lost while partitions are written: what its shuffle files held is made again."""
    lake = tmp_path / "lake"
    begun = writing if what == "worker" else regrouping
    with meanwhile(
        lambda: land([scattered], lake, regroup="trace_id", engine=engine),
        until=lambda: begun(lake),
    ):
        cluster.lose(what)
    assert_landed_as(lake, right)
