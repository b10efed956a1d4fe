"""A little lake for every test of judges, made once."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest
from judge.asking import little

from pipeline.lake import Lake

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make the lake that tests copy."""
    folder = tmp_path_factory.mktemp("made")
    little(folder)
    return folder


@pytest.fixture
def lake(made: Path, tmp_path: Path) -> Lake:
    """Give a lake of one's own, in `lake` of the test's folder; its log is `log.jsonl`."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    return Lake.open(tmp_path / "lake")
