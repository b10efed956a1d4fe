"""Policies, gate files and rubrics are refused in the same words."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from pipeline import policy
from pipeline.cli import config
from pipeline.errors import InputError, UnknownNameError
from pipeline.judge import rubric
from pipeline.tables import gate_file

if TYPE_CHECKING:
    from pathlib import Path

RUBRIC = {
    "name": "n", "title": "t", "level": "step", "shows": ["step"], "instructions": "?",
    "answer": {"low": 0, "high": 1},
}  # fmt: skip


@pytest.mark.parametrize(
    ("parse", "told", "said"),
    [
        (policy.parse, {"match": {"unit": "day"}}, "match.unit is 'day'; run | turn is needed"),
        (policy.parse, {"recovery": {"max_steps": "5"}}, "Expected `int`, got `str` at recovery"),
        (gate_file.parse, {"gate": [{"metric": "f1", "min": "low"}]}, "got `str` at gate[0].min"),
        (rubric.parse, {**RUBRIC, "level": "run"}, "level is 'run'; step | trajectory is needed"),
        (
            rubric.parse,
            {**RUBRIC, "answer": {"type": "text"}},
            "answer.type is 'text'; integer | number | boolean is needed",
        ),
    ],
)
def test_a_value_is_refused_with_its_place(parse, told, said):
    with pytest.raises(InputError, match=rf"^f\.toml: .*{re.escape(said)}"):
        parse(told, "f.toml")


@pytest.mark.parametrize(
    ("parse", "told", "said"),
    [
        (policy.parse, {"match": {"rule": [{"tol": 1}]}}, "unknown key 'match.rule.tol' in f.toml"),
        (gate_file.parse, {"gate": [{"max_dorp": 1}]}, "did you mean 'gate.max_drop'"),
        (rubric.parse, {**RUBRIC, "answer": {"hihg": 1}}, "did you mean 'answer.high'"),
    ],
)
def test_a_key_is_refused_with_the_nearest(parse, told, said):
    with pytest.raises(UnknownNameError, match=re.escape(said)):
        parse(told, "f.toml")


MARKED = {
    "a policy": (policy.load, '[match]\r\nargs = "names"\r\n'),
    "a gate file": (gate_file.load, '[[gate]]\r\nmetric = "f1"\r\nmax_drop = 0.1\r\n'),
    "a rubric": (rubric.load, (rubric.RUBRICS / "tool_relevance.toml").read_text(encoding="utf-8")),
    "a configuration": (config.load, "[aggregate]\r\nby = ['agent']\r\n"),
}


@pytest.mark.parametrize(("load", "text"), MARKED.values(), ids=MARKED)
def test_a_byte_order_mark_is_read_over(tmp_path: Path, load: Any, text: str) -> None:
    """Editors on Windows begin a file with one."""
    plain, marked = tmp_path / "plain.toml", tmp_path / "marked.toml"
    plain.write_bytes(text.encode())
    marked.write_bytes(b"\xef\xbb\xbf" + text.encode())
    told = repr(load(str(plain))).replace("plain.toml", "marked.toml")
    assert repr(load(str(marked))).replace(r"\xef\xbb\xbf", "") == told
