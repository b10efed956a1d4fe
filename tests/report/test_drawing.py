"""Charts as they stand in the page: marks, the page's colours, and words that stay words."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

import pytest

from pipeline.report.charts.change_charts import changes, counted, over_time
from pipeline.report.charts.spread_charts import Axis, Part, curves, histogram, lanes, running

NAUGHTY = "</svg><script>alert(1)</script> $title"
AXIS = Axis(0.0, 1.0, [0.0, 0.5, 1.0], NAUGHTY)
PART = Part(
    NAUGHTY,
    [{"low": 0.0, "high": 0.5, "n": 3}, {"low": 0.5, "high": 1.0, "n": 1}],
    [{"value": 0.0, "share": 0.0}, {"value": 0.25, "share": 0.75}, {"value": 1.0, "share": 1.0}],
    {"p25": 0.1, "p50": 0.25, "p75": 0.25, "p95": 1.0},
)
OTHER = PART._replace(name=NAUGHTY + " of all the groups that there are", marks={})
DAYS = [
    {"bucket": "2026-03-01", "mean": 0.5, "low": None, "high": None, "move": None},
    {"bucket": "2026-03-02", "mean": 0.7, "low": 0.6, "high": 0.8, "move": "up"},
]
CHANGES = [{"metric": NAUGHTY, "delta": 0.1, "low": 0.0, "high": 0.2, "verdict": "better"}]


@pytest.fixture(
    scope="module",
    params=["histogram", "running", "lanes", "curves", "over_time", "changes", "counted"],
)
def svg(request):
    make = {
        "histogram": lambda: histogram(PART, AXIS),
        "running": lambda: running(PART, AXIS),
        "lanes": lambda: lanes([PART, OTHER], AXIS),
        "curves": lambda: curves([PART, OTHER], AXIS),
        "over_time": lambda: over_time(DAYS, NAUGHTY, fraction=True),
        "changes": lambda: changes(CHANGES),
        "counted": lambda: counted(PART.bars, NAUGHTY, NAUGHTY),
    }
    return make[request.param]()


def test_only_marks_and_text_in_the_pages_own_colours(svg):
    root = ET.fromstring(svg)  # noqa: S314 - our own output
    assert {element.tag for element in root.iter()} <= {"svg", "g", "path", "line", "rect", "text"}
    assert not [e for e in root.iter() if "id" in e.attrib or "xmlns" in str(e.attrib)]
    colours = {e.get(name) for e in root.iter() for name in ("fill", "stroke")} - {None, "none"}
    assert all(re.fullmatch(r"currentColor|transparent|var\(--\w+\)", c) for c in colours)
    assert "url(" not in svg
    assert "NaN" not in svg


def test_words_of_a_log_stay_words(svg):
    assert "<script" not in svg
    texts = [element.text for element in ET.fromstring(svg).iter("text")]  # noqa: S314 - same
    assert any(text and text.startswith("</svg><script>") for text in texts)


def test_bars_are_as_tall_as_their_counts():
    bars = re.findall(r'd="M[\d.]+,([\d.]+)h([\d.]+)v([\d.]+)', histogram(PART, AXIS))
    heights = sorted(float(height) for _, _, height in bars)
    assert heights[1] == pytest.approx(3 * heights[0], abs=0.3)


def texts_of(svg):
    return [e.text for e in ET.fromstring(svg).iter("text")]  # noqa: S314 - our own output


def test_percentiles_are_named_on_the_curve():
    assert {"p25 0.1", "p50 0.25", "p75 0.25", "p95 1"} <= set(texts_of(running(PART, AXIS)))


@pytest.mark.parametrize("most", [1, 2, 3, 7, 1138])
def test_an_axis_of_counts_names_each_number_once(most):
    bars = [{"low": 0.0, "high": 0.5, "n": most}]
    for svg in (
        histogram(PART._replace(bars=bars), Axis(0.0, 1.0, [], "share")),
        counted(bars, "share", "tasks"),
    ):
        *_, last = texts = texts_of(svg)
        named = texts[texts.index("share") + 1 : -1]
        assert last in ("runs", "tasks")
        assert len(named) == len(set(named)) >= 2
        assert all(name.replace(",", "").isdigit() for name in named)


def over(*days, means=(0.5, 0.7)):
    points = [
        {**DAYS[0], "bucket": day, "mean": mean} for day, mean in zip(days, means, strict=True)
    ]
    return texts_of(over_time(points, "mean, tokens", fraction=False))


def test_days_have_their_year_where_there_are_several():
    assert {"5 Jan", "9 Dec"} <= set(over("2026-01-05", "2026-12-09"))
    assert {"2025-12-31", "2026-01-02"} <= set(over("2025-12-31", "2026-01-02"))


def test_large_means_are_named_shortly_and_others_in_full():
    days = ("2026-01-05", "2026-01-09")
    assert {"0", "1M", "2M"} <= set(over(*days, means=(0.0, 2_000_000.0)))
    assert {"0", "200", "400"} <= set(over(*days, means=(0.0, 400.0)))
    assert {"15,000"} <= set(over(*days, means=(0.0, 15_000.0)))


def test_the_same_figures_the_same_picture():
    assert lanes([PART, OTHER], AXIS) == lanes([PART, OTHER], AXIS)


WIDE = Axis(0.0, 1e19, [0.0, 2e18, 4e18, 6e18, 8e18, 1e19], "tokens")
MANY = PART._replace(
    bars=[{"low": 0.0, "high": 5e18, "n": 3}, {"low": 5e18, "high": 1e19, "n": 1}],
    points=[{"value": 0.0, "share": 0.0}, {"value": 1e19, "share": 1.0}],
    marks={"p50": 4.611686018427388e18},
    name="a",
)
HUGE_DAYS = [
    {"bucket": f"2026-03-0{n}", "mean": n * 1e18, "low": 1e18, "high": 9e18, "move": None}
    for n in (1, 2)
]
HUGE_CHANGES = [{"metric": "m", "delta": 3e18, "low": -9e18, "high": 9e18, "verdict": "worse"}]


@pytest.mark.parametrize(
    "make",
    [
        lambda: histogram(MANY, WIDE),
        lambda: running(MANY, WIDE),
        lambda: lanes([MANY, MANY._replace(name="b")], WIDE),
        lambda: curves([MANY, MANY._replace(name="b")], WIDE),
        lambda: over_time(HUGE_DAYS, "tokens", fraction=False),
        lambda: changes(HUGE_CHANGES),
    ],
)
def test_sums_of_tokens_near_2_to_the_62_leave_room_on_an_axis(make):
    """Written out, nineteen digits and their commas ran into each other."""
    texts = [element.text or "" for element in ET.fromstring(make()).iter("text")]  # noqa: S314 - same
    figures = [text for text in texts if re.search(r"\d", text)]
    assert any("e+18" in text for text in figures)
    assert max(map(len, figures)) <= len("p50 4.612e+18")
    assert not [text for text in figures if re.search(r"\d{4}|,\d", text)]


@pytest.mark.parametrize(
    ("high", "named"),
    [(10.0, "10"), (80_000.0, "80,000"), (4e5, "400k"), (8e6, "8M"), (2e9, "2e+9")],
)
def test_numbers_on_an_axis_are_as_short_as_they_need(high, named):
    axis = Axis(0.0, high, [0.0, high / 2, high], "tokens")
    part = PART._replace(bars=[{"low": 0.0, "high": high, "n": 3}], marks={})
    texts = {element.text for element in ET.fromstring(histogram(part, axis)).iter("text")}  # noqa: S314 - same
    assert named in texts
