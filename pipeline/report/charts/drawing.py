"""Charts as SVG that stands in the page: no script, no ids, no fonts, the page's own colours.

altair describes a chart, vl-convert draws it when the page is made. Both are the extra `report`;
without it `available()` is false, and the page has tables instead.
"""

from __future__ import annotations

import re
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, TypeAlias
from xml.etree import ElementTree as ET

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Point: TypeAlias = dict[str, Any]
Spec: TypeAlias = dict[str, Any]

PACKAGES = ("altair", "vl_convert")
HINT = "charts need the extra `report` (pip install 'trajtab[report]'); here are their figures"

_KEPT = frozenset({
    "d", "cx", "cy", "r", "x", "y", "x1", "x2", "y1", "y2", "width", "height", "transform",
    "fill", "fill-opacity", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray",
    "opacity", "text-anchor", "font-size", "font-weight", "display",
})  # fmt: skip
_LONG = re.compile(r"-?\d+\.\d{3,}(?:e-?\d+)?")
_NEEDLESS = {("opacity", "1"), ("stroke-width", "1"), ("transform", "translate(0,0)")}

APART = 12
"""Pixels between labels below an axis: the reader's font may be wider than the one measured here."""

LARGE, HUGE = 1e5, 1e9


def number_format(largest: float, otherwise: str) -> str:
    """Return how the numbers on an axis are written, so that they leave room for each other.

    Written out below 100,000, then as 100k and 2M, and from a thousand millions on as 2e+9: the
    letters that follow (G, T, P, E) are no longer common knowledge.

    >>> [number_format(largest, ",d") for largest in (99_999, 2e6, 4e18)]
    [',d', '~s', '.3~e']
    """
    return ".3~e" if largest >= HUGE else "~s" if largest >= LARGE else otherwise


CONFIG: dict[str, Any] = {
    "background": "transparent",
    "view": {"stroke": None},
    "axis": {
        "labelColor": "currentColor", "titleColor": "currentColor", "labelFontSize": 11,
        "titleFontSize": 11, "titleFontWeight": "normal", "domainColor": "var(--soft)",
        "tickColor": "var(--soft)", "gridColor": "var(--line)", "tickSize": 4, "labelPadding": 3,
        "titlePadding": 6,
    },
    "legend": {
        "labelColor": "currentColor", "titleColor": "currentColor", "labelFontSize": 11,
        "labelLimit": 280, "symbolType": "stroke", "orient": "top", "direction": "vertical", "title": None,
        "symbolStrokeWidth": 2, "symbolSize": 200, "rowPadding": 1, "offset": 6,
    },
    "text": {"color": "currentColor", "fontSize": 11},
}  # fmt: skip
"""Colours are names of the page's style, so that a chart is light or dark as the page is."""


def available() -> bool:
    """Tell whether charts can be drawn here."""
    return all(find_spec(name) is not None for name in PACKAGES)


def template(chart: Any) -> Spec:
    """Return what an altair chart says, to be filled again and again.

    Its data have names; where figures go there is a word that begins with "$".
    """
    spec: Spec = chart.configure(**CONFIG).to_dict()
    return spec


def drawn(
    spec: Spec, data: Mapping[str, Sequence[Point]], words: Mapping[str, Any], size: tuple[int, int]
) -> str:
    """Draw a template as SVG of so many pixels; it grows and shrinks with the page.

    Args:
        spec: from `template`.
        data: the figures, by the name of the data.
        words: what stands for each "$word"; a list for a list that holds the word alone.
        size: width and height.
    """
    import vl_convert  # noqa: PLC0415 - an extra, slow to load

    width, height = size
    whole = {
        **filled(spec, {f"${word}": value for word, value in words.items()}),
        "datasets": {name: list(points) for name, points in data.items()},
        "width": width,
        "height": height,
        "autosize": {"type": "fit", "contains": "padding"},
    }
    # Two steps: a third faster than one, in vl-convert 1.9.
    vega = vl_convert.vegalite_to_vega(whole)
    return plain(vl_convert.vega_to_svg(vega, allowed_base_urls=[]), width, height)


def filled(part: Any, words: Mapping[str, Any]) -> Any:
    """Return a part of a template with its words replaced.

    >>> filled({"title": "$title", "values": ["$ticks"]}, {"$title": "f1", "$ticks": [0, 1]})
    {'title': 'f1', 'values': [0, 1]}
    """
    if isinstance(part, dict):
        return {name: filled(value, words) for name, value in part.items()}
    if isinstance(part, list):
        if len(part) == 1 and isinstance(part[0], str) and isinstance(words.get(part[0]), list):
            return words[part[0]]
        return [filled(value, words) for value in part]
    return words.get(part, part) if isinstance(part, str) else part


def plain(svg: str, width: int, height: int) -> str:
    """Return the SVG with nothing in it but marks and their looks.

    >>> svg = '<svg xmlns="http://www.w3.org/2000/svg" id="a"><g role="img"><path fill="red" d="M0,0.12345"/></g></svg>'
    >>> plain(svg, 20, 10)
    '<svg viewBox="0 0 20 10"><path fill="red" d="M0,0.1" /></svg>'
    """
    root = ET.fromstring(svg)  # noqa: S314 - what vl-convert wrote
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
        element.attrib = {
            name: _LONG.sub(_rounded, value)
            for name, value in element.attrib.items()
            if name in _KEPT and (name, value) not in _NEEDLESS
        }
    root.attrib = {"viewBox": f"0 0 {width} {height}"}
    _thin(root)
    return ET.tostring(root, encoding="unicode")


def _rounded(found: re.Match[str]) -> str:
    return f"{float(found[0]):.1f}".removesuffix(".0")


def _thin(element: ET.Element) -> None:
    """Drop what shows nothing, and groups that say nothing."""
    kept: list[ET.Element] = []
    for child in element:
        _thin(child)
        if child.tag == "g" and not child.attrib:
            kept += child
        elif not _invisible(child):
            kept.append(child)
    element[:] = kept


def _invisible(element: ET.Element) -> bool:
    if element.get("display") == "none":
        return True
    if element.tag == "g":
        return not len(element)
    return element.tag == "path" and (
        not element.get("d") or ("fill" not in element.attrib and "stroke" not in element.attrib)
    )
