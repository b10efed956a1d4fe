"""However a log's JSON is printed, it lands as the same rows: every sample, spelled otherwise."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from reading import SAMPLES

from pipeline.lake import Lake
from pipeline.landing.land import land
from pipeline.landing.records.reader import look

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

JSON = sorted(
    folder.name
    for folder in SAMPLES.iterdir()
    if folder.is_dir() and not any(folder.rglob("*.parquet"))
)
PLACES = ("landed_at", "source_path", "source_line", "run_key", "identity")
"""Columns that tell where and when, or are made from one that does."""
DERIVED = pl.col("run_id").str.contains(r"^[0-9a-f]{16}$")
"""An id that is made from the record's bytes, where the source tells none."""


def tokens(value: Any) -> Iterator[str]:
    """Yield each token of a value's JSON."""
    if isinstance(value, dict | list):
        begin, end = "{}" if isinstance(value, dict) else "[]"
        yield begin
        for number, item in enumerate(value):
            yield from [","] * bool(number)
            if isinstance(value, dict):
                yield from (json.dumps(item), ":")
            yield from tokens(value[item] if isinstance(value, dict) else item)
        yield end
    else:
        yield json.dumps(value)


def streamed(value: Any) -> str:
    """Return an array as programs write that stream it: commas on lines of their own."""
    if isinstance(value, list) and value:
        return "[\n" + "\n,\n".join(map(streamed, value)) + "\n]"
    if isinstance(value, dict) and value:
        members = [f"{json.dumps(key)}: {streamed(item)}" for key, item in value.items()]
        return "{" + ",\n".join(members) + "}"
    return json.dumps(value)


PRINTED: dict[str, Callable[[Any], str]] = {
    "indented by nothing": partial(json.dumps, indent=0),
    "indented by 4": partial(json.dumps, indent=4),
    "indented by tabs, CRLF, marked": lambda v: json.dumps(v, indent="\t").replace("\n", "\r\n"),
    "a token a line": lambda value: "\n".join(tokens(value)),
    "streamed": streamed,
}


def respelled(data: bytes, spelling: str) -> bytes:
    """Return a file's document, or those of its lines one after the other, printed otherwise."""
    try:
        values = [json.loads(data)]
    except json.JSONDecodeError:
        values = [json.loads(line) for line in data.splitlines() if line.strip()]
    mark = "\ufeff" if "marked" in spelling else ""
    return (mark + "\n".join(map(PRINTED[spelling], values)) + "\n").encode()


def tables(lake: Path) -> dict[str, pl.DataFrame]:
    """Return all rows of a lake, without their places."""
    opened = Lake.open(lake)
    found: dict[str, list[pl.DataFrame]] = {}
    for folder in [*opened.batches(), *opened.tasks(), *opened.annotations()]:
        for table in (name for name, rows in folder.manifest["rows"].items() if rows):
            rows = pl.read_parquet(folder.file(table)).drop(PLACES, strict=False)
            if "run_id" in rows.columns:
                rows = rows.with_columns(run_id=pl.when(~DERIVED).then("run_id"))
            found.setdefault(table, []).append(rows)
    return {table: pl.concat(rows) for table, rows in found.items()}


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Land a format's samples as they are, once."""
    home = tmp_path_factory.mktemp("original")

    def landed(name: str) -> Path:
        if not (home / name).exists():
            report = land([SAMPLES / name], home / name, workers=1)
            assert not report.rejects
        return home / name

    return landed


@pytest.mark.parametrize("spelling", PRINTED)
@pytest.mark.parametrize("name", JSON)
def test_a_sample_printed_otherwise(
    tmp_path: Path, original: Callable[[str], Path], name: str, spelling: str
) -> None:
    for path in (path for path in (SAMPLES / name).rglob("*") if path.is_file()):
        other = tmp_path / path.relative_to(SAMPLES)
        other.parent.mkdir(parents=True, exist_ok=True)
        other.write_bytes(respelled(path.read_bytes(), spelling))
    report = land([tmp_path / name], tmp_path / "lake", workers=1)
    assert (dict(report.rejects), report.unrecognised) == ({}, [])
    found, right = tables(tmp_path / "lake"), tables(original(name))
    assert found.keys() == right.keys()
    for table in right:
        assert found[table].equals(right[table]), table


@pytest.mark.parametrize("end", ["\n,\n", "\n,", ",\n", "\n\n,\n\n"])
@pytest.mark.parametrize("around", ["[\n{}\n]", "[{}]", '{{"runs": [\n{}\n]}}'])
@pytest.mark.parametrize("count", [1, 3, 20, 60])
def test_an_array_is_no_lines_wherever_its_commas_stand(end: str, around: str, count: int) -> None:
    """So many records that commas are half of the lines looked at."""
    text = around.format(end.join(json.dumps({"run_id": f"r{i}"}) for i in range(count)))
    json.loads(text)
    assert look(text.encode()).framing == ("array" if around.startswith("[") else "object")
