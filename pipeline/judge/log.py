"""The file of responses: one whole line per answer, only ever appended to.

A line is written by one call and is on the disk before the next request of its sender goes out, so
that a kill loses no answer that was received, and what the file holds is never asked again.
"""

from __future__ import annotations

import fcntl
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipeline.errors import InputError
from pipeline.judge.answers import OK, decoded, is_answer

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self


class ResponseLog:
    """A file of responses, open for one writer."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.answered: dict[str, dict[str, Any]] = {}
        """By request the body's usage: what the file held when it was opened."""
        self.damaged = 0
        """Lines that are no response: a line cut by a kill is one."""

    def __enter__(self) -> Self:
        """Open the file and read what it holds.

        Raises:
            InputError: it cannot be written, or another run writes to it.
        """
        try:
            self._file = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
        except OSError as error:
            raise InputError(f"{self.path}: cannot write: {error.strerror}") from error
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(self._file)
            raise InputError(
                f"{self.path}: another run writes to it; wait, or name another file"
            ) from error
        self._read()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the file, and let go of it, in children forked meanwhile too."""
        fcntl.flock(self._file, fcntl.LOCK_UN)
        os.close(self._file)

    def append(self, custom_id: str, status: int, request_id: str | None, body: Any) -> None:
        """Write one response and make sure it is on the disk.

        Raises:
            InputError: it cannot be written, as on a full disk.
        """
        told = {
            "id": f"run-{custom_id}",
            "custom_id": custom_id,
            "response": {"status_code": status, "request_id": request_id, "body": body},
            "error": None,
        }
        line = json.dumps(told, ensure_ascii=True).encode() + b"\n"
        try:
            written = os.write(self._file, line)
            while written < len(line):  # what a full disk cuts off here is damaged, and no answer
                written += os.write(self._file, line[written:])
            os.fsync(self._file)
        except OSError as error:
            raise InputError(f"{self.path}: cannot write: {error.strerror}") from error

    def _read(self) -> None:
        last = b"\n"
        with self.path.open("rb") as file:
            for line in file:
                last = line
                self._note(line)
        if not last.endswith(b"\n"):
            os.write(self._file, b"\n")

    def _note(self, line: bytes) -> None:
        if not line.strip():
            return
        told = decoded(line)
        custom = told.get("custom_id") if isinstance(told, dict) else None
        if not isinstance(custom, str):
            self.damaged += 1
            return
        response = told.get("response")
        if not isinstance(response, dict) or response.get("status_code") not in OK:
            return
        body = response.get("body")
        if is_answer(body):
            self.answered[custom] = {"usage": body.get("usage")}
