"""Logs that nest deep: recognised as far as they are seen, and a reject where they cannot be read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from making import runs_of

from pipeline import workbench
from pipeline.errors import InputError, UnrecognisedError
from pipeline.landing import formats
from pipeline.landing.land import land
from pipeline.landing.records.head import look
from pipeline.policy import load

if TYPE_CHECKING:
    from pathlib import Path


def nested(depth: int) -> bytes:
    return b"[" * depth + b"]" * depth


def line(depth: int, run_id: bytes = b"x") -> bytes:
    return b'{"run_id":"%b","steps":[],"final_state":{"k":%b}}' % (run_id, nested(depth))


LATE = b'{"final_state":%b,"run_id":"x","steps":[]}'
BEYOND = [1500, 100_000]
"""Deeper than any interpreter reads."""


def landed(tmp_path: Path, text: bytes, name: str = "log.jsonl", form: str = "auto") -> Path:
    (tmp_path / name).write_bytes(text)
    land([tmp_path / name], tmp_path / "lake", format=form, workers=1)
    return tmp_path / "lake"


def places(lake: Path) -> list[tuple[int, int, str]]:
    found = workbench.query(lake, "SELECT line, byte_offset, reason FROM rejects ORDER BY ALL")
    return found.rows.rows()


@pytest.mark.parametrize("depth", [150, 201, 400])
def test_what_can_be_read_lands_whoever_names_its_format(tmp_path: Path, depth: int) -> None:
    assert runs_of(landed(tmp_path, line(depth)))["run_id"].to_list() == ["x"]
    late = landed(tmp_path, LATE % (b'{"k":%b}' % nested(depth)), "late.jsonl")
    assert places(late) == []


@pytest.mark.parametrize("depth", BEYOND)
def test_an_only_line_that_cannot_is_one_reject(tmp_path: Path, depth: int) -> None:
    assert places(landed(tmp_path, line(depth) + b"\n")) == [(1, 0, "too_deep")]


@pytest.mark.parametrize("depth", BEYOND)
def test_two_such_lines_are_two(tmp_path: Path, depth: int) -> None:
    lake = landed(tmp_path, b"\n".join([line(depth), line(depth, b"y")]))
    assert places(lake) == [(1, 0, "too_deep"), (2, len(line(depth)) + 1, "too_deep")]


@pytest.mark.parametrize("depth", [201, *BEYOND])
def test_a_cut_off_line_is_recognised_by_what_is_there(depth: int) -> None:
    head = look(line(depth)[: depth + 60], whole=True)
    assert head.framing == "lines"
    assert list(head.first) == ["run_id", "steps", "final_state"]


@pytest.mark.parametrize("depth", BEYOND)
def test_what_tells_no_format_is_told_as_nested_too_deep(tmp_path: Path, depth: int) -> None:
    told = r"log\.jsonl: nested too deep to be looked at whole; .* records with \['final_state'\]; "
    with pytest.raises(UnrecognisedError, match=told):
        landed(tmp_path, LATE % nested(depth))


@pytest.mark.parametrize(
    "form",
    ["trajtab", "otlp", "claude_code", "inspect_log", "tau2_results", "messages", "adk_config"],
)
def test_with_a_named_format_it_is_one_reject(tmp_path: Path, form: str) -> None:
    lake = landed(tmp_path, LATE % nested(BEYOND[0]), form=form)
    assert places(lake) == [(1, 0, "too_deep")]


@pytest.mark.parametrize("form", ["inspect_log", "tau2_results"])
@pytest.mark.parametrize("text", [b'{"run_id":"x","steps":[]}', b"hello"])
def test_a_file_of_another_make_is_refused_under_a_named_format(
    tmp_path: Path, form: str, text: bytes
) -> None:
    lake = landed(tmp_path, text, form=form)
    assert [row[:2] for row in places(lake)] == [(1, 0)]


def test_a_log_that_failed_before_its_first_sample_is_no_reject(tmp_path: Path) -> None:
    text = b'{"version":2,"eval":{"task":"t","model":"m"}}'
    assert formats.get("inspect_log").sniff(look(text)) is not None
    assert places(landed(tmp_path, text)) == []


def test_criteria_that_nest_too_deep_are_no_policy(tmp_path: Path) -> None:
    (tmp_path / "test_config.json").write_bytes(b'{"criteria":{"a":%b}}' % nested(BEYOND[1]))
    with pytest.raises(InputError, match=r"test_config\.json: nested too deep to be read"):
        load(tmp_path / "test_config.json")
