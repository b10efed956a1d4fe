"""What of a lake is whole: committed folders by their names, and what to do about a damaged one."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import msgspec
from xxhash import xxh3_128

from pipeline.errors import LakeError

if TYPE_CHECKING:
    from pipeline.store.address import Address

_NAME = re.compile(r"[a-z]-[0-9a-f]+")
_MAGIC = b"PAR1"
_SHORTEST = 12
"""Bytes of a Parquet file: both magic words and the footer's length."""


class Manifest(dict[str, Any]):
    """A folder's account of itself; what it should say and does not is told as damage."""

    def __init__(self, told: dict[str, Any], address: Path | Address, file: str) -> None:
        super().__init__(told)
        self._address, self._file = address, file

    def __missing__(self, name: str) -> NoReturn:
        raise damaged(
            self._address, self._file, f"no manifest of this version of lakes: no {name!r}"
        )


def is_committed(name: str) -> bool:
    """Tell whether a folder has a name that commits give: a copy set aside in the lake has none.

    >>> is_committed("b-0d9a09f3a457a3055a58b9b4"), is_committed("b-0d9a09f3a457a3055a58b9b4.bak")
    (True, False)
    """
    return _NAME.fullmatch(name) is not None


def decoded(data: bytes, address: Path | Address, folder: str) -> Manifest:
    """Decode the manifest of a folder.

    Raises:
        LakeError: it is no JSON object.
    """
    file = f"{folder}/manifest.json"
    try:
        return Manifest(msgspec.json.decode(data, type=dict), address, file)
    except msgspec.MsgspecError as error:
        raise damaged(address, file, f"damaged: {error}") from error


def whole_file(address: Path, file: str) -> Path:
    """Return the path of a table's file on a disk, having seen that both its ends are there.

    Raises:
        LakeError: it is missing, cut off, or no Parquet file.
    """
    path = address / file
    try:
        with path.open("rb") as opened:
            first, size = opened.read(len(_MAGIC)), opened.seek(0, 2)
            opened.seek(max(0, size - len(_MAGIC)))
            last = opened.read()
    except FileNotFoundError as error:
        raise damaged(address, file, "missing, though its manifest names it") from error
    if size < _SHORTEST or not first == last == _MAGIC:
        raise damaged(address, file, f"damaged: its {size} bytes are no whole Parquet file")
    return path


def hash_of(path: Path) -> str:
    """Return the hash by which a file is known again."""
    told = xxh3_128()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            told.update(block)
    return told.hexdigest()


def damaged(address: Path | Address, file: str, what: str) -> LakeError:
    """Return the error for a file of a committed folder: what is amiss, and what to do."""
    kind, folder = file.split("/", maxsplit=1)[0], f"{address}/{file.rsplit('/', 1)[0]}"
    if kind == "scores":
        way = f"remove {folder} and run `trajtab score`"
    elif kind == "batches" and isinstance(address, Path):
        way = f"restore it from a copy of the lake, or remove {folder} and land its logs again"
    else:
        way = "restore it from a copy of the lake, or land the logs into a new one"
    return LakeError(f"{address}/{file}: {what}; {way}")
