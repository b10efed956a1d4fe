"""What the system says of a process, for tests that wait for what it does and not for a time."""

from __future__ import annotations

from pathlib import Path
from time import sleep

import pytest

needs_account = pytest.mark.skipif(
    not Path("/proc/self/stat").exists(), reason="no account of processes"
)
TICK = 0.01
"""A tick of the account; seconds."""


def work(process, seconds):
    """Wait until a process has worked so many seconds more, by its account; or has ended."""
    enough = _worked(process) + seconds
    while process.poll() is None and _worked(process) < enough:
        sleep(0.02)


def rest(process):
    """Wait until a process waits for something; or has ended."""
    while process.poll() is None and _account(process)[0] != "S":
        sleep(0.01)


def _worked(process):
    return sum(map(int, _account(process)[11:13])) * TICK


def _account(process):
    """Return the state, then the other fields that follow the name of the program."""
    return Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
