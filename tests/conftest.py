"""What all tests share: Hypothesis profiles, real log files, and lakes made on the spot."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).resolve().parent.parent
REAL = ROOT.parent / "shared"

settings.register_profile(
    "ci", max_examples=60, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck)
)
settings.register_profile(
    "dev", max_examples=60, deadline=None, suppress_health_check=list(HealthCheck)
)
settings.register_profile(
    "soak", max_examples=2000, deadline=None, suppress_health_check=list(HealthCheck)
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci" if os.environ.get("CI") else "dev"))

MEMORY = Path("/dev/shm")  # noqa: S108 - made for this
ENOUGH = 3 * 2**30
"""Bytes that must be free there; all tests together leave less than one third."""


def _folder_in_memory() -> Path | None:
    """Make a folder in memory for what tests write, a lake waits for a disk a dozen times.

    None where a folder is named (TMPDIR), where memory is short, as in many a container, or where
    no program may lie: some tests write one.
    """
    if "TMPDIR" in os.environ or not (MEMORY.is_dir() and os.access(MEMORY, os.W_OK)):
        return None
    if os.statvfs(MEMORY).f_flag & os.ST_NOEXEC or shutil.disk_usage(MEMORY).free < ENOUGH:
        return None
    return Path(tempfile.mkdtemp(prefix="trajtab-tests-", dir=MEMORY))


IN_MEMORY = _folder_in_memory()
if IN_MEMORY:
    os.environ["TMPDIR"] = tempfile.tempdir = str(IN_MEMORY)


def pytest_unconfigure() -> None:
    """Give the memory back."""
    if IN_MEMORY:
        shutil.rmtree(IN_MEMORY, ignore_errors=True)


def _real(relative: str) -> Path:
    path = REAL / relative
    if not path.exists():
        pytest.skip(f"real log files are not here: {relative} beside the checkout is absent")
    return path


@pytest.fixture(scope="session")
def real_data() -> Callable[[str], Path]:
    """Return the path of a real log file; skips the test where the files are absent."""
    return lambda relative: _real(f"data/{relative}")


@pytest.fixture(scope="session")
def real_cases() -> Callable[[str], Path]:
    """Return the path of a file of cases from bug reports; skips where absent."""
    return lambda relative: _real(f"cases/{relative}")


@pytest.fixture(scope="session")
def expected_figures() -> dict[str, Any]:
    """Return the independent figures of the real files, by relative path."""
    figures: dict[str, Any] = json.loads(_real("data/expected.json").read_text())
    return figures
