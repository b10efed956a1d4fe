"""Samples as files, and as a small lake to try a function on."""

from __future__ import annotations

import os
import re
from atexit import register
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, NamedTuple

from pipeline.arguments import checked
from pipeline.errors import InputError
from pipeline.replacing import replacing
from pipeline.sample.runs import lines
from pipeline.sample.tasks import tasks
from pipeline.sample.words import as_json

if TYPE_CHECKING:
    from collections.abc import Iterator

ANNOTATED = 6
"""So many runs of an example have been annotated."""


_OURS = re.compile(rb'\{("run_id":"s-?\d+-\d+",)?"task_id":"task-\d+","suite":')
"""How each line of a sample begins."""
_BEGIN = 256


class Written(NamedTuple):
    """A file of the sample."""

    path: Path
    format: str
    records: int


@checked
def sample(folder: str | os.PathLike[str], *, runs: int = 1000, seed: int = 0) -> list[Written]:
    """Write `runs.jsonl` and `tasks.jsonl` into a folder, made where there is none.

    Raises:
        InputError: `runs` is negative, the folder has no name, cannot be written, or holds a file
            of such a name that is no sample.
    """
    if not os.fspath(folder):
        raise InputError("the folder's name is empty; name a folder, or . for this one")
    if runs < 0:
        raise InputError(f"{runs} runs asked for; at least 0 is needed")
    target = Path(folder)
    known = tasks(seed)
    files = [
        Written(target / "runs.jsonl", "trajtab", runs),
        Written(target / "tasks.jsonl", "tasks", len(known)),
    ]
    try:
        target.mkdir(parents=True, exist_ok=True)
        for file in files:
            _spare(file.path)
        _write(files[0].path, lines(known, runs, seed))
        _write(files[1].path, (task.record for task in known))
    except OSError as error:
        raise InputError(f"{error.filename or target}: cannot write: {error.strerror}") from error
    return files


def _spare(path: Path) -> None:
    """Refuse to write over a log that is not made up: a recorder's may well have such a name."""
    if not path.exists():
        return
    with path.open("rb") as file:
        begin = file.read(_BEGIN)
    if begin and not _OURS.match(begin):
        raise InputError(f"{path}: there already, and no sample; name another folder")


def example(runs: int = 32) -> Path:
    """Return a small lake of made-up runs, scored, some annotated: to try a function on.

    It is made once per process and number of runs, in a temporary folder that goes when the
    process ends. For a lake that stays: `sample`, `land` and `score`.

    >>> from pipeline.tables.scores import scores
    >>> scores(example()).rows.height
    32
    """
    if runs not in _EXAMPLES:
        from pipeline.landing.land import land  # noqa: PLC0415 - making logs needs no engine
        from pipeline.scoring import score  # noqa: PLC0415 - same

        folder = TemporaryDirectory(prefix="trajtab-example-")
        sample(folder.name, runs=runs)
        lake = Path(folder.name, "lake")
        _write(Path(folder.name, "annotations.jsonl"), _annotations(min(runs, ANNOTATED)))
        land([folder.name], lake, workers=1)
        score(lake)
        _EXAMPLES[runs] = (folder, lake)
        register(folder.cleanup)
    return _EXAMPLES[runs][1]


def _annotations(runs: int) -> Iterator[str]:
    """Yield what two people say of the first runs: they part a little."""
    for number in range(runs):
        for who in range(2):
            word = {
                "trajectory_id": f"s0-{number:07d}",
                "annotator_id": f"person-{who + 1}",
                "overall_quality": 1 + (2 * number + who) % 5,
                "backtrack_steps": [],
            }
            yield as_json(word) + "\n"


_EXAMPLES: dict[int, tuple[TemporaryDirectory[str], Path]] = {}


def _write(path: Path, records: Iterator[str]) -> None:
    with replacing(path) as file:
        file.writelines(record.encode() for record in records)
