"""Addresses of lakes: a path, or `s3://BUCKET/PREFIX`, `gs://BUCKET/PREFIX`, `az://CONTAINER/PREFIX`."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from pipeline.errors import InputError
from pipeline.text import is_utf8

SCHEMES = ("s3", "gs", "az")

_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://(.*)", re.DOTALL)
_FLATTENED = re.compile(rf"({'|'.join(SCHEMES)}):/(?!/)")


@dataclass(frozen=True)
class Address(os.PathLike[str]):
    """The address of a lake in an object store; as text it is its URL.

    >>> address = address_of("s3://logs/agents//nightly/")
    >>> str(address), address.name
    ('s3://logs/agents/nightly', 'nightly')
    """

    scheme: str
    bucket: str
    prefix: str

    def __str__(self) -> str:
        """Return the URL."""
        return "/".join(part for part in (f"{self.scheme}://{self.bucket}", self.prefix) if part)

    def __fspath__(self) -> str:
        """Return the URL: an address goes wherever a lake's path does."""
        return str(self)

    @property
    def name(self) -> str:
        """The last part of the address."""
        return str(self).rsplit("/", 1)[-1]


def is_url(value: str) -> bool:
    """Tell whether a text is a URL rather than a path.

    >>> is_url("s3://logs/lake"), is_url("lake"), is_url("C:/lake")
    (True, False, False)
    """
    return _URL.fullmatch(value) is not None


def address_of(value: str | os.PathLike[str]) -> Address | Path:
    """Return the address that a text or path names.

    Raises:
        InputError: a URL of another kind, without a bucket, or with a part that names nothing.
    """
    text = os.fspath(value)
    if not is_utf8(text):
        raise InputError(f"{text}: the name of a lake must be UTF-8; choose another")
    if (url := _URL.fullmatch(text)) is None:
        if isinstance(value, Path) and _FLATTENED.match(text):
            raise InputError(f"{text}: a path cannot hold a URL; give it as text, like 's3://b/p'")
        return Path(value)
    scheme, rest = url[1].lower(), url[2]
    if scheme not in SCHEMES:
        known = ", ".join(f"{name}://" for name in SCHEMES)
        raise InputError(f"{text}: a lake is a folder, or in an object store at one of {known}")
    bucket, *parts = rest.split("/")
    if not bucket:
        raise InputError(f"{text}: no bucket is named; the form is {scheme}://BUCKET/PREFIX")
    if {".", ".."} & set(parts) or re.search(r"[?#\\\x00-\x1f]", rest):
        raise InputError(f"{text}: a prefix is made of names between slashes, without . .. ? # \\")
    return Address(scheme, bucket, "/".join(part for part in parts if part))
