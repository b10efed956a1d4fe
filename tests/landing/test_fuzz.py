"""Whatever stands in a file: it lands, is refused record by record, or is no log of ours."""

from __future__ import annotations

import json
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from making import call, run, want, write
from reading import SAMPLES
from strategies import json_values

from pipeline.errors import RejectedError, TrajtabError
from pipeline.lake import Lake
from pipeline.landing import formats
from pipeline.landing.land import land
from pipeline.landing.model import REASONS, Expected, References, RejectError, Run, Step, Task
from pipeline.landing.records.reader import Piece, look

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeline.landing.formats import Format
    from pipeline.landing.report import LandReport

HOSTILE = st.sampled_from(
    [None, True, -1, 0, 1.5, 2**32, 2**64, -(2**63) - 1, 1e300, "", "x", [], {}, ["x"], [[]], [None],
     {"x": 1}, "[{}]", "{}", "\0", "1e400"]
) | json_values  # fmt: skip


EVERY = formats.every()
KEYS = (
    "run_id",
    "labels",
    "id",
    "type",
    "trace",
    "observations",
    "messages",
    "events",
    "steps",
    "spans",
    "data",
)
"""Keys under which formats look for lists and objects."""


class Landed(NamedTuple):
    """What became of a file, or that no format knew it."""

    report: LandReport | None
    reasons: set[str]


def landed(data: bytes, form: str = "auto") -> Landed:
    """Land bytes; only an error of ours may come out of it."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "log.jsonl"
        file.write_bytes(data)
        lake = Path(folder) / "lake"
        try:
            report = land([file], lake, format=form, workers=1)
        except TrajtabError:
            return Landed(None, set())
        batches = Lake.open(lake).batches()
        files = [batch.file("rejects") for batch in batches if batch.rows("rejects")]
        tables = [pl.read_parquet(file, glob=False) for file in files]
        return Landed(report, {reason for table in tables for reason in table["reason"]})


def _replaced(value: Any, at: list[int], other: Any) -> Any:
    """Return `value` with what stands at a path of positions replaced."""
    if not at or not isinstance(value, dict | list) or not value:
        return other
    keys = list(value) if isinstance(value, dict) else list(range(len(value)))
    key = keys[at[0] % len(keys)]
    copy: Any = dict(value) if isinstance(value, dict) else list(value)
    copy[key] = _replaced(value[key], at[1:], other)
    return copy


LINES = [
    run(
        "r1",
        {"kind": "llm_call", "content": "c", "input_tokens": 1, "cost_usd": 0.5, "response_index": 0},
        call("a", {"x": 1}, output={"o": 1}, error="e", labels={"l": 1}, started_at="2025-01-01", duration_ms=1.5),
        {"kind": "final", "content": "f"},
        task_id="t", trial=1, labels={"l": 1}, started_at=1, final_state={"s": 1}, reward=1.0,
        expected=[want("a", {"x": 1}, optional=True, turn_index=0)],
    ),
    run("r2", call("b")),
]  # fmt: skip

mutations = st.tuples(st.lists(st.integers(0, 9), max_size=4), HOSTILE)


@given(value=HOSTILE)
@settings(max_examples=40)
def test_any_json_value_is_landed_or_refused(value: Any) -> None:
    landed(json.dumps(value).encode())


@given(value=HOSTILE, form=st.sampled_from(formats.names()))
@settings(max_examples=60)
def test_any_json_value_in_any_format(value: Any, form: str) -> None:
    if form != "phoenix":  # told by --from, its Parquet is not looked at twice
        told = landed(json.dumps([value, {"id": value}]).encode(), form)
        assert "unreadable" not in told.reasons


# A line of one bracket may begin a document that is printed over the lines behind it.
@given(value=mutations, junk=st.binary(max_size=12), cut=st.integers(2, 200))
@settings(max_examples=40)
def test_every_line_lands_or_is_refused(
    value: tuple[list[int], Any], junk: bytes, cut: int
) -> None:
    """Six lines: a good one, one with a value replaced, its twin, one cut off, bytes, a good one."""
    mutated = json.dumps(_replaced(LINES[0], *value)).encode()
    junk = junk.translate(None, b"\r\n")
    good = json.dumps(LINES[1]).encode()
    lines = [good, mutated, mutated, mutated[: min(cut, len(mutated) - 1)], junk, b" ", good]
    report, reasons = landed(b"\n".join(lines), "trajtab")
    assert report is not None
    present = sum(bool(line.strip()) for line in lines)
    assert report.runs + report.duplicates + report.rejects.total() == present
    assert reasons <= REASONS.keys() - {"unreadable"}


SMALL = sorted(
    (path for path in SAMPLES.rglob("*") if path.is_file() and path.suffix in {".json", ".jsonl"}),
    key=lambda path: path.stat().st_size,
)[:40]


@given(
    path=st.sampled_from(SMALL),
    at=st.lists(st.integers(0, 30), min_size=1, max_size=7),
    other=HOSTILE,
)
@settings(max_examples=60)
def test_a_value_replaced_in_any_sample(path: Path, at: list[int], other: Any) -> None:
    """What no format foresaw would be refused as unreadable; nothing here is."""
    text = path.read_text()
    try:
        records = [json.loads(text)]
    except json.JSONDecodeError:
        records = [json.loads(line) for line in text.splitlines()]
    which = at[0] % len(records)
    records[which] = _replaced(records[which], at[1:], other)
    lines = map(json.dumps, records)
    assert "unreadable" not in landed("\n".join(lines).encode()).reasons


@given(value=HOSTILE, other=HOSTILE)
@settings(max_examples=60)
def test_no_format_trips_over_the_first_record(value: Any, other: Any) -> None:
    """Whatever the keys hold by which formats are told, an opinion is what each gives."""
    for form in EVERY:
        record = dict.fromkeys(form.expects, value) | {"type": other, "data": [{"type": value}]}
        for head in (look(json.dumps(record).encode()), look(json.dumps([record]).encode())):
            assert all(isinstance(each.sniff(head), str | None) for each in EVERY)


class Hostile:
    """A format whose reader trips over one record, as none of ours is meant to."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        own = formats.get("trajtab")
        hostile = own._replace(decode=self._decode)
        monkeypatch.setattr(formats, "get", lambda _name: hostile)
        self._own: Format = own

    def _decode(self, piece: Piece, context: Any) -> Iterator[Any]:
        yield from self._own.decode(piece, context)
        if b"trap" in piece.data:
            raise AttributeError("'int' object has no attribute 'sk-0123456789abcdef'")
        if b"deep" in piece.data:
            raise RecursionError
        if b"task" in piece.data:
            yield Task(task_id="t", min_steps=2**40)
        if b"wide" in piece.data:
            yield Task(task_id="t2", references=References([[Expected("f", turn_index=-1)]]))
        if b"column" in piece.data:
            yield Run(steps=[Step("final", content=object())], run_id="x")


HOSTILE_RECORDS = [run("good"), *(run(name) for name in ("trap", "deep", "task", "wide", "column")), run("last")]  # fmt: skip


def test_a_reader_that_trips_costs_one_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Hostile(monkeypatch)
    report = land([write(tmp_path / "a.jsonl", HOSTILE_RECORDS)], tmp_path / "lake", workers=1)
    assert report.rejects == {"unreadable": 1, "too_deep": 1, "number_out_of_range": 3}
    assert report.runs == 3  # good, last, and the run that its record's other one leaves alone
    rejects = pl.read_parquet(Lake.open(tmp_path / "lake").batches()[0].file("rejects"), glob=False)
    (row,) = rejects.filter(reason="unreadable").select("line", "detail").rows()
    assert row == (2, "AttributeError: 'int' object has no attribute '[redacted]'")
    assert {RejectError("unreadable", "").reason} <= REASONS.keys()


def test_strict_stops_at_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Hostile(monkeypatch)
    source = write(tmp_path / "a.jsonl", HOSTILE_RECORDS)
    with pytest.raises(RejectedError, match=r"a\.jsonl:2: unreadable: AttributeError"):
        land([source], tmp_path / "lake", workers=1, strict=True)


@given(record=st.dictionaries(st.sampled_from(KEYS), HOSTILE, min_size=1), twice=st.booleans())
@settings(max_examples=40)
def test_decoders_refuse_what_they_do_not_foresee(record: dict[str, Any], *, twice: bool) -> None:
    data = json.dumps([record] if twice else record).encode()
    for form in EVERY:
        if form.prepare is not None:
            continue  # its decoder is owed what it knows of the whole file
        with suppress(RejectError):
            list(form.decode(Piece(data, 1, 0), None))
