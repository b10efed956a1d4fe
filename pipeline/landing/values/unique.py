"""Ids that name one run everywhere, told from those that only name it in their program."""

from __future__ import annotations

import re

_UUID = re.compile(r"(.*[_-])?[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)


def is_unique(name: str | None) -> bool:
    """Tell whether an id is unique everywhere: a UUID, bare or behind a prefix.

    >>> is_unique("___eval___session___9056575a-70ad-410e-84ea-a2af3aa7dbed"), is_unique("123")
    (True, False)
    """
    return name is not None and _UUID.fullmatch(name) is not None
