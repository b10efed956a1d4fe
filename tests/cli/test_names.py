"""Names of any script, with signs that act: shown whole, and acting on nothing beside them."""

from __future__ import annotations

import fcntl
import json
import os
import re
import struct
import subprocess
import sys
import termios
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree as ET

import polars as pl
import pytest
from lakes import scored
from making import call, run, want
from rich.cells import cell_len

from pipeline.cli.encode import encode
from pipeline.cli.table import render
from pipeline.report.html import report
from pipeline.report.markup import note, text
from pipeline.tables.result import Result

NAMES = [
    "שלום", "بحث_3", "esc\x1b[31m", "csi\x9b31m", "a\nb\tc\rd", "\u202eevil", "nul\x00", "\x85nel",
    "<script>x</script>", "]]>&amp;", "c|d`*_", "🧑‍🚀🚀", "e\u0301" * 9, "x" * 5000,
]  # fmt: skip
ACTS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    records = [
        run(f"r{n}", call(name, {name[:50]: name}, output=name), expected=[want(name)], agent=name)
        for n, name in enumerate(NAMES)
    ]
    return scored(tmp_path_factory.mktemp("names"), *records).path


RESULT = Result("demo", pl.DataFrame({"tool": NAMES, "n": range(len(NAMES))}), ["about שלום 3"])


@pytest.mark.parametrize("form", ["md", "html"])
def test_nothing_in_a_file_to_read_acts(form):
    told = encode(RESULT, form).decode()
    assert not ACTS.search(told)
    assert "<script>x" not in told


def terminal(*args):
    """Return what a command writes to a terminal."""
    ours, theirs = os.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))
    command = [sys.executable, "-m", "pipeline", *args]
    root = Path(__file__).resolve().parents[2]
    environment = {**os.environ, "NO_COLOR": "1", "TERM": "xterm"}
    with subprocess.Popen(command, stdout=theirs, cwd=root, env=environment) as process:
        os.close(theirs)
        told = b""
        while True:
            try:
                part = os.read(ours, 1 << 16)
            except OSError:  # the other end is closed, and all is read
                break
            if not part:
                break
            told += part
    os.close(ours)
    assert process.returncode == 0
    return told.decode().replace("\r\n", "\n")


QUERY = "SELECT DISTINCT tool_name FROM calls ORDER BY ALL"


@pytest.mark.parametrize("form", ["table", "md", "json", "jsonl", "csv"])
def test_no_log_sends_a_terminal_what_it_acts_on(lake, form):
    told = terminal("sql", str(lake), QUERY, "--format", form)
    assert not ACTS.search(told)
    assert "csi" in told
    if form == "json":
        assert {row["tool_name"] for row in json.loads(told)["rows"]} == set(NAMES)


@pytest.mark.parametrize("form", ["json", "jsonl", "csv"])
def test_a_pipe_gets_every_sign_as_it_is(lake, form):
    command = [sys.executable, "-m", "pipeline", "sql", str(lake), QUERY, "--format", form]
    root = Path(__file__).resolve().parents[2]
    told = subprocess.run(command, check=True, capture_output=True, cwd=root).stdout.decode()
    assert "csi\x9b31m" in told
    assert "\u202eevil" in told


def test_cells_of_a_terminal_stay_in_their_columns():
    """A terminal that knows both directions would draw two such cells, or one and a number, swapped."""
    rows = pl.DataFrame({"tool": ["שלום", "run"], "other": ["בית", "b"], "n": [3, 4]})
    shown = render(rows, 60).text.splitlines()
    assert shown[2].split() == ["שלום\u200e", "בית\u200e", "3"]
    assert {cell_len(line.rstrip()) for line in shown[2:]} == {cell_len(shown[3].rstrip())}
    assert "\u200e" not in render(rows).text


def test_html_isolates_words_from_right_to_left():
    assert text("שלום") == "<bdi>שלום</bdi>"
    assert "<bdi>שלום</bdi> 3, <bdi>בית טוב</bdi> 4" in note("שלום 3, בית טוב 4")
    page = encode(RESULT, "html").decode()
    assert "<td><bdi>שלום</bdi></td>" in page
    assert "about <bdi>שלום</bdi> 3" in page


class Isolated(HTMLParser):
    """Gathers the words that stand in no isolate of their own: outside of charts, whose labels do."""

    def __init__(self):
        super().__init__()
        self.open, self.loose = [], []

    def handle_starttag(self, tag, attrs):  # noqa: ARG002 - the parser's signature
        if tag in ("bdi", "svg"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag in self.open:
            self.open.remove(tag)

    def handle_data(self, data):
        if not self.open and re.search("[א-ת]", data):
            self.loose.append(data)


def test_every_name_in_the_report_is_isolated(lake):
    page = report(lake, by="agent", show_args=True)
    parser = Isolated()
    parser.feed(page)
    assert "שלום" in page
    assert parser.loose == []
    assert not ACTS.search(page)
    assert "<script>x" not in page
    for chart in re.findall(r"<svg.*?</svg>", page, re.DOTALL):
        ET.fromstring(chart)  # noqa: S314 - our own output
