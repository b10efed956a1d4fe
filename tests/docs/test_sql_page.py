"""Every query of sql/README.md answers something on the samples."""

from __future__ import annotations

import re
from contextlib import closing
from pathlib import Path

import pytest

from pipeline.lake import Lake
from pipeline.landing.land import land
from pipeline.policy import DEFAULT
from pipeline.scoring import score
from pipeline.workbench import select, session

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "sql" / "README.md").read_text(encoding="utf-8")
SECTIONS = re.findall(
    r"^## ([^\n]+\?)\n\n([^\n]+)\n\n```sql\n(.*?)^```\n", PAGE, flags=re.MULTILINE | re.DOTALL
)
GIVEN = {"since": "2026-02-02 12:00"}
"""When run-007 of data_samples/trajtab began: v1 fails there at what it could do before."""


@pytest.fixture(scope="module")
def con(tmp_path_factory):
    folder = tmp_path_factory.mktemp("samples")
    land([ROOT / "data_samples"], folder / "lake", workers=1)
    score(folder / "lake")
    with closing(session(Lake.open(folder / "lake"), DEFAULT)) as con:
        yield con


def asked(con, text):
    (statement,) = con.extract_statements(text)
    return select(con, text, {name: GIVEN[name] for name in statement.named_parameters})


def test_there_are_ten_and_each_has_a_sentence_and_a_query():
    assert len(SECTIONS) >= 10
    assert len(SECTIONS) == PAGE.count("\n## ") == PAGE.count("```sql")
    assert [title for title, said, _ in SECTIONS if not said.endswith(".") or "\n" in said] == []


@pytest.mark.parametrize("text", [text for *_, text in SECTIONS], ids=[t for t, *_ in SECTIONS])
def test_it_answers(con, text):
    assert asked(con, text).height > 0


TOLD = [
    # get_refund: run-004 fails once and retries, run-008 calls it once; run-003 was before.
    ("Which tools failed most last night?", ("get_refund", 3, 3, 1, 1 / 3)),
    # rebook-flight: run-001 succeeds before, run-007 fails and run-002 succeeds after.
    ("Which tasks regressed since Monday?", ("travel-desk", "rebook-flight", 1, 2, 1.0, 0.5)),
    # run-003 asks for the same refund three times, though nothing fails.
    (
        "Which runs make the same call again and again?",
        ("run-003", "get_refund", '{"case":"R-2041"}', 3, [2, 4, 6]),
    ),
    ("How many runs can be judged by a reference?", ("travel-agent", "travel-desk", 8, 8, 0)),
    # v1 tries rebook-flight twice: run-001 and run-007.
    ("Which tasks are flaky?", ("travel-desk", "rebook-flight", "travel-agent", "v1", "orchid-1", 2, 1)),
]  # fmt: skip
"""Counted by hand in data_samples/trajtab: how a row begins."""


@pytest.mark.parametrize(("title", "begins"), TOLD, ids=[title for title, _ in TOLD])
def test_it_counts_right(con, title, begins):
    queries = {title: text for title, _, text in SECTIONS}
    assert begins in [row[: len(begins)] for row in asked(con, queries[title]).rows()]
