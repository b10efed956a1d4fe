"""What the user named, as files to land: paths, folders, globs, the standard input."""

from __future__ import annotations

import glob
import os
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.errors import InputError, SourceNotFoundError
from pipeline.given import nearest
from pipeline.landing.records.reader import Source, as_text

if TYPE_CHECKING:
    from collections.abc import Sequence

STDIN = Path("/dev/stdin")
"""What `-` names; it is read once, through a copy."""


LAKE = "lake.json"
"""What a lake is known by: no log is in it."""


def _files_under(folder: Path) -> list[Path]:
    """Return the files of a folder but for hidden ones and those of lakes, in order.

    Folders within that cannot be read stand among them: they are told of as such a file is.
    """
    closed: list[Path] = []
    found: list[Path] = []
    for at, inner, names in os.walk(folder, onerror=lambda e: closed.append(Path(e.filename))):
        inner[:] = [name for name in inner if not name.startswith(".")]
        found += [Path(at, name) for name in names if not name.startswith(".")]
    lakes = {
        path.parent
        for path in found
        if path.name == LAKE and os.path.isdir(path.parent / "batches")  # noqa: PTH112 - what cannot be looked at is none
    }
    files = [path for path in found if lakes.isdisjoint(path.parents) and _is_file(path)]
    return sorted([*files, *closed])


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except PermissionError:  # its folder may be listed, but not entered
        return True


def _none_in(folder: Path) -> str:
    if (folder / LAKE).is_file():
        return "a lake; what stands in its folder is no log, so keep logs in another"
    return "the folder holds no file to land"


def refuse_among(named: Sequence[str], lake: object) -> None:
    """Refuse a new lake in a folder with logs that land: in a lake's folder they are none.

    Raises:
        InputError: files to land stand where the lake would be made.
    """
    if not isinstance(lake, Path) or not lake.is_dir() or (lake / LAKE).exists():
        return
    home = lake.resolve()
    for text in named:
        folder = Path(text).resolve()
        if folder in (home, *home.parents) and _files_under(home):
            raise InputError(
                f"{lake}: holds files that would land, and a lake needs a folder of its own: "
                f"--lake {lake / 'lake'} is one"
            )


def _resolved(file: Path, folders: dict[Path, Path]) -> Path:
    """Return where a file really is; `folders` keeps where folders are, which hold many files."""
    if os.path.islink(file):  # noqa: PTH114 - what cannot be looked at is none
        return file.resolve()
    if file.parent not in folders:
        folders[file.parent] = file.parent.resolve()
    return folders[file.parent] / file.name


def expand(named: Sequence[str]) -> list[Source]:
    """Turn paths, folders and globs into sources, each file once, in a stable order.

    `-` is the standard input.

    Raises:
        SourceNotFoundError: a path does not exist, a glob matches nothing, a folder has no file.
    """
    found: dict[Path, Source] = {}
    folders: dict[Path, Path] = {}
    for text in named:
        if not text:  # else it would be the current folder: all of it, for an unset variable
            raise SourceNotFoundError(
                "a source is an empty text; name a file or folder, or . for here"
            )
        path = STDIN if text == "-" else Path(text)
        if path.is_dir():
            files = _files_under(path)
            if not files:
                raise SourceNotFoundError(f"{text}: {_none_in(path)}")
        elif path.exists():
            files = [path]
        elif glob.has_magic(text):
            matches = glob.glob(text, recursive=True)  # noqa: PTH207 - the pattern may be absolute
            files = [Path(match) for match in sorted(matches)]
            files = [file for file in files if file.is_file()]
            if not files:
                raise SourceNotFoundError(f"{text}: the pattern matches no file")
        else:
            raise SourceNotFoundError(f"{text}: no such file or folder{nearest(path)}")
        for file in files:
            found.setdefault(
                _resolved(file, folders), Source(file, "-" if file == STDIN else as_text(file))
            )
    return list(found.values())
