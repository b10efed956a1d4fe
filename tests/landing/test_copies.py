"""Many differing copies of one run: who wins is as if each were compared with each, at less cost."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from making import call, run, runs_of, steps_of, write

from pipeline.landing import containment
from pipeline.landing.containment import Containment, contains
from pipeline.landing.copies import Copy
from pipeline.landing.identity import resolve
from pipeline.landing.land import land

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from pipeline.landing.report import LandReport

Calls = tuple[int | None, ...]


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    return tmp_path / "lake"


calls = st.lists(st.sampled_from([1, 2, 3, None]), max_size=7).map(tuple)


@st.composite
def families(draw: st.DrawFn) -> list[Calls]:
    """Sequences of which many come from others: cut off, grown, with a gap, the same again."""
    found: list[Calls] = [draw(calls)]
    for _ in range(draw(st.integers(0, 14))):
        of = draw(st.sampled_from(found))
        at = draw(st.integers(0, len(of)))
        ways = [of, of[:at], of + draw(calls), of[:at] + of[at + 1 :], draw(calls)]
        found.append(draw(st.sampled_from(ways)))
    return found


@st.composite
def copies(draw: st.DrawFn) -> list[Copy]:
    """Copies of one run, those of earlier batches first."""
    empty = pl.DataFrame()
    found = []
    sequences = draw(families())
    old = draw(st.integers(0, len(sequences)))
    for row, made in enumerate(sequences):
        finished, more = draw(st.booleans()), draw(st.integers(0, 3))
        batch = f"b-{row % 2}" if row < old else None
        content = hash((made, finished, more, draw(st.integers(0, 1))))
        found.append(
            Copy(
                batch, row, "r", made, finished, len(made) + more, content,
                in_trace=False, begin=0, runs=empty, steps=empty,
            )
        )  # fmt: skip
    return found


def each_with_each(found: Sequence[Copy]) -> tuple[set[int], set[tuple[str, int]], int]:
    """Return what is left out, what is replaced, how often neither won: the rule, word for word."""
    kept: list[Copy] = []
    left: list[Copy] = []
    unresolved = 0
    for copy in found:
        rank = (copy.finished, copy.n_rows)
        if any(
            copy.content == other.content
            or (contains(other.calls, copy.calls) and rank < (other.finished, other.n_rows))
            for other in kept
        ):
            left.append(copy)
            continue
        beaten = [other for other in kept if contains(copy.calls, other.calls)]
        left += beaten
        kept = [*(other for other in kept if not contains(copy.calls, other.calls)), copy]
        unresolved += len(kept) > 1
    old = {(copy.batch, copy.row) for copy in left if copy.batch is not None}
    return {copy.row for copy in left if copy.batch is None}, old, unresolved


@given(copies())
def test_the_same_copies_win_as_if_each_were_compared_with_each(found: list[Copy]) -> None:
    told = resolve(found)
    dropped, replaced, unresolved = each_with_each(found)
    assert (told.dropped, set(told.replaces), len(told.unresolved)) == (
        dropped, replaced, unresolved,
    )  # fmt: skip
    assert len(told.replaces) == len(replaced)


@given(families(), st.data())
def test_what_contains_and_what_is_contained_is_found(
    sequences: list[Calls], data: st.DataObject
) -> None:
    index = Containment(sequences)
    held = set(sequences)
    for sequence in held:
        index.add(sequence)
    for sequence in data.draw(st.sets(st.sampled_from(sequences))):
        index.remove(sequence)
        held.remove(sequence)
    for one in sequences:
        others = [other for other in held if len(other) != len(one)]
        assert Counter(index.longer(one)) == Counter(o for o in others if contains(o, one))
        assert Counter(index.shorter(one)) == Counter(o for o in others if contains(one, o))


def _args(i: int) -> list[dict[str, Any]]:
    return [call("look"), call("find", {"i": i})]


def _same(_i: int) -> list[dict[str, Any]]:
    return [call("look")]


def _turned(i: int) -> list[dict[str, Any]]:
    """Return eight calls in an order of their own: all have the same calls."""
    names, order = list("abcdefgh"), []
    for size in range(8, 0, -1):
        i, at = divmod(i, size)
        order.append(names.pop(at))
    return [call(name) for name in order]


def _grown(i: int) -> list[dict[str, Any]]:
    """Return one of many sessions of which every tenth record goes a call further."""
    return [call("turn", {"session": i % 10, "n": n}) for n in range(i // 10 % 25 + 1)]


def _own(i: int, made: list[dict[str, Any]]) -> dict[str, Any]:
    return run("r", *made, labels={"i": i})


def _pairs(i: int, made: list[dict[str, Any]]) -> dict[str, Any]:
    actual = [{"name": one["tool_name"], "args": one.get("tool_args", {})} for one in made]
    return {"case_id": "r", "actual": actual, "labels": {"i": i}}


def _chat(i: int, made: list[dict[str, Any]]) -> dict[str, Any]:
    asked = [
        {
            "id": f"{n}",
            "type": "function",
            "function": {"name": one["tool_name"], "arguments": str(one.get("tool_args", {}))},
        }
        for n, one in enumerate(made)
    ]
    messages = [
        {"role": "user", "content": f"go {i}"},
        {"role": "assistant", "content": None, "tool_calls": asked},
    ]
    return {"id": "r", "messages": messages}


class Spy:
    """Counts how often sequences are compared, and frames asked for something."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.counts: Counter[str] = Counter()
        self._patch = monkeypatch
        self._count(containment, "contains")
        for name in ("slice", "filter", "select", "row", "rows", "head"):
            self._count(pl.DataFrame, name)

    def _count(self, owner: Any, name: str) -> None:
        original: Callable[..., Any] = getattr(owner, name)

        def counted(*args: Any, **kwargs: Any) -> Any:
            self.counts[name] += 1
            return original(*args, **kwargs)

        self._patch.setattr(owner, name, counted)

    def taken(self) -> Counter[str]:
        counts, self.counts = self.counts, Counter()
        return counts


FEW, MANY = 250, 1000


@pytest.mark.parametrize("shaped", [_own, _pairs, _chat])
@pytest.mark.parametrize(
    ("made", "stay", "of_many"),
    [(_args, FEW, MANY), (_same, 1, 1), (_turned, FEW, MANY), (_grown, 10, 10)],
)
def test_work_grows_with_the_copies_not_with_their_square(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    shaped: Callable[[int, list[dict[str, Any]]], dict[str, Any]],
    made: Callable[[int], list[dict[str, Any]]],
    stay: int,
    of_many: int,
) -> None:
    spy = Spy(monkeypatch)
    work = []
    for size, expected in ((FEW, stay), (MANY, of_many)):
        source = write(tmp_path / f"{size}.jsonl", [shaped(i, made(i)) for i in range(size)])
        report = land([source], tmp_path / f"lake-{size}", workers=1)
        assert (report.runs, report.duplicates) == (expected, size - expected)
        work.append(spy.taken())
    few, many = work
    assert few.pop("contains", 0) <= 2 * FEW
    assert many.pop("contains", 0) <= 2 * MANY
    assert few == many  # frames are asked for whole columns, however many copies there are


def _landed(lake: Path, *records: Sequence[dict[str, Any]]) -> Iterator[LandReport]:
    for number, some in enumerate(records):
        yield land([write(lake.parent / f"{number}.jsonl", some)], lake, workers=1)


def test_many_copies_land_over_several_batches(lake: Path) -> None:
    first = [run("r", *_args(i)) for i in range(40)]
    second = [run("r", *_args(i), call("more")) for i in range(10, 50)]
    third = [run("r", call("find", {"i": i})) for i in range(60)]
    reports = list(_landed(lake, first, second, third))
    told = [(one.runs, one.replaced, one.duplicates, len(one.unresolved)) for one in reports]
    # Second: 30 go on from what the first 40 were, and 10 are new. Third: 50 are parts of those
    # that stay, 10 are new. Of what has landed all but the first have others beside them.
    assert told == [(40, 0, 0, 39), (40, 30, 0, 79), (10, 0, 50, 59)]
    assert runs_of(lake).height == 60
    assert steps_of(lake).height == 10 * 2 + 40 * 3 + 10


def test_runs_without_steps_and_without_calls_among_them(lake: Path) -> None:
    said = {"kind": "final", "content": "x"}
    records = [run("r"), run("r", said), run("r", trial=1), run("r", call("a")), run("r", said)]
    (report,) = _landed(lake, records)
    # One step beats none; one call and no answer contains both, and no fewer rows.
    assert (report.runs, report.duplicates, report.unresolved) == (1, 4, [])
    assert steps_of(lake)["tool_name"].to_list() == ["a"]
    (nothing,) = _landed(lake.parent / "none" / "lake", [run("s"), run("s", trial=1)])
    assert (nothing.runs, nothing.duplicates) == (1, 1)


def test_beyond_the_most_candidates_copies_stay_and_are_warned_of(
    lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(containment, "MOST_CANDIDATES", 5)
    turned = [run("r", call("c"), call("b"), call("a", {"i": i})) for i in range(20)]
    longer, part = run("r", call("b"), call("c"), call("d")), run("r", call("b"), call("c"))
    (report,) = _landed(lake, [*turned, longer, part])
    # The part is looked for in five that are turned, and not in the one that contains it.
    assert (report.runs, report.duplicates, len(report.unresolved)) == (22, 0, 21)
    monkeypatch.undo()
    (report,) = _landed(lake.parent / "all" / "lake", [*turned, longer, part])
    assert (report.runs, report.duplicates, len(report.unresolved)) == (21, 1, 20)
