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
GIVEN = {"since": "2026-02-03"}
"""The day the second version of the sample agent began to run."""


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


def test_the_answers_are_right(con):
    """Counted by hand in data_samples/trajtab and data_samples/recorder."""
    queries = {title: text for title, _, text in SECTIONS}
    failed = asked(con, queries["Which tools failed most last night?"])
    assert failed.select("calls", "told", "failed").rows()[0] == (0, 0, 0)
    regressed = asked(con, queries["Which tasks regressed since Monday?"])
    assert regressed.rows() == []
