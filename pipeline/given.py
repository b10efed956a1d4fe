"""Files that a person names: policies, gates, rubrics, configurations, what judges were asked."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

from pipeline.errors import InputError, SourceNotFoundError

if TYPE_CHECKING:
    from pathlib import Path


def refuse_no_name(named: object, kind: str) -> None:
    """Refuse an empty name, as an unset variable of a shell is: as a path it would be this folder.

    Raises:
        InputError: it is empty.
    """
    if not str(named):
        raise InputError(f"the name of the {kind} is empty; name one")


def refuse_no_file(path: Path, kind: str, more: str = "") -> None:
    """Refuse a path at which no file is: `kind` says what was expected there.

    Raises:
        SourceNotFoundError: nothing is there; `more` ends the sentence.
        InputError: it is a folder, or a pipe: most of these files are read more than once.

    >>> from pathlib import Path
    >>> refuse_no_file(Path("limits.toml"), "gate file")
    Traceback (most recent call last):
    ...
    pipeline.errors.SourceNotFoundError: limits.toml: no such gate file
    >>> refuse_no_file(Path(), "gate file")
    Traceback (most recent call last):
    ...
    pipeline.errors.InputError: .: a folder; a gate file was expected
    """
    if path.is_file():
        return
    if not path.exists():
        raise SourceNotFoundError(f"{path}: no such {kind}{more}{nearest(path)}")
    if path.is_dir():
        raise InputError(f"{path}: a folder; a {kind} was expected")
    raise InputError(f"{path}: a pipe or a device; a {kind} was expected, save it as one first")


def nearest(path: Path) -> str:
    """Ask whether what stands beside a path that is not there, by a name like it, was meant.

    >>> from pathlib import Path
    >>> here = Path(__file__).parent
    >>> nearest(here / "givn.py") == f"; did you mean {str(here / 'given.py')!r}?"
    True
    >>> nearest(here / "nothing like it")
    ''
    """
    try:
        names = [beside.name for beside in path.parent.iterdir()]
    except OSError:
        return ""
    near = get_close_matches(path.name, names, n=1)
    return f"; did you mean {str(path.with_name(near[0]))!r}?" if near else ""
