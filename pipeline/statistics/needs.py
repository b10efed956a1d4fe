"""Whether the extra `stats` is installed, and the numbers that are known without it."""

from __future__ import annotations

from importlib.util import find_spec

from pipeline.errors import InputError

PACKAGES = ("numpy", "scipy")
RESAMPLES = 2000
"""How many times the bootstrap draws unless told."""
MOST_RESAMPLES = 1_000_000
"""What it draws at most: all draws of a metric are in memory at a time."""


def require_statistics(what: str, *more: str) -> None:
    """Refuse to go on without NumPy and SciPy, and `more` of the extra's packages.

    Raises:
        InputError: one of them is not installed; the sentence says how to install it.
    """
    missing = [name for name in (*PACKAGES, *more) if find_spec(name) is None]
    if missing:
        raise InputError(
            f"{what} needs {' and '.join(missing)}, not installed here: "
            "`pip install 'trajtab[stats]'`"
        )
