"""A result as one small HTML page that needs nothing else."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from pipeline.cli.directions import directed
from pipeline.text import cell, visible

if TYPE_CHECKING:
    import polars as pl

    from pipeline.tables.result import Result

_STYLE = (
    "body{font:14px system-ui,sans-serif;margin:2em}table{border-collapse:collapse}"
    "th,td{padding:.3em .7em;border-bottom:1px solid #ccc;text-align:left;vertical-align:top}"
    ".n{text-align:right;font-variant-numeric:tabular-nums}"
)


def to_html(result: Result) -> bytes:
    """Return the page: the notes, the table, and further tables that have rows."""
    result = directed(result)
    title = escape(visible(f"trajtab {result.kind}"))
    notes = "".join(f"<p>{_escaped(note)}</p>\n" for note in result.notes)
    more = "".join(
        f"<h2>{_escaped(name)}</h2>\n{_table(table)}"
        for name, table in result.tables.items()
        if table.height
    )
    return (
        f'<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n<title>{title}</title>\n'
        f"<style>{_STYLE}</style>\n<h1>{title}</h1>\n{notes}{_table(result.rows)}{more}</html>\n"
    ).encode()


def _table(rows: pl.DataFrame) -> str:
    kinds = [' class="n"' if dtype.is_numeric() else "" for dtype in rows.dtypes]
    head = _row("th", kinds, rows.columns)
    cells = [[cell(value) for value in rows[name].to_list()] for name in rows.columns]
    body = "".join(_row("td", kinds, line) for line in zip(*cells, strict=True))
    return f"<table>\n<thead>\n{head}</thead>\n<tbody>\n{body}</tbody>\n</table>\n"


def _row(tag: str, kinds: list[str], texts: list[str] | tuple[str, ...]) -> str:
    cells = (f"<{tag}{k}>{_escaped(t)}</{tag}>" for k, t in zip(kinds, texts, strict=True))
    return f"<tr>{''.join(cells)}</tr>\n"


def _escaped(text: str) -> str:
    return escape(visible(text))
