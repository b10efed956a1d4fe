"""A run without an id is named by its record: the same name ever after, at the cost of one read."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
import xxhash
from making import runs_of, write

from pipeline.landing.batch import rows
from pipeline.landing.land import land
from tests.reading import SAMPLES

if TYPE_CHECKING:
    from pathlib import Path

EVALUATION = SAMPLES / "toolbench_tooleval/aurora_CoT.json"


def named(data: bytes, number: int, occurrence: int, model: str | None = None) -> str:
    told = f"\0{model}\0{{}}\0{number}\0{occurrence}"
    return xxhash.xxh3_64_hexdigest(data + told.encode())


def test_runs_of_one_record_are_named_by_it_and_their_places(tmp_path: Path) -> None:
    land([EVALUATION], tmp_path / "lake")
    # A query's task stands before its run: the runs are the second and the fourth thing told.
    data = EVALUATION.read_bytes().strip()
    assert set(runs_of(tmp_path / "lake")["run_id"]) == {named(data, 1, 0), named(data, 3, 0)}


@pytest.mark.parametrize("many", [3, 40])
def test_records_are_named_alike_one_by_one_and_many_at_a_time(tmp_path: Path, many: int) -> None:
    chat: dict[str, Any] = {
        "messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "ho"}]
    }
    land([write(tmp_path / "a.jsonl", [chat] * many)], tmp_path / "lake")
    data = json.dumps(chat).encode()
    wanted = {named(data, 0, occurrence) for occurrence in range(many)}
    assert set(runs_of(tmp_path / "lake")["run_id"]) == wanted


class Counting:
    """A hash that counts the bytes it is fed."""

    fed = 0

    def __init__(self, data: bytes = b"") -> None:
        self._hash = xxhash.xxh3_64()
        self.update(data)

    def update(self, data: bytes) -> None:
        Counting.fed += len(data)
        self._hash.update(data)

    def copy(self) -> Counting:
        other = Counting()
        other._hash = self._hash.copy()
        return other

    def hexdigest(self) -> str:
        return self._hash.hexdigest()


def test_a_record_of_many_runs_is_hashed_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rows, "xxh3_64", Counting)
    told = json.loads(EVALUATION.read_text())
    one = next(iter(told.values()))
    source = tmp_path / "grown_CoT.json"
    source.write_text(json.dumps({str(n): one for n in range(200)}))
    assert land([source], tmp_path / "lake", workers=1).runs == 200
    assert source.stat().st_size <= Counting.fed < source.stat().st_size + 200 * 32
