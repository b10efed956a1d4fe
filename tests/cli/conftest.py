"""What the tests of the command line share: a clean folder, a way to call it, logs, a lake."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from pipeline.cli import main
from pipeline.landing.land import land
from pipeline.sample import sample
from pipeline.scoring import score

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from click.testing import Result


@pytest.fixture(autouse=True)
def _clean_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stand in an empty folder: no pyproject.toml sets defaults."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("COLUMNS", raising=False)


@pytest.fixture
def run() -> Callable[..., Result]:
    """Call the command line as a shell does, in this process."""

    def call(*args: Any, **kwargs: Any) -> Result:
        return CliRunner().invoke(main, [str(arg) for arg in args], **kwargs)

    return call


@pytest.fixture(scope="session")
def made_lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Land and score 48 made-up runs, once, a few of them annotated by two people."""
    folder = tmp_path_factory.mktemp("cli")
    sample(folder / "export", runs=48)
    land([folder / "export"], folder / "lake", workers=1)
    (folder / "words.jsonl").write_text("".join(f"{json.dumps(word)}\n" for word in _words()))
    land([folder / "words.jsonl"], folder / "lake")
    score(folder / "lake")
    return folder


def _words() -> Iterator[dict[str, Any]]:
    for number in range(6):
        for who in range(2):
            yield {
                "trajectory_id": f"s0-{number:07}",
                "annotator_id": f"a{who}",
                "overall_quality": 1 + (2 * number + who) % 5,
                "backtrack_steps": [number] if who else [],
            }


@pytest.fixture
def lake(made_lake: Path, tmp_path: Path) -> Path:
    """Give a folder with logs in `export` and their scored lake in `lake`."""
    for name in ("export", "lake"):
        shutil.copytree(made_lake / name, tmp_path / name)
    return tmp_path / "lake"
