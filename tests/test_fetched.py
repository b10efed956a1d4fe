"""Frames into DuckDB and out of it without pyarrow: the same columns as with it."""

from __future__ import annotations

import duckdb
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from pipeline.duck import fetched, hand

VALUES = {
    "decimals": "1.5::DECIMAL(4,1) AS a, 12345.678::DECIMAL(18,3) AS b, 1::DECIMAL(38,0) AS c",
    "wide integers": "(-5)::HUGEINT AS a, 5::UHUGEINT AS b, sum(2) OVER () AS c",
    "integers": "1::TINYINT AS a, 1::UTINYINT AS b, 1::SMALLINT AS c, 1::UINTEGER AS d, 1::UBIGINT AS e",
    "floats": "0.5::FLOAT AS a, 'nan'::DOUBLE AS b, 1.0::DOUBLE AS c, true AS d",
    "moments": "TIMESTAMPTZ '2026-01-02 03:04:05+00' AS a, TIMESTAMP '2026-01-02' AS b, "
    "TIMESTAMP_NS '2026-01-02' AS c, TIMESTAMP_MS '2026-01-02' AS d, DATE '2026-01-02' AS e, "
    "TIME '01:02:03' AS f",
    "enums": "'b'::ENUM('a', 'b') AS a",
    "texts": "'é' AS a, 'x'::BLOB AS b, '{}'::JSON AS c, '00000000-0000-0000-0000-000000000001'::UUID AS d",
    "nested": "[1, NULL] AS a, {'x': 1, 'y': [{'z': 'q'}]} AS b, [1, 2]::INTEGER[2] AS c, MAP {'k': 1} AS d",
    "nothing": "NULL AS a, NULL::VARCHAR AS b, NULL::DOUBLE AS c, NULL::INTEGER[] AS d, "
    "NULL::ENUM('a') AS e",
}
ROWS = {"one": "", "none": " LIMIT 0", "many": " FROM range(5000)"}


@pytest.mark.parametrize("rows", ROWS.values(), ids=ROWS)
@pytest.mark.parametrize("columns", VALUES.values(), ids=VALUES)
def test_rows_are_fetched_as_pyarrow_would(columns: str, rows: str) -> None:
    with duckdb.connect() as con:
        con.execute("SET TimeZone = 'UTC'")
        found = con.sql(f"SELECT {columns}{rows}")
        assert_frame_equal(fetched(found), found.pl())


def test_an_error_in_the_middle_is_that_of_duckdb() -> None:
    with duckdb.connect() as con, pytest.raises(duckdb.Error, match="far enough"):
        fetched(
            con.sql("SELECT if(i < 5000, i, error('far enough')) AS n FROM range(6000) AS t(i)")
        )


def test_a_frame_is_handed_over_as_pyarrow_would() -> None:
    values = pl.DataFrame(
        {
            "key": pl.Series([1, 2**64 - 1, None], dtype=pl.UInt64),
            "text": ["é", None, ""],
            "kind": pl.Series(["a", "b", None], dtype=pl.Enum(["a", "b"])),
            "at": pl.Series([0, 1, None], dtype=pl.Datetime("us", "UTC")),
            "several": [[1, 2], [], None],
            "whole": [{"x": 1.5}, {"x": None}, {"x": 0.0}],
        }
    )
    for frame in (values, values.clear(), pl.concat([values, values], rechunk=False)):
        with duckdb.connect() as con:
            hand(con, "ours", frame)
            con.register("theirs", frame.to_arrow())
            ours, theirs = con.table("ours"), con.table("theirs")
            assert (ours.types, ours.fetchall()) == (theirs.types, theirs.fetchall())
            assert con.sql("SELECT count(*) FROM ours").fetchall() == [(frame.height,)]
