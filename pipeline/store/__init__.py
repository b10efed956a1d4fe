"""Where a lake's files are: a folder on a disk, or a prefix in an object store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.store.address import Address, address_of
from pipeline.store.protocol import Decision, Draft, Storage

if TYPE_CHECKING:
    import os

__all__ = ["Address", "Decision", "Draft", "Storage", "address_of", "storage_of"]


def storage_of(path: str | os.PathLike[str]) -> Storage:
    """Return the storage that a path or URL names; nothing is read yet.

    Raises:
        InputError: the URL is none of a lake.
        LakeError: it is in an object store, and the extra `objects` or a credential is missing.
    """
    address = address_of(path)
    if isinstance(address, Address):
        # Object stores are an extra: a lake on a disk does without.
        from pipeline.store.connect import connect  # noqa: PLC0415
        from pipeline.store.objects import ObjectStorage  # noqa: PLC0415

        return ObjectStorage(address, connect(address))
    from pipeline.store.disk import DiskStorage  # noqa: PLC0415 - the other of two

    return DiskStorage(address)
