"""Macros over long lists: the way of lists above 128 keys is another, and gives the same."""

from __future__ import annotations

from operator import eq
from typing import TYPE_CHECKING

import duckdb
import numpy as np
import pytest
from oracle.matching import compare, lcs_length

from pipeline.queries import install_macros

if TYPE_CHECKING:
    from collections.abc import Iterator

    from duckdb import DuckDBPyConnection


@pytest.fixture(scope="module")
def con() -> Iterator[DuckDBPyConnection]:
    made = duckdb.connect()
    install_macros(made)
    yield made
    made.close()


def asked(con: DuckDBPyConnection, text: str, **lists: list[str | None] | None) -> list[object]:
    return list(con.execute(f"SELECT {text}", lists).fetchall()[0])


@pytest.mark.parametrize("size", [127, 128, 129, 130, 300])
@pytest.mark.parametrize("keys", [1, 2, 5, 60])
def test_the_longest_common_subsequence_of_random_lists(con, size, keys):
    draw = np.random.default_rng([size, keys])
    lengths = (size, int(draw.integers(size)))
    expected, actual = (draw.integers(keys, size=n).astype(str).tolist() for n in lengths)
    right = lcs_length(compare(expected, actual, eq))
    both = "lcs_length($e::VARCHAR[], $a::VARCHAR[]), lcs_length($a::VARCHAR[], $e::VARCHAR[])"
    assert asked(con, both, e=expected, a=actual) == [right, right]


def test_two_thousand_calls_of_three_tools(con):
    """Every tenth of 0, 1, 2, 0, 1, 2 … is left out: the other 1,800 are a subsequence."""
    expected = [str(i % 3) for i in range(2000)]
    actual = [key for i, key in enumerate(expected) if i % 10]
    found = asked(con, "lcs($e::VARCHAR[], $a::VARCHAR[]), lcs_f1($e::VARCHAR[], $a::VARCHAR[])",
                  e=expected, a=actual)  # fmt: skip
    assert found == [0.9, 3600 / 3800]


def test_many_rows_of_either_kind(con):
    """Rows are short and long in turn, and some null; each takes its own way."""
    con.execute("""
        CREATE OR REPLACE TEMP TABLE runs AS
        SELECT
            i,
            CASE WHEN i % 5 <> 0 THEN list_transform(range(120 + i), lambda x: x % 7) END AS e,
            list_transform(range(100), lambda x: x % 7) AS a
        FROM range(20) AS t(i)""")
    found = con.execute("SELECT lcs_length(e, a) FROM runs ORDER BY i").fetchall()
    assert [length for (length,) in found] == [None if i % 5 == 0 else 100 for i in range(20)]


def test_what_is_not_known_stays_unknown(con):
    long: list[str | None] = ["a"] * 200
    assert asked(con, "lcs_length($e::VARCHAR[], $a::VARCHAR[])", e=long, a=None) == [None]
    assert asked(con, "lcs_length($e::VARCHAR[], $a::VARCHAR[])", e=[*long, None], a=long) == [None]
    assert asked(con, "lcs_length($e::VARCHAR[], $a::VARCHAR[])", e=long, a=[]) == [0]
    assert asked(con, "lcs_length($e::VARCHAR[], $a::VARCHAR[])", e=[], a=long) == [0]
