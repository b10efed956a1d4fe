"""What is read of a lake is whole, or the person is told which file is not, and what to do."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import msgspec

from pipeline.errors import LakeError

if TYPE_CHECKING:
    from pathlib import Path

_MEND = "copy its folder whole again, or delete the folder, then land and score again"
_MAGIC = b"PAR1"
"""What Parquet begins and ends with."""


def manifest_of(data: bytes, where: object) -> dict[str, Any]:
    """Return what a manifest says; `where` is its path or name.

    Raises:
        LakeError: it is no JSON object.

    >>> manifest_of(b'{"rows": {"runs": 1}}', "m")
    {'rows': {'runs': 1}}
    """
    try:
        found: dict[str, Any] = msgspec.json.decode(data, type=dict)
    except msgspec.MsgspecError as error:
        raise LakeError(f"{where}: damaged: {error}; {_MEND}") from error
    return found


def whole(path: Path) -> Path:
    """Return the path of a table's file, which a copy of the lake may lack or have in part.

    Raises:
        LakeError: the file is gone, or does not end as Parquet does.
    """
    try:
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - len(_MAGIC)))
            ends = file.read()
    except FileNotFoundError as error:
        raise LakeError(f"{path}: gone, though its manifest names it; {_MEND}") from error
    if ends != _MAGIC:
        raise LakeError(f"{path}: damaged: no Parquet, or not to its end; {_MEND}")
    return path
