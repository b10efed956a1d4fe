"""Whatever an agent hands over is recorded, and what is recorded lands."""

from __future__ import annotations

import dataclasses
import datetime as dt
import decimal
import enum
import json
from collections import OrderedDict, deque
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any
from unittest.mock import MagicMock
from uuid import UUID

import numpy as np
import pandas as pd
import polars as pl
import pytest

from pipeline.lake import Lake
from pipeline.landing.land import land
from pipeline.record import Recorder
from pipeline.record.spelling import spelled

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclasses.dataclass
class Point:
    x: int
    y: float


class Colour(enum.Enum):
    RED = "red"


class Model:
    def model_dump(self) -> dict[str, int]:
        return {"a": 1}


class Name(str):
    __slots__ = ()


class Count(int):
    def __str__(self) -> str:
        raise RuntimeError("no text")


class Loose:
    """A model as pydantic dumps it: it warns of members it did not expect, unless told not to."""

    def model_dump(self, *, warnings: bool = True) -> dict[str, int]:
        if warnings:
            raise UserWarning("unexpected value")
        return {"a": 1}


class Moment(dt.datetime):
    pass


class Broken:
    def __repr__(self) -> str:
        raise RuntimeError("no repr")


class Plain:
    pass


def circle() -> list[Any]:
    found: list[Any] = []
    found.append(found)
    return found


def deep(levels: int = 5000) -> list[Any]:
    found: list[Any] = []
    for _ in range(levels):
        found = [found]
    return found


VALUES = [
    (1, 1), (1.5, 1.5), (None, None), ("é", "é"), (2**70, 2**70), (float("nan"), None),
    (float("-inf"), None), ((1, 2), [1, 2]), ({1}, [1]), (deque([1]), [1]), (range(3), [0, 1, 2]),
    ({1: "a"}, {"1": "a"}), ({(1, 2): "a"}, {"(1, 2)": "a"}), (OrderedDict(a=1), {"a": 1}),
    (MappingProxyType({"a": 1}), {"a": 1}), (Point(1, 2.5), {"x": 1, "y": 2.5}),
    (Colour.RED, "red"), (Model(), {"a": 1}), (Name("n"), "n"), (np.float64(0.5), 0.5),
    (np.array([[1, 2]]), [[1, 2]]), (decimal.Decimal("1.10"), "1.10"), (b"ab", "YWI="),
    (UUID(int=1), "00000000-0000-0000-0000-000000000001"), (Path("/x"), "/x"), (Path("a\udce9"), "a?"),
    ({Path("/x"): [Path("/y")]}, {"/x": ["/y"]}),
    (dt.date(2026, 5, 4), "2026-05-04"), ("a\ud800", "a?"), ({"\ud800": "\udfff"}, {"?": "?"}),
    (Count(3), 3), (10**400, 10**400), (10**5000, "<int>"), ({10**5000: [10**5000]}, {"<int>": ["<int>"]}),
    (Loose(), {"a": 1}), (Moment(2026, 5, 4), "2026-05-04T00:00:00"),
    (pd.DataFrame({"a": [1, 2]}), {"a": {"0": 1, "1": 2}}), (pl.DataFrame({"a": [1, 2]}), {"a": [1, 2]}),
    (Broken(), "<Broken>"), (KeyError("x"), "KeyError('x')"), ({"a": [Plain.__name__]}, {"a": ["Plain"]}),
]  # fmt: skip


@pytest.mark.parametrize(("value", "right"), VALUES, ids=lambda value: type(value).__name__)
def test_values(value: Any, right: Any) -> None:
    assert json.loads(spelled(value)) == right


def test_an_object_is_spelled_alike_in_every_process() -> None:
    assert json.loads(spelled(Plain())) == f"<{Plain.__module__}.Plain object>"


def odd() -> Iterator[Any]:
    yield from (value for value, _ in VALUES)
    yield from (circle(), deep(), MagicMock(), Plain(), lambda: None, open)


@dataclasses.dataclass
class Holding:
    held: Any


@pytest.mark.parametrize("levels", [50, 190, 200, 300, 900, 2000, 20_000])
def test_what_is_nested_lands_however_deep(tmp_path: Path, levels: int) -> None:
    """Between what a reader reads and what an encoder writes lie as many levels as there are."""
    value = deep(levels)
    with Recorder(tmp_path / "r.jsonl") as run:
        run.tool_call("f", {"value": value}, {"value": Holding(value)})
        run.outcome(final_state={"value": value}, labels={"value": value})
    report = land([tmp_path / "r.jsonl"], tmp_path / "lake", workers=1)
    assert (report.runs, report.rejects) == (1, {})


def test_all_of_it_lands(tmp_path: Path) -> None:
    count = 0
    with Recorder(tmp_path / "r.jsonl") as run:
        for value in odd():
            run.tool_call("f", {"value": value}, value)
            run.tool_call("f", value, error=value)
            run.llm_call(value, labels={"value": value})
            count += 3
        run.outcome(final_state=deep(), labels={"odd": circle()})
    report = land([tmp_path / "r.jsonl"], tmp_path / "lake", workers=1)
    assert (report.runs, report.steps, report.rejects.total()) == (1, count, 0)
    (batch,) = Lake.open(tmp_path / "lake").batches()
    assert batch.rows("steps") == count
