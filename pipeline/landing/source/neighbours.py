"""What stands beside a file and tells more of it, however it is packed and whether it lands itself."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from pipeline.landing.records.reader import Source
from pipeline.landing.source.copies import Copies
from pipeline.landing.source.transport import SUFFIXES, unpacked

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@contextmanager
def neighbour(source: Source, name: str, up: int = 1) -> Iterator[Source | None]:
    """Give the file `name` in the folder `up` levels above a source; None where there is none.

    It is looked for beside the source and beside what that was unpacked from: as it is, else
    packed. Its copy, where it takes one, is there as long as the context is open.
    """
    with ExitStack() as stack:
        path = _find(source, name, up)
        found = None
        if path is not None:
            copies = stack.enter_context(Copies())
            found = next(unpacked([Source(path, str(path))], copies), None)
            found = None if found is None or found.unread else found
        yield found


def _find(source: Source, name: str, up: int) -> Path | None:
    places = [path.absolute().parents for path in (source.path, source.origin) if path is not None]
    folders = [above[up - 1] for above in places if len(above) >= up]
    files = (folder / f"{name}{suffix}" for suffix in ("", *SUFFIXES) for folder in folders)
    return next((file for file in files if file.is_file()), None)
