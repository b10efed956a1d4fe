"""The public surface: small, sorted, importable, and light until used."""

from __future__ import annotations

import subprocess
import sys

import pytest

import pipeline


def test_all_is_sorted_and_everything_in_it_exists() -> None:
    assert pipeline.__all__ == sorted(pipeline.__all__)
    for name in pipeline.__all__:
        assert getattr(pipeline, name) is not None


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = pipeline.nothing


def test_importing_the_package_loads_no_engine() -> None:
    program = "import pipeline, sys; print({'polars', 'duckdb', 'pyarrow'} & set(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    )
    assert done.stdout.strip() == "set()"
