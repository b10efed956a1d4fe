"""What all tests share: Hypothesis profiles, real log files, and lakes made on the spot."""

from __future__ import annotations

import json
import os
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
