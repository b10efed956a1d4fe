"""Where the figures are from: the machine, and the versions that made them."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

PACKAGES = ("trajtab", "polars", "duckdb", "pyarrow", "msgspec")


def machine() -> dict[str, Any]:
    """Return the processor, memory, system, and the versions of what matters here."""
    page = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "processor": _processor(),
        "cpus": os.cpu_count(),
        "memory_gib": round(page / 2**30, 1),
        "load": os.getloadavg()[0],
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "versions": {name: found for name in PACKAGES if (found := installed(name))},
    }


def installed(package: str) -> str | None:
    """Return a package's version; None where it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _processor() -> str:
    told = Path("/proc/cpuinfo")
    lines = told.read_text(encoding="utf-8").splitlines() if told.exists() else []
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.machine())
