"""The pages name every key of a policy and every field of our own lines, and their lines land."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pipeline import land, scan_scores, score
from pipeline.landing.formats import pairs, tasks, trajtab
from pipeline.landing.model import Expected, Step, Told, Tool
from pipeline.policy import Policy, parse
from pipeline.policy.sections import (
    Backtracking,
    Composite,
    EndStateCheck,
    Errors,
    Invariants,
    Match,
    PathOptions,
    Recovery,
    Rule,
    Scores,
    UserMetric,
)

DOCS = Path(__file__).resolve().parents[2] / "docs"
LANDING = (DOCS / "landing.md").read_text(encoding="utf-8")
POLICY = (DOCS / "policy.md").read_text(encoding="utf-8")

if TYPE_CHECKING:
    import msgspec

    from pipeline.policy.sections import Section


def fenced(page: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", page, re.DOTALL)


SECTIONS = [
    Match, Rule, Errors, Backtracking, Recovery, PathOptions, Composite, Invariants, EndStateCheck,
    UserMetric, Scores,
]  # fmt: skip


@pytest.mark.parametrize("section", SECTIONS)
def test_every_key_of_a_policy_is_on_its_page(section: type[Section]) -> None:
    told = set(re.findall(r"\w+", POLICY))
    assert set(section.__struct_fields__) <= told


@pytest.mark.parametrize("text", fenced(POLICY, "toml"))
def test_every_policy_on_the_page_is_one(text: str) -> None:
    assert parse(tomllib.loads(text), "page") != Policy()


@pytest.mark.parametrize(
    "record", [trajtab.Record, Step, Told, Expected, tasks.Record, Tool, pairs.Record]
)
def test_every_field_of_our_lines_is_on_their_page(record: type[msgspec.Struct]) -> None:
    said = LANDING[LANDING.index("## Our own lines") :]
    names = set(record.__struct_encode_fields__)
    assert {name for name in names if name.isidentifier()} <= set(re.findall(r"\w+", said))


def test_the_lines_on_the_page_land_and_are_scored(tmp_path: Path) -> None:
    lines = fenced(LANDING, "json")
    sources: list[Any] = []
    for number, line in enumerate(lines):
        assert json.loads(line)
        sources.append(tmp_path / f"{number}.jsonl")
        sources[-1].write_text(line, encoding="utf-8")
    report = land(sources, tmp_path / "lake")
    assert (report.runs, report.tasks, report.rejects) == (2, 1, {})
    score(tmp_path / "lake")
    rows = {row["run_id"]: row for row in scan_scores(tmp_path / "lake").collect().to_dicts()}
    names = ("exact_match", "response_exact", "end_state_match", "schema_valid_rate", "success")
    assert [rows["r1"][name] for name in names] == [1, 1, 1, 1.0, True]
    assert rows["c1"]["exact_match"] == 1
