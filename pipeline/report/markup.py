"""HTML in small pieces. Every text that comes from a lake is redacted and escaped here."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple

from pipeline.redact import redact
from pipeline.text import NULL, cell, short

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import polars as pl

LONGEST = 200
_MARGIN = 4


class Column(NamedTuple):
    """One column of a table: its head, and its cells as HTML."""

    head: str
    cells: list[str]
    number: bool = False
    help: str = ""
    """What the head means, shown where a pointer rests on it."""


def text(value: Any, longest: int = LONGEST) -> str:
    """Return a value as HTML: secrets masked, then cut, nothing in it that acts.

    >>> text("</script> sk-0123456789abcdef")
    '&lt;/script&gt; [redacted]'
    >>> text(2 / 3)
    '0.6667'
    """
    shown = cell(redact(value) if isinstance(value, str) else value)
    return escape(shown if len(shown) <= longest else shown[: longest - 1] + "…")


def columns(rows: pl.DataFrame, names: Iterable[str] | None = None) -> list[Column]:
    """Return the columns of a frame, all or those named."""
    chosen = rows.columns if names is None else list(names)
    return [
        Column(_head(name), [text(value) for value in rows[name]], rows[name].dtype.is_numeric())
        for name in chosen
    ]


def table(parts: Sequence[Column], label: str) -> str:
    """Return a table in a box of its own that scrolls where the page is too narrow."""
    head = "".join(_cell("th", part, part.head, " scope=col" + _help(part)) for part in parts)
    body = "".join(
        f"<tr>{''.join(_cell('td', part, html) for part, html in zip(parts, row, strict=True))}</tr>\n"
        for row in zip(*(part.cells for part in parts), strict=True)
    )
    return (
        f'<div class="wide" role="region" aria-label="{escape(label)}" tabindex="0">\n<table>\n'
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody>\n</table>\n</div>\n"
    )


def section(title: str, *parts: str) -> str:
    """Return a section of the page; `parts` are HTML."""
    return f"<section>\n<h2>{escape(title)}</h2>\n{''.join(parts)}</section>\n"


def note(sentence: str) -> str:
    """Return a small paragraph."""
    return f'<p class="note">{text(sentence, 2000)}</p>\n'


def facts(pairs: Iterable[tuple[str, Any]]) -> str:
    """Return pairs of title and value as a list."""
    items = "".join(
        f"<div><dt>{escape(title)}</dt><dd>{text(value)}</dd></div>\n" for title, value in pairs
    )
    return f"<dl>\n{items}</dl>\n"


def span(low: float | None, high: float | None) -> str:
    """Return an interval as HTML."""
    if low is None or high is None:
        return NULL
    return f"{short(low)} to {short(high)}"


def chart(mean: float | None, low: float | None, high: float | None) -> str:
    """Return a small picture of a mean between 0 and 1 and its interval."""
    if mean is None:
        return ""
    line = (
        ""
        if low is None or high is None
        else f'<line x1="{_x(low)}" x2="{_x(high)}" y1="6" y2="6"/>'
    )
    return (
        f'<svg viewBox="0 0 {100 + 2 * _MARGIN} 12" aria-hidden="true">'
        f'<path d="M{_MARGIN} 6H{100 + _MARGIN}"/>{line}<circle cx="{_x(mean)}" cy="6" r="3"/></svg>'
    )


def page(title: str, body: str) -> str:
    """Return a whole page that needs nothing else."""
    shown = text(title)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{shown}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n"
        f"<h1>{shown}</h1>\n{body}</main>\n</body>\n</html>\n"
    )


def _head(name: str) -> str:
    """Return a column's name as HTML that may break after underscores."""
    return text(name).replace("_", "_<wbr>")


def _cell(tag: str, part: Column, html: str, more: str = "") -> str:
    kind = ' class="n"' if part.number else ""
    return f"<{tag}{kind}{more}>{html}</{tag}>"


def _help(part: Column) -> str:
    return f' title="{escape(part.help)}"' if part.help else ""


def _x(share: float) -> str:
    return f"{_MARGIN + 100 * min(max(share, 0.0), 1.0):.1f}"


STYLE = """\
:root { color-scheme: light dark; --back: #fff; --ink: #1b1f24; --soft: #59636e; --line: #d1d9e0;
  --mark: #0969da; --box: #f6f8fa; }
@media (prefers-color-scheme: dark) { :root { --back: #0d1117; --ink: #e6edf3; --soft: #9198a1;
  --line: #3d444d; --mark: #58a6ff; --box: #151b23; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--back); color: var(--ink); font: 15px/1.5 system-ui, sans-serif;
  overflow-wrap: anywhere; }
main { max-width: 76rem; margin: 0 auto; padding: 1rem; }
h1 { font-size: 1.6em; line-height: 1.2; margin: 1rem 0; }
h2 { font-size: 1.2em; margin: 2rem 0 .5rem; break-after: avoid; }
dl { display: flex; flex-wrap: wrap; gap: .5rem 2rem; margin: 0 0 1rem; }
dt, .note, small { color: var(--soft); font-size: .85em; }
dd { margin: 0; }
.note { margin: .3rem 0; }
small { display: block; font-weight: 400; }
.wide { overflow-x: auto; border: 1px solid var(--line); border-radius: 6px; margin: .5rem 0 1rem; }
table { border-collapse: collapse; width: 100%; overflow-wrap: break-word; font-size: .9em; }
th, td { padding: .35rem .6rem; border-bottom: 1px solid var(--line); text-align: left;
  vertical-align: top; }
td { max-width: 24rem; }
td:first-child { min-width: 10rem; }
th { background: var(--box); font-weight: 600; white-space: nowrap; }
tbody tr:last-child td { border-bottom: 0; }
.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
svg { width: 7rem; height: .8rem; vertical-align: middle; }
path, line { stroke: var(--line); stroke-width: 1; fill: none; }
line { stroke: var(--mark); stroke-width: 3; }
circle { fill: var(--mark); }
@media (min-width: 60rem) { td:first-child { min-width: 16rem; } }
@media print { :root { color-scheme: light; --back: #fff; --ink: #000; --soft: #444; --line: #bbb;
  --mark: #000; --box: #eee; }
  body { font-size: 9pt; } main { max-width: none; padding: 0; } .wide { overflow: visible; border: 0; }
  table { font-size: 7pt; } th, td { padding: .15rem .25rem; white-space: normal; }
  td:first-child { min-width: 3cm; } tr { break-inside: avoid; } svg { width: 3.5rem; } }
"""
