"""A temporary folder that does not outlive its process: what a killed one left, the next removes.

The owner holds a lock in its folder. The kernel lets go of it however the process ends, so a
folder whose lock can be taken is nobody's. No clock is asked: a landing may unpack for days.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

PREFIX = "trajtab-"
LOCK = ".lock"


@contextmanager
def spool() -> Iterator[Path]:
    """Give a folder under the system's folder for temporary files (TMPDIR), removed afterwards."""
    _sweep(Path(tempfile.gettempdir()))
    folder = Path(tempfile.mkdtemp(prefix=PREFIX))
    try:
        with (folder / f"{LOCK}.new").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            # Only a lock that is held ever has the name that others look for.
            Path(lock.name).rename(folder / LOCK)
            yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _sweep(home: Path) -> None:
    """Remove the folders of processes that are no more; those of other users are left alone."""
    for left in home.glob(f"{PREFIX}*/{LOCK}"):
        try:
            if left.stat().st_uid != os.geteuid():
                continue
            with left.open("r+") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(left.parent, ignore_errors=True)
        except OSError:
            continue  # in use, or gone meanwhile
