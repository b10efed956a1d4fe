"""The page in a real browser: nothing acts, nothing leaves, all charts are there, all is legible."""

from __future__ import annotations

import pytest
from lakes import final, scored
from making import call, run, want
from rich_lake import ARMS, KEY, NAUGHTY, without_charts

from pipeline.report.html import report
from pipeline.report.run.page import run_page
from pipeline.timeline import timelines

RUN = f"{NAUGHTY} 1 v1 0"
LEAST_CONTRAST = 4.5
"""Of text of normal size: WCAG 2.1, AA."""

CONTRASTS = """() => {
  const probe = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
  const rgba = colour => {
    probe.clearRect(0, 0, 1, 1); probe.fillStyle = colour; probe.fillRect(0, 0, 1, 1);
    return probe.getImageData(0, 0, 1, 1).data;
  };
  const light = colour => [...rgba(colour)].slice(0, 3).map(v => v / 255)
    .map(v => v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [.2126, .7152, .0722][i], 0);
  const behind = element => {
    for (let e = element; e; e = e.parentElement) {
      const colour = getComputedStyle(e).backgroundColor;
      if (rgba(colour)[3] > 0) return colour;
    }
    return 'white';
  };
  const own = e => [...e.childNodes].some(n => n.nodeType === 3 && n.data.trim());
  return [...document.body.querySelectorAll('*')].filter(own).map(e => {
    const style = getComputedStyle(e);
    const ink = e instanceof SVGElement ? style.fill : style.color;
    const [a, b] = [light(ink), light(behind(e))].sort((x, y) => y - x);
    return [(a + .05) / (b + .05), e.tagName + ' ' + e.textContent.trim().slice(0, 40)];
  });
}"""

CLIPPED = """() => [...document.querySelectorAll('figure svg text')].filter(t => {
  const box = t.getBoundingClientRect();
  return box.left < 0 || box.right > document.documentElement.clientWidth;
}).map(t => t.textContent)"""

OVERLAPS = """() => [...document.querySelectorAll('figure svg')].flatMap(svg => {
  const boxes = [...svg.querySelectorAll('text')].filter(t => t.getAttribute('opacity') !== '0')
    .map(t => [t.getBoundingClientRect(), t.textContent]);
  const hit = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 2
    && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 5;
  return boxes.flatMap(([a, x], i) => boxes.slice(i + 1).filter(([b]) => hit(a, b))
    .map(([, y]) => svg.getAttribute('aria-label').slice(0, 30) + ': ' + x + ' / ' + y));
})"""


@pytest.fixture(scope="module")
def file(rich, browser, tmp_path_factory):
    del browser  # without one there is nothing to make the page for
    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_text(report(rich, **ARMS), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def run_file(rich, browser, tmp_path_factory):
    del browser
    path = tmp_path_factory.mktemp("page") / "run.html"
    path.write_text(run_page(rich, timelines(rich, RUN)), encoding="utf-8")
    return path


def test_nothing_acts_and_nothing_leaves(visit, file, run_file):
    for each in (file, run_file):
        seen = visit(each)
        seen.page.wait_for_load_state("networkidle")
        assert (seen.said, seen.asked) == ([], [])
        assert seen.page.locator("script, img, link, iframe, object").count() == 0
        assert NAUGHTY in seen.page.inner_text("body")
        assert KEY not in seen.page.content()


def test_every_chart_has_marks_and_a_name(visit, file):
    page = visit(file).page
    charts = page.locator("figure svg")
    # Headline metrics: two charts of all runs, two by version, one over time; changes; tasks.
    assert charts.count() >= 5 * 15 + 2
    told = charts.evaluate_all(
        "all => all.map(svg => [svg.getAttribute('role'), svg.getAttribute('aria-label'),"
        " svg.querySelectorAll('path, rect, circle').length,"
        " svg.getBoundingClientRect().height])"
    )
    assert [
        one for one in told if one[0] != "img" or not one[1] or one[2] == 0 or one[3] < 80
    ] == []
    names = [one[1] for one in told]
    assert len(names) == len(set(names))
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map(e => e.id)")
    assert len(ids) == len(set(ids))


def test_folds_are_open_and_close(visit, file):
    page = visit(file).page
    folds = page.locator("#worst details")
    assert folds.count() == 10
    assert folds.evaluate_all("all => all.every(fold => fold.open)")
    assert folds.first.locator("table").is_visible()
    folds.first.locator("summary").click()
    assert not folds.first.locator("table").is_visible()


@pytest.mark.parametrize("width", [375, 1440])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_and_is_legible(visit, file, run_file, width, scheme):
    for each in (file, run_file):
        page = visit(each, width, scheme).page
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        faint = [one for one in page.evaluate(CONTRASTS) if one[0] < LEAST_CONTRAST]
        assert faint == []
        assert page.evaluate(CLIPPED) == []
        assert page.evaluate(OVERLAPS) == []
    back = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (back == "rgb(255, 255, 255)") == (scheme == "light")


def test_it_prints_on_white_even_where_the_screen_is_dark(visit, file):
    page = visit(file, 794, "dark", "print").page
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert [one for one in page.evaluate(CONTRASTS) if one[0] < LEAST_CONTRAST] == []
    assert not page.locator("nav").is_visible()
    assert page.locator("figure svg").first.is_visible()
    assert len(page.pdf()) > 10_000


WIDER = """() => [...document.querySelectorAll('table')].filter(table => table.checkVisibility()
  && table.getBoundingClientRect().right > document.documentElement.clientWidth + 1)
  .map(table => table.closest('[aria-label]').getAttribute('aria-label'))"""


@pytest.fixture(scope="module")
def wide_files(browser, tmp_path_factory):
    """Pages of more groups than stand side by side, and of arguments without a place to break."""
    del browser
    folder = tmp_path_factory.mktemp("wide")
    long = {"list": [f"argument_{i}" for i in range(40)]}
    made = [
        run(f"r{i}", call("search", long), final(), agent=f"agent-{i}", expected=[want("find", long)])
        for i in range(8)
    ]  # fmt: skip
    lake = scored(folder, *made)
    with without_charts():
        (folder / "report.html").write_text(report(lake), encoding="utf-8")
    (folder / "run.html").write_text(run_page(lake, timelines(lake, "r0")), encoding="utf-8")
    return folder / "report.html", folder / "run.html"


def test_all_that_is_printed_is_on_the_paper(visit, wide_files):
    for each in wide_files:
        assert visit(each, 718, "light", "print").page.evaluate(WIDER) == []


def test_tables_of_a_run_need_no_scrolling(visit, wide_files):
    assert visit(wide_files[1], 1440).page.evaluate(WIDER) == []
    page = visit(wide_files[1], 375).page
    assert page.evaluate(WIDER) == ["Steps"]
    assert page.locator(".calls td", has_text="find").first.is_visible()


def test_links_lead_to_what_they_name(visit, file):
    page = visit(file).page
    links = page.locator("a").evaluate_all("all => all.map(a => a.getAttribute('href'))")
    assert all(link.startswith("#") and page.locator(link).count() == 1 for link in links)
    page.locator("#worst td a").first.click()
    assert page.locator("#run-0 summary").is_visible()


@pytest.fixture(scope="module")
def crowded_file(browser, tmp_path_factory):
    """Versions that begin alike, ticks of many digits, and a change that goes both ways."""
    del browser
    folder = tmp_path_factory.mktemp("crowded")
    made = [
        run(
            f"{arm}-{i}",
            call("search", {"i": i}, input_tokens=10 + 100 * i),
            final(),
            task_id=f"t{i}",
            agent_version=f"{'release-candidate-' * 3}{arm}",
            success=(i + (arm == "b" and i % 3 == 0)) % 2 == 0,
            expected=[want("search", {"i": i if arm == "b" or i == 1 else 99})],
        )
        for arm in ("a", "b")
        for i in range(12)
    ]
    arms = {arm: f"agent_version LIKE '%-{end}'" for arm, end in (("baseline", "a"), ("candidate", "b"))}  # fmt: skip
    (folder / "report.html").write_text(
        report(scored(folder, *made), by=["agent_version"], **arms), encoding="utf-8"
    )
    return folder / "report.html"


GAPS = """() => [...document.querySelectorAll('figure svg')].flatMap(svg => {
  const all = [...svg.querySelectorAll('text')].filter(t => t.getAttribute('opacity') !== '0')
    .filter(t => /^[\\u2212\\d.,]+$/.test(t.textContent))
    .map(t => [t.getBoundingClientRect(), t.textContent]);
  return all.flatMap(([a, x]) => all.filter(([b]) => Math.abs(a.bottom - b.bottom) < 1
    && b.left > a.left && b.left - a.right < 3).map(([, y]) => x + ' ' + y));
})"""


def test_numbers_below_an_axis_stand_apart(visit, crowded_file):
    assert visit(crowded_file).page.evaluate(GAPS) == []


def test_groups_that_begin_alike_are_told_apart_in_charts(visit, crowded_file):
    page = visit(crowded_file).page
    for number, end in ((1, "a"), (2, "b")):
        assert page.get_by_text(f"{number}: {'release-candidate-' * 3}{end}").count() == 1
    for title in ("Histogram by group", "Running share by group"):
        texts = page.locator("figure", has_text=title).first.locator("svg text").all_text_contents()
        assert sorted(text[:2] for text in texts if "release" in text) == ["1:", "2:"]
