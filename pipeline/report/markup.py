"""HTML in small pieces. Every text that comes from a lake is redacted and escaped here."""

from __future__ import annotations

import re
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING, Any, NamedTuple

from pipeline.redact import redact
from pipeline.text import NULL, RIGHT_TO_LEFT, VERDICTS, cell, judged, short, visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import polars as pl

LONGEST = 200
FACT = 1000
BRIEF = 20
LONG = ' class="long"'
_MARGIN = 4
_BREAKS = re.compile("\r\n|[\r\n]")
_GOOD, _BAD = ("better", "pass"), ("worse", "fail")


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
    return safe(plain(value, longest))


def safe(told: str) -> str:
    """Return a text as HTML in which nothing acts, nor words from right to left on what is beside.

    >>> safe("<b>"), safe("\u05d0\u05d1 3")
    ('&lt;b&gt;', '<bdi>\u05d0\u05d1</bdi> 3')
    """
    return RIGHT_TO_LEFT.sub(lambda words: f"<bdi>{words[0]}</bdi>", escape(told))


def plain(value: Any, longest: int = LONGEST) -> str:
    """Return a value as text for people: secrets masked, then cut."""
    shown = cell(redact(value) if isinstance(value, str) else value)
    return shown if len(shown) <= longest else shown[: longest - 1] + "…"


def prose(value: str, longest: int = LONGEST) -> str:
    r"""Return a text of several lines as HTML, its line breaks kept: secrets masked, then cut.

    >>> prose("one\r\ntwo\x1b")
    'one\ntwo\\x1b'
    """
    shown = redact(value)
    cut = shown if len(shown) <= longest else shown[: longest - 1] + "…"
    return "\n".join(safe(visible(line)) for line in _BREAKS.split(cut))


def group_name(by: Sequence[str], values: Sequence[object]) -> str:
    """Name a group by its values: redacted, safe as text, not yet as HTML.

    >>> group_name(["agent", "model"], ["desk", None])
    'desk, no model'
    """
    return ", ".join(
        f"no {column}" if value is None else plain(value, 60)
        for column, value in zip(by, values, strict=True)
    )


def verdict(word: str | None) -> str:
    """Return a verdict as HTML, with a sign that is there without colour too.

    >>> verdict("worse")
    '<span class="sign bad">✗ worse</span>'
    """
    if word not in VERDICTS:
        return text(word)
    kind = " good" if word in _GOOD else " bad" if word in _BAD else ""
    return f'<span class="sign{kind}">{escape(judged(word))}</span>'


def columns(rows: pl.DataFrame, names: Iterable[str] | None = None) -> list[Column]:
    """Return the columns of a frame, all or those named."""
    chosen = rows.columns if names is None else list(names)
    return [
        Column(head(name), [text(value) for value in rows[name]], rows[name].dtype.is_numeric())
        for name in chosen
    ]


def table(parts: Sequence[Column], label: str) -> str:
    """Return a table in a box of its own that scrolls where the page is too narrow."""
    top = "".join(_cell("th", part, part.head, " scope=col" + _help(part)) for part in parts)
    body = "".join(
        f"<tr>{''.join(_cell('td', part, html) for part, html in zip(parts, row, strict=True))}</tr>\n"
        for row in zip(*(part.cells for part in parts), strict=True)
    )
    return (
        f'<div class="wide" role="region" aria-label="{escape(label)}" tabindex="0">\n<table>\n'
        f"<thead><tr>{top}</tr></thead>\n<tbody>\n{body}</tbody>\n</table>\n</div>\n"
    )


def section(title: str, *parts: str, name: str = "") -> str:
    """Return a section of the page; `parts` are HTML, `name` is what links go to."""
    anchor = f' id="{name}"' if name else ""
    return f"<section{anchor}>\n<h2>{escape(title)}</h2>\n{''.join(parts)}</section>\n"


def note(sentence: str) -> str:
    """Return a small paragraph."""
    return f'<p class="note">{text(sentence, 2000)}</p>\n'


def folded(summary: str, *parts: str, name: str = "") -> str:
    """Return parts that can be folded away, and are open; all of it is HTML."""
    anchor = f' id="{name}"' if name else ""
    return f"<details open{anchor}>\n<summary>{summary}</summary>\n{''.join(parts)}</details>\n"


def facts(pairs: Iterable[tuple[str, Any]]) -> str:
    """Return pairs of title and value as a list: short ones side by side, then long ones, a line each."""
    shown = [(len(plain(value, FACT)) > BRIEF, title, text(value, FACT)) for title, value in pairs]
    items = "".join(
        f"<div{LONG if long else ''}><dt>{escape(title)}</dt><dd>{value}</dd></div>\n"
        for long, title, value in sorted(shown, key=lambda fact: fact[0])
    )
    return f'<dl class="facts">\n{items}</dl>\n'


def figure(title: str, told: str, svg: str, *, of: str = "", broad: bool = False) -> str:
    """Return a chart with its title.

    Args:
        title: as it stands over the chart.
        told: what it shows, in words.
        svg: the chart.
        of: what it is about, for those who hear the title alone.
        broad: does it need the whole width?
    """
    label = escape(f"{of}: {title}. {told}" if of else f"{title}. {told}")
    drawing = svg.replace("<svg ", f'<svg role="img" aria-label="{label}" ', 1)
    kind = ' class="broad"' if broad else ""
    caption = f"<figcaption><b>{safe(title)}</b><br>{safe(told)}</figcaption>"
    return f"<figure{kind}>{caption}{drawing}</figure>\n"


def figures(parts: Iterable[str], *, few: bool = False) -> str:
    """Lay figures out side by side, as many as fit."""
    return f'<div class="figures{" few" if few else ""}">\n{"".join(parts)}</div>\n'


def span(low: float | None, high: float | None) -> str:
    """Return an interval as HTML."""
    if low is None or high is None:
        return NULL
    return f"{short(low)} to {short(high)}"


def chart(mean: float | None, low: float | None, high: float | None) -> str:
    """Return a small picture of a mean between 0 and 1 and its interval; it says nothing new."""
    if mean is None:
        return ""
    line = (
        ""
        if low is None or high is None
        else f'<line x1="{_x(low)}" x2="{_x(high)}" y1="6" y2="6"/>'
    )
    return (
        f'<svg class="mean" viewBox="0 0 {100 + 2 * _MARGIN} 12" aria-hidden="true">'
        f'<path d="M{_MARGIN} 6H{100 + _MARGIN}"/>{line}<circle cx="{_x(mean)}" cy="6" r="3"/></svg>'
    )


def page(title: str, body: str) -> str:
    """Return a whole page that needs nothing else."""
    shown = text(title)
    style = (files("pipeline.report") / "page.css").read_text(encoding="utf-8")
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{shown}</title>\n<style>\n{style}</style>\n</head>\n<body>\n<main>\n"
        f"<h1>{shown}</h1>\n{body}</main>\n</body>\n</html>\n"
    )


def head(name: str) -> str:
    """Return a column's name as HTML that may break after underscores."""
    return text(name).replace("_", "_<wbr>")


def _cell(tag: str, part: Column, html: str, more: str = "") -> str:
    kind = ' class="n"' if part.number else ""
    return f"<{tag}{kind}{more}>{html}</{tag}>"


def _help(part: Column) -> str:
    return f' title="{escape(part.help)}"' if part.help else ""


def _x(share: float) -> str:
    return f"{_MARGIN + 100 * min(max(share, 0.0), 1.0):.1f}"
