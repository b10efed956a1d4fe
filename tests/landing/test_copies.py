"""Many differing copies of one run: who wins is as if each were compared with each, at less cost."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from making import call, run, runs_of, steps_of, write

from pipeline.cli.land import unresolved
from pipeline.lake import Lake
from pipeline.landing.again import containment
from pipeline.landing.again.containment import Containment, contains
from pipeline.landing.again.copies import Copy
from pipeline.landing.again.identity import resolve
from pipeline.landing.batch import chunks
from pipeline.landing.land import land

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

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
    """Copies of one run, in the order in which they land."""
    found = []
    for row, made in enumerate(draw(families())):
        finished, more = draw(st.booleans()), draw(st.integers(0, 3))
        content = hash((made, finished, more, draw(st.integers(0, 1))))
        found.append(
            Copy(None, row, "r", made, finished, len(made) + more, content, in_trace=False)
        )
    return found


def each_with_each(found: Sequence[Copy]) -> list[Copy]:
    """Return the copies that stay: the rule, word for word."""
    kept: list[Copy] = []
    for copy in found:
        rank = (copy.finished, copy.n_rows)
        if any(
            copy.content == other.content
            or (copy.calls == other.calls and rank < (other.finished, other.n_rows))
            or (copy.calls != other.calls and contains(other.calls, copy.calls))
            for other in kept
        ):
            continue
        kept = [*(other for other in kept if not contains(copy.calls, other.calls)), copy]
    return kept


@given(copies(), st.lists(st.integers(0, 15), max_size=3).map(sorted))
def test_the_same_copies_win_as_if_each_were_compared_with_each(
    found: list[Copy], cuts: list[int]
) -> None:
    """In whatever batches they land: what was decided stands."""
    stand: list[Copy] = []
    for batch, (begin, end) in enumerate(pairwise([0, *cuts, len(found)])):
        told = resolve([*stand, *found[begin:end]]) if found[begin:end] else None
        if told is None:
            continue
        gone = {row for _, row in told.replaces} | told.dropped
        assert len(told.replaces) + len(told.dropped) == len(gone)
        assert {row for _, row in told.replaces} <= {copy.row for copy in stand}
        fresh = [copy for copy in found[begin:end] if copy.row not in gone]
        stand = [copy for copy in stand if copy.row not in gone]
        beside = len(fresh) if len(stand) + len(fresh) > 1 else 0
        assert told.unresolved == ({"r": beside} if beside else {})
        stand += [copy._replace(batch=f"b-{batch}") for copy in fresh]
    assert [copy.row for copy in stand] == [copy.row for copy in each_with_each(found)]


@given(copies(), st.data())
def test_the_same_calls_stay_in_whatever_order_their_copies_land(
    found: list[Copy], data: st.DataObject
) -> None:
    """And of the same calls a finished copy, and among these one of the most steps."""
    turned = data.draw(st.permutations(found))
    stay = [
        {copy.calls: copy.rank for copy in order if copy.row not in resolve(order).dropped}
        for order in (found, turned)
    ]
    assert stay[0] == stay[1]


@pytest.mark.parametrize("few", [0, 2, 64])
@pytest.mark.parametrize("room", [0, 9, 1 << 26])
@given(sequences=families(), data=st.data())
def test_what_contains_and_what_is_contained_is_found(
    few: int, room: int, sequences: list[Calls], data: st.DataObject
) -> None:
    """Whether candidates are looked at one by one, or all are walked at once, or as fits."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(containment, "FEW", few)
        patch.setattr(containment, "STEPS", 1 << 16)
        patch.setattr(containment, "PLANES_BYTES", room)
        finds_what_contains(sequences, data)


def finds_what_contains(sequences: list[Calls], data: st.DataObject) -> None:
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
    told = [(one.runs, one.replaced, one.duplicates, dict(one.unresolved)) for one in reports]
    # Second: 30 go on from what the first 40 were, and 10 are new. Third: 50 are parts of those
    # that stay, 10 are new. Each is warned of when it lands, once.
    assert told == [(40, 0, 0, {"r": 40}), (40, 30, 0, {"r": 40}), (10, 0, 50, {"r": 10})]
    assert runs_of(lake).height == 60
    assert steps_of(lake).height == 10 * 2 + 40 * 3 + 10
    batches = Lake.open(lake).batches()
    assert sorted(batch.manifest["unresolved"]["r"] for batch in batches) == [10, 40, 40]


def test_a_run_is_named_once_however_many_of_its_copies_stay(
    tmp_path: Path, lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chunks, "MOST_RECORDS", 100)
    source = write(tmp_path / "a.jsonl", [run(f"r{i % 5}", *_args(i)) for i in range(1000)])
    report = land([source], lake, workers=1)
    assert report.batches == 10
    assert report.unresolved == {f"r{i}": 200 for i in range(5)}
    said = "copies of 5 runs stay beside each other, as none contains another's calls"
    assert unresolved(report.unresolved).startswith(
        f"warning: {said}; landed now: r0 (200), r1 (200), "
    )
    again = land([source], lake, workers=1)
    assert (again.already, again.unresolved) == (10, {})


@pytest.mark.parametrize("batches", [3, 9])
def test_each_batch_is_read_twice_for_its_copies_however_many_follow(
    tmp_path: Path, lake: Path, monkeypatch: pytest.MonkeyPatch, batches: int
) -> None:
    """Once for what all its copies hold, once for the calls of those that differ."""
    monkeypatch.setattr(chunks, "MOST_RECORDS", 10)
    opened: Counter[str] = Counter()
    compared: Counter[str] = Counter()
    read = pl.read_parquet

    def counted(source: Any, **kwargs: Any) -> pl.DataFrame:
        opened[Path(source).parent.name + Path(source).name] += 1
        return read(source, **kwargs)

    def contained(longer: Calls, shorter: Calls) -> bool:
        compared["contains"] += 1
        return contains(longer, shorter)

    monkeypatch.setattr(pl, "read_parquet", counted)
    monkeypatch.setattr(containment, "contains", contained)
    records = [run(f"r{i % 5}", call("find", {"i": i}), call("look")) for i in range(10 * batches)]
    report = land([write(tmp_path / "a.jsonl", records)], lake, workers=1)
    assert (report.batches, report.runs) == (batches, 10 * batches)
    steps = {name: count for name, count in opened.items() if name.endswith("steps.parquet")}
    assert len(steps) == batches - 1
    assert set(steps.values()) == {2}
    assert compared["contains"] == 0  # all are as long: none is looked at


def test_runs_without_steps_and_without_calls_among_them(lake: Path) -> None:
    said = {"kind": "final", "content": "x"}
    records = [run("r"), run("r", said), run("r", trial=1), run("r", call("a")), run("r", said)]
    (report,) = _landed(lake, records)
    # One step beats none; one call and no answer contains both, and no fewer rows.
    assert (report.runs, report.duplicates, report.unresolved) == (1, 4, {})
    assert steps_of(lake)["tool_name"].to_list() == ["a"]
    (nothing,) = _landed(lake.parent / "none" / "lake", [run("s"), run("s", trial=1)])
    assert (nothing.runs, nothing.duplicates) == (1, 1)


def test_of_very_many_that_may_contain_it_the_one_is_found_that_does(lake: Path) -> None:
    turned = [run("r", call("c"), call("b"), call("a", {"i": i})) for i in range(200)]
    longer, part = run("r", call("b"), call("c"), call("d")), run("r", call("b"), call("c"))
    (report,) = _landed(lake, [*turned, longer, part])
    assert (report.runs, report.duplicates, report.unresolved) == (201, 1, {"r": 201})


@pytest.mark.parametrize("size", [1000, 4000])
def test_calls_over_few_tools_are_not_compared_one_by_one(
    monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    chance = Random(1)  # noqa: S311 - made up
    made = [tuple(chance.choices(range(4), k=chance.randint(1, 12))) for _ in range(size)]
    found = [
        Copy(None, row, "r", calls, True, len(calls), row, in_trace=False)  # noqa: FBT003
        for row, calls in enumerate(made)
    ]
    compared: Counter[str] = Counter()

    def contained(longer: Calls, shorter: Calls) -> bool:
        compared["contains"] += 1
        return contains(longer, shorter)

    monkeypatch.setattr(containment, "contains", contained)
    told = resolve(found)
    assert told.unresolved == {"r": size - len(told.dropped)}
    assert compared["contains"] < 30 * size
