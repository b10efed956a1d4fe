"""The files of SQL: every metric is a macro, files are found and say what they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pipeline import queries
from pipeline.errors import TrajtabError, UnknownNameError
from pipeline.metrics.registry import metrics

if TYPE_CHECKING:
    from pathlib import Path

    from duckdb import DuckDBPyConnection


def test_every_reference_metric_is_a_macro(con: DuckDBPyConnection) -> None:
    """One metric, one name: the registry's and the macro's."""
    found = con.sql("SELECT function_name FROM duckdb_functions() WHERE function_type = 'macro'")
    macros = {name for (name,) in found.fetchall()}
    wanted = {
        name
        for name, metric in metrics().items()
        if metric.family in ("ordered", "overlap") and not name.endswith("_turns")
    }  # a mean over turns is no function of two lists
    assert wanted - macros == set()


def test_files_are_read_by_name() -> None:
    assert queries.names("metrics") == sorted(queries.names("metrics"))
    assert "metrics/overlap" in queries.names("metrics")
    assert queries.names("no such folder") == []
    assert "CREATE OR REPLACE MACRO tp(" in queries.read("metrics/overlap")


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a package that is installed elsewhere, without SQL files yet."""
    package = tmp_path / "pipeline"
    package.mkdir()
    monkeypatch.setattr(queries, "files", lambda _: package)
    return package


def test_the_files_of_the_wheel_win_over_those_of_the_checkout(installed: Path) -> None:
    checkout = installed.parent
    (checkout / "pyproject.toml").touch()
    for folder, text in ((checkout / "sql", "SELECT 1"), (installed / "sql", "SELECT 2")):
        folder.mkdir()
        (folder / "one.sql").write_text(text)
        assert queries.read("one") == text
    assert queries.names("") == ["one"]


def test_missing_files_are_an_error_that_says_where(installed: Path) -> None:
    (installed.parent / "sql").mkdir()  # without a pyproject.toml it is not ours
    with pytest.raises(TrajtabError, match=r"the SQL files are missing: neither .*pipeline.*sql"):
        queries.names("metrics")


def test_an_unknown_query_is_refused_with_the_nearest() -> None:
    with pytest.raises(
        UnknownNameError, match="unknown query 'metrics/orderd'; did you mean 'metrics/ordered'"
    ):
        queries.read("metrics/orderd")


@pytest.mark.parametrize("name", queries.names("metrics"))
def test_every_file_says_what_it_is(name: str) -> None:
    """Purpose in the first line, then parameters, null rules and formulas, before any code."""
    header = queries.read(name).split("CREATE OR REPLACE")[0]
    assert header.startswith("-- ")
    assert [
        word for word in ("Parameters", "Nulls", "Empty", "Formulas") if word not in header
    ] == []


def test_macros_can_be_installed_again(con: DuckDBPyConnection) -> None:
    queries.install_macros(con)
    assert con.sql("SELECT tp(['a'], ['a'])").fetchall() == [(1,)]
