"""A result as bytes, one function per format; numbers in full wherever a program will read them."""

from __future__ import annotations

import re
from io import BytesIO
from typing import TYPE_CHECKING

import msgspec
import polars as pl

from pipeline.cli.directions import directed
from pipeline.cli.junit import to_xml
from pipeline.cli.page import to_html
from pipeline.cli.table import shown
from pipeline.text import visible

if TYPE_CHECKING:
    from pipeline.tables.result import Result

_JSON = msgspec.json.Encoder(decimal_format="number")
_EDGE = re.compile(r"(?<!\w)_+|_+(?!\w)")
"""Underscores at the edge of a word: those inside, as of metrics, mean nothing."""
_MARKDOWN = str.maketrans({sign: f"\\{sign}" for sign in "\\`*|[]~"} | {"<": "&lt;", "&": "&amp;"})


def encode(result: Result, form: str) -> bytes:
    """Return a result in one of the formats that do not depend on a terminal."""
    return _ENCODERS[form](result)


def to_jsonl(result: Result) -> bytes:
    """Return one JSON object per row, and nothing else; NaN is null, moments are ISO text."""
    return _lines(result.rows)


def _lines(frame: pl.DataFrame) -> bytes:
    rows = plain(frame)
    if not rows.width:
        return b""
    if all(map(is_simple, rows.dtypes)):
        return rows.write_ndjson().encode()
    return b"".join(_JSON.encode(row) + b"\n" for row in rows.to_dicts())


def to_json(result: Result) -> bytes:
    """Return one object with kind, rows and notes; tables, facts and better where a kind has them."""
    kind, notes = _JSON.encode(result.kind), _JSON.encode(result.notes)
    more = b""
    if result.tables:
        named = (b"%b: %b" % (_JSON.encode(n), _list(t)) for n, t in result.tables.items())
        more += b', "tables": {%b}' % b", ".join(named)
    if result.facts:
        more += b', "facts": %b' % _JSON.encode(dict(result.facts))
    if result.better:
        more += b', "better": %b' % _JSON.encode(dict(result.better))
    return b'{"kind": %b, "rows": %b, "notes": %b%b}\n' % (kind, _list(result.rows), notes, more)


def _list(frame: pl.DataFrame) -> bytes:
    rows = _lines(frame).removesuffix(b"\n").replace(b"\n", b",\n")
    return b"[\n%b\n]" % rows if rows else b"[]"


def to_csv(result: Result) -> bytes:
    """Return CSV with a header; null is empty, empty text is `""`, nested values are JSON."""
    rows = plain(result.rows)
    if not rows.width:
        return b""
    texts = [_as_text(rows[name]) for name in rows.columns if not is_simple(rows[name].dtype)]
    return rows.with_columns(texts).write_csv().encode()


def plain(rows: pl.DataFrame) -> pl.DataFrame:
    """Return rows with NaN null and moments as ISO text in UTC."""
    return rows.select(
        pl.col(name).fill_nan(None)
        if dtype.is_float()
        else pl.col(name).dt.convert_time_zone("UTC").dt.strftime("%Y-%m-%dT%H:%M:%S%.fZ")
        if isinstance(dtype, pl.Datetime) and dtype.time_zone
        else pl.col(name)
        for name, dtype in rows.schema.items()
    )


def is_simple(dtype: pl.DataType) -> bool:
    """Tell whether Polars itself writes a column as JSON and CSV the way we want it."""
    wide = dtype in (pl.Int128, pl.UInt128)
    known = dtype in (pl.Boolean, pl.String, pl.Null) or isinstance(dtype, pl.Enum)
    return known or dtype.is_float() or (dtype.is_integer() and not wide)


def _as_text(column: pl.Series) -> pl.Series:
    texts = [None if value is None else _JSON.encode(value).decode() for value in column.to_list()]
    return pl.Series(column.name, [text and text.strip('"') for text in texts], dtype=pl.String)


def to_md(result: Result) -> bytes:
    """Return a Markdown table: short numbers, right-aligned, nothing in a cell that acts.

    Further tables follow under a heading each, if they have rows.
    """
    result = directed(result)
    parts = [_table(result.rows)]
    for name, table in result.tables.items():
        if table.height:
            parts.append(f"\n### {marked(name)}\n\n{_table(table)}")
    return "".join(parts).encode()


def _table(rows: pl.DataFrame) -> str:
    heads = [marked(name) for name in rows.columns]
    rules = ["---:" if dtype.is_numeric() else "---" for dtype in rows.dtypes]
    cells = [map(marked, shown(rows[name]).cells) for name in rows.columns]
    lines = [heads, rules, *zip(*cells, strict=True)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def marked(text: str) -> str:
    r"""Escape what Markdown, or the HTML in it, would act on.

    >>> marked("a|b </script>")
    'a\\|b &lt;/script>'
    >>> print(marked("n_calls __init__"))
    n_calls \_\_init\_\_
    """
    plain = visible(text).translate(_MARKDOWN)
    return _EDGE.sub(lambda edge: edge.group().replace("_", "\\_"), plain)


def to_parquet(result: Result) -> bytes:
    """Return a Parquet file."""
    buffer = BytesIO()
    result.rows.write_parquet(buffer, compression="zstd")
    return buffer.getvalue()


_ENCODERS = {
    "json": to_json,
    "jsonl": to_jsonl,
    "csv": to_csv,
    "md": to_md,
    "parquet": to_parquet,
    "html": to_html,
    "xml": to_xml,
}
