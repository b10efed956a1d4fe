"""Moments as logs write them: what is unambiguous lands, what is not is null and stays seen."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from making import call, run, runs_of, steps_of, write
from tracing import lines

from pipeline.landing.land import land
from pipeline.landing.values.times import MANY, micros, moments

if TYPE_CHECKING:
    from pathlib import Path

NEW_YEAR = 1_767_225_600
"""2026-01-01T00:00:00Z: 56 years of 365 days and 14 leap days, 20,454 days of 86,400 seconds."""
NOVEMBER = 1_701_000_000
"""2023-11-26T12:00:00Z, whose digits read as a date of the year 1701."""

READ: dict[Any, float] = {
    "2026-01-01T00:00:00Z": 0,
    "2026-01-01t00:00:00z": 0,
    "2026-01-01 00:00:00": 0,
    "2026-01-01_00:00:00": 0,
    " 2026-01-01T00:00:00Z\n": 0,
    "2026-01-01 00:00:00 UTC": 0,
    "2026-01-01 00:00:00 gmt": 0,
    "2026-01-01 02:00:00 +02:00": 0,
    "2026-01-01T05:30:15+05:30:15": 0,
    "2026-01-01T05:30:15+053015": 0,
    "2025-12-31T19:00:00-05": 0,
    "2026-01-01T05:30:00+0530": 0,
    "2026-01-01T00:00:00-00:00": 0,
    # Ten digits and more of a second: what is beyond microseconds is cut off.
    "2026-01-01T00:00:00.1234567891234Z": 0.123456,
    "2026-01-01T00:00:00,5Z": 0.5,
    "2026-01-01T10:30Z": 37_800,
    "2026-01-01T10Z": 36_000,
    "2026-01-01": 0,
    "2026-01-01Z": 0,
    # A date with a zone begins there at midnight.
    "2026-01-01+05:00": -18_000,
    "2026-01-01-05:00": 18_000,
    # The first of January 2026 is the Thursday of its first week.
    "2026-W01-4T00:00:00Z": 0,
    "2026W014T000000Z": 0,
    "20260101T000000Z": 0,
    "20260101T000000.25Z": 0.25,
    "20260101": 0,
    "20260101000000": 0,
    20260101000000: 0,
    str(NEW_YEAR): 0,
    f"{NEW_YEAR}.25": 0.25,
    f"{NEW_YEAR}000": 0,
    f"{NEW_YEAR}000000": 0,
    f"{NEW_YEAR}000000000": 0,
    f"{NEW_YEAR}123456789": 0.123456,
    NEW_YEAR: 0,
    NEW_YEAR + 0.25: 0.25,
    NEW_YEAR * 10**3: 0,
    NEW_YEAR * 10**6 + 7: 0.000007,
    NEW_YEAR * 10**9 + 7_999: 0.000007,
    **{f"{NOVEMBER}{zeros}": NOVEMBER - NEW_YEAR for zeros in ("", "000", "000000", "000000000")},
}

UNREAD = [
    "", " ", "yesterday", "2026", "2026-01", "2026-1-1", "2026-001", "2026-02-31", "01/02/2026",
    "Thu, 01 Jan 2026 00:00:00 GMT", "2026-01-01T24:00:01Z", "2026-01-01T23:59:60Z",
    "2026-01-01T00:00:00+00:00:00.5", "2026-01-01T00:00:00Z[UTC]", "2026-01-01x05:00:00",
    "2026-01-01T00:00:00.", "202601010000", "20261301", "1e9", "-5", "NaN",
    # What programs write for no time at all, and for one that never comes.
    "0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z", -1, -1.5,
    # Digits of a date, or of the year 2286 and later: seconds of 1970, minutes, something else.
    20260101, 20260101.0, 10_000_000_000, "10000000000", 99_999_999_999_999, 10**16, 10**19, 10**30,
    float("inf"), float("nan"), True, [], {},
]  # fmt: skip


@pytest.mark.parametrize("written", READ)
def test_what_is_unambiguous_is_read(written: Any) -> None:
    expected = NEW_YEAR * 10**6 + round(READ[written] * 10**6)
    assert micros(written) == expected
    assert moments([written, None]) == [expected, None]
    many = ["2026-01-01T00:00:00Z"] * MANY
    assert moments([written, *many]) == [expected, *[NEW_YEAR * 10**6] * MANY]


@pytest.mark.parametrize("written", UNREAD, ids=repr)
def test_what_is_not_is_null(written: Any) -> None:
    assert micros(written) is None
    many = ["2026-01-01T00:00:00Z"] * MANY
    assert moments([*many, written]) == [*[NEW_YEAR * 10**6] * MANY, None]


_TEXTS = st.one_of(
    st.datetimes().map(str),
    st.datetimes(timezones=st.timezones()).map(lambda one: one.isoformat()),
    st.from_regex(r"\A[0-9TZ:+.-]{8,30}\Z"),
    st.sampled_from([one for one in (*READ, *UNREAD) if isinstance(one, str)]),
)


@given(st.lists(st.none() | _TEXTS, max_size=5))
def test_many_are_read_as_each_alone(texts: list[str | None]) -> None:
    alone = [micros(text) for text in texts]
    assert moments(texts) == alone
    assert moments(texts * (MANY + 1)) == alone * (MANY + 1)


def test_runs_and_steps_keep_what_could_not_be_read(tmp_path: Path) -> None:
    odd = run("r", call("a", started_at=20260101), started_at="soon", ended_at=str(NOVEMBER * 1000))
    land([write(tmp_path / "runs.jsonl", [odd])], tmp_path / "lake", workers=1)
    ((started, ended, labels),) = runs_of(tmp_path / "lake")[
        ["started_at", "ended_at", "labels"]
    ].rows()
    assert (started, ended.timestamp()) == (None, NOVEMBER)
    assert json.loads(labels) == {"unread.started_at": "soon"}
    ((started, labels),) = steps_of(tmp_path / "lake")[["started_at", "labels"]].rows()
    assert (started, json.loads(labels)) == (None, {"unread.started_at": 20260101})


def _langfuse(start: Any) -> Any:
    seen = {"id": "o", "traceId": "t", "type": "TOOL", "name": "f", "startTime": start}
    return {"trace": {"id": "t"}, "observations": [seen]}


def _langsmith(start: Any) -> Any:
    more = {"parent_run_id": None, "inputs": {}, "name": "f", "start_time": start}
    return {"id": "r", "trace_id": "r", "run_type": "tool", **more}


def _printed(start: Any) -> Any:
    kind = {"openinference.span.kind": "TOOL", "tool.name": "f"}
    place = {"trace_id": "0x" + "a" * 32, "span_id": "0x" + "b" * 16}
    return {"name": "f", "context": place, "start_time": start, "attributes": kind}


def _agents_sdk(start: Any) -> Any:
    data = {"type": "function", "name": "f", "input": "{}", "output": "x"}
    place = {"id": "s", "trace_id": "trace_1", "parent_id": None}
    return {"object": "trace.span", "started_at": start, "span_data": data, **place}


@pytest.mark.parametrize("spelled", [_langfuse, _langsmith, _printed, _agents_sdk])
def test_spans_keep_what_could_not_be_read(tmp_path: Path, spelled: Any) -> None:
    for number, start in enumerate(("2026-01-01T00:00:00z", "soon")):
        lake = tmp_path / f"lake{number}"
        land([lines(tmp_path / f"{number}.jsonl", spelled(start))], lake, workers=1)
        ((read, labels),) = steps_of(lake)[["started_at", "labels"]].rows()
        told = json.loads(labels).get("unread.started_at")
        assert (read is None, told) == (number == 1, "soon" if number else None)
