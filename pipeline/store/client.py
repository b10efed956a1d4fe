"""The requests a lake makes of its object store; what fails is told in a sentence."""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from pipeline.errors import LakeError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime
    from pathlib import Path

    from pipeline.store.address import Address

PART = 8 << 20
"""Larger files go in parts of this size, and come in pieces of it."""

TRIES = 3

_NO_BUCKET = re.compile(r"NoSuchBucket|ContainerNotFound|bucket does not exist", re.IGNORECASE)
_OTHER_REGION = re.compile(r"PermanentRedirect|AuthorizationHeaderMalformed|301 Moved")
_CODE = re.compile(r"<Code>(.*?)</Code>.*?<Message>(.*?)</Message>", re.DOTALL)
_CAUSE = re.compile(r'\b(?:message|error): "(.+?)"')
"""What the system says of a connection that failed: the innermost error of the debug output."""


class Found(NamedTuple):
    """An object's content, its tag, and the version to replace it by."""

    data: bytes
    tag: str
    version: dict[str, str | None]


class Listed(NamedTuple):
    """One object of a listing."""

    name: str
    size: int
    tag: str
    modified: datetime


class Client:
    """One store, seen from the lake's prefix. Every request is sent again where that may help."""

    def __init__(self, address: Address, bucket: str, store: Any) -> None:
        self.address = address
        self.bucket = bucket
        self.store = store

    def get(self, name: str) -> Found | None:
        """Return an object's content, None where there is none."""
        with self._told(f"read {name}"):
            try:
                result = self.store.get(name)
            except FileNotFoundError as error:
                self._refuse_without_bucket(error)
                return None
            meta = result.meta
            version = {key: meta[key] for key in ("e_tag", "version") if meta.get(key)}
            return Found(bytes(result.bytes()), _listed(meta).tag, version)

    def head(self, name: str) -> Listed | None:
        """Return what is known of an object, None where there is none."""
        with self._told(f"look for {name}"):
            try:
                return _listed(self.store.head(name))
            except FileNotFoundError:
                return None

    def list(self, folder: str) -> list[Listed]:
        """Return every object below a folder, by name."""
        with self._told(f"list {folder}"):
            return sorted(
                _listed(meta)
                for part in self.store.list(f"{folder}/", chunk_size=1000)
                for meta in part
            )

    def range(self, name: str, start: int, end: int) -> bytes:
        """Return the bytes of an object from `start` to before `end`."""
        for left in reversed(range(TRIES)):
            try:
                with self._told(f"read {name}"):
                    data = bytes(self.store.get_range(name, start=start, end=end))
            except LakeError:
                if not left:
                    raise
                continue
            if len(data) == end - start:
                return data
        raise LakeError(
            f"{self.address}/{name}: cut short: {len(data)} of {end - start} bytes came"
        )

    def create(self, name: str, data: bytes) -> bool:
        """Write an object where there is none, and tell whether there was none."""
        return self.swap(name, data, None)

    def ensure(self, name: str, data: bytes) -> None:
        """Write an object unless there is one: afterwards there is, whoever wrote it.

        A store may refuse all of several that write at the same moment.
        """
        for _ in range(TRIES):
            if self.create(name, data) or self.head(name) is not None:
                return
        raise LakeError(f"{self.address}: cannot write {name}: refused, though it is not there")

    def swap(self, name: str, data: bytes, version: dict[str, str | None] | None) -> bool:
        """Write an object in place of that version, and tell whether it still was the one there.

        False may also mean that the request was sent twice and met itself: whoever needs to know
        looks at what is there now.
        """
        from obstore.exceptions import AlreadyExistsError, PreconditionError  # noqa: PLC0415 - an extra

        with self._told(f"write {name}"):
            try:
                self.store.put(name, data, mode=version or "create")
            except (AlreadyExistsError, PreconditionError):
                return False
        return True

    def put(self, name: str, content: bytes | Path) -> None:
        """Write an object, in parts and side by side where it is large."""
        with self._told(f"write {name}"):
            self.store.put(name, content, chunk_size=PART)

    def delete(self, names: Sequence[str]) -> None:
        """Delete objects."""
        with self._told("delete what was left over"):
            self.store.delete(list(names))

    @contextmanager
    def _told(self, what: str) -> Iterator[None]:
        from obstore.exceptions import (  # noqa: PLC0415 - an extra
            BaseError,
            PermissionDeniedError,
            UnauthenticatedError,
        )

        try:
            yield
        except (FileNotFoundError, BaseError, OSError, ValueError) as error:
            if isinstance(error, LakeError):
                raise
            self._refuse_without_bucket(error)
            if isinstance(error, (PermissionDeniedError, UnauthenticatedError)):
                raise LakeError(
                    f"{self.address}: the store refuses to {what}: {reason(error)}; the credential "
                    "in the environment must allow to list, read, write and delete there"
                ) from error
            region = "; AWS_REGION must name its region" if _OTHER_REGION.search(str(error)) else ""
            raise LakeError(f"{self.address}: cannot {what}: {reason(error)}{region}") from error

    def _refuse_without_bucket(self, error: Exception) -> None:
        if _NO_BUCKET.search(str(error)):
            raise LakeError(
                f"{self.address}: there is no {self.bucket} {self.address.bucket!r} in this store; "
                "make it, or correct the lake's address"
            ) from error


def _listed(meta: Any) -> Listed:
    tag = str(meta.get("e_tag") or meta.get("version") or meta["last_modified"])
    return Listed(meta["path"], meta["size"], tag, meta["last_modified"])


def reason(error: Exception) -> str:
    r"""Return what a store says went wrong, in one line.

    >>> print(reason(ValueError("Generic S3 error: refused\n\nDebug source:\nGeneric { … }")))
    Generic S3 error: refused
    >>> told = 'HTTP error\n\nDebug source:\nOs {\n code: 111,\n message: "Connection refused",\n}'
    >>> print(reason(ValueError(told)))
    HTTP error: Connection refused
    """
    if code := _CODE.search(str(error)):
        return f"{code[1]}: {code[2]}"
    told, _, debug = str(error).partition("\n\nDebug source")
    causes = [cause for cause in _CAUSE.findall(debug) if cause not in told]
    return ": ".join([" ".join(told.split()), *causes[-1:]])
