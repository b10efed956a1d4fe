"""Runs of 2,000 calls against 2,000 expected ones: they finish, and are right."""

from __future__ import annotations

import random
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
from oracle.policies import Made, Wanted
from scoring.ruling import Case, differences, judged

from pipeline.errors import InputError
from pipeline.scoring.matching import keyed

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

LONG = 2000
chance = random.Random()  # noqa: S311 - reproducible data, no secret


@pytest.fixture(autouse=True)
def same_data() -> None:
    """Give every test its own numbers, in whatever order tests run."""
    chance.seed(20)


def walked(expected: Sequence[Any], actual: Sequence[Any], fits: Callable[[Any, Any], bool]) -> int:
    """How many expected items the two-pointer walk meets."""
    met = 0
    for item in actual:
        met += met < len(expected) and fits(expected[met], item)
    return met


def longest_common(
    expected: Sequence[Any], actual: Sequence[Any], fits: Callable[[Any, Any], bool]
) -> int:
    """The textbook table, one row at a time."""
    hits = {e: [fits(e, a) for a in actual] for e in set(expected)}
    above = [0] * (len(actual) + 1)
    for e in expected:
        last = 0
        row = [last]
        for hit, corner, over in zip(hits[e], above, above[1:], strict=False):
            last = corner + 1 if hit else max(over, last)
            row.append(last)
        above = row
    return above[-1]


def shared(expected: Sequence[Hashable], actual: Sequence[Hashable]) -> int:
    return (Counter(expected) & Counter(actual)).total()


def near(e: float, a: float) -> bool:
    return abs(e - a) <= 2


def most_near(expected: Sequence[int], actual: Sequence[int]) -> int:
    """Maximum matching of numbers at most 2 apart: from the least up, each takes the least it can."""
    count, waiting = 0, sorted(actual)
    for e in sorted(expected):
        while waiting and waiting[0] < e - 2:
            waiting.pop(0)
        if waiting and waiting[0] <= e + 2:
            waiting.pop(0)
            count += 1
    return count


def right(n: int, m: int, walk: int, lcs: int, tp: int) -> dict[str, Any]:
    return {
        "n_expected": n, "n_calls": m, "tp": tp, "n_missing": n - tp, "n_extra": m - tp,
        "in_order": walk / n, "in_order_match": int(walk == n), "lcs": lcs / n,
        "lcs_f1": 2 * lcs / (n + m), "precision": tp / m, "recall": tp / n, "f1": 2 * tp / (n + m),
    }  # fmt: skip


def case(expected: Sequence[int], actual: Sequence[int], **fields: Any) -> Case:
    wanted = [Wanted("f", {"x": e}, **fields) for e in expected]
    return Case(wanted, [Made("f", {"x": a}) for a in actual])


def drawn(kinds: int, size: int = LONG) -> list[int]:
    return [chance.randrange(kinds) for _ in range(size)]


def test_equality() -> None:
    once, again = list(range(LONG)), list(reversed(range(LONG)))
    many, others = drawn(7), drawn(7)
    rows = judged(
        {"match": {}}, [case(once, once), case(once, again), case(many, others), case(many, once)]
    )
    same, reverse, heavy, rare = rows
    assert not differences(
        same, right(LONG, LONG, LONG, LONG, LONG) | {"exact_match": 1, "call_accuracy": 1}
    )
    # backwards, the walk meets the first expected call last, and two calls never rise
    assert not differences(
        reverse, right(LONG, LONG, 1, 1, LONG) | {"unordered_match": 1, "position_match": 0}
    )
    lcs = longest_common(many, others, int.__eq__)
    walk = walked(many, others, int.__eq__)
    assert not differences(heavy, right(LONG, LONG, walk, lcs, shared(many, others)))
    hits = sum(map(int.__eq__, many, others))
    in_place = {"position_match": hits / LONG, "call_accuracy_position": (hits + LONG) / (2 * LONG)}
    assert not differences(heavy, in_place)
    # of the calls 0 to 1999 the seven come once each, in order
    assert (rare["tp"], rare["n_duplicate"]) == (7, 0)
    assert rare["in_order"] == walked(many, once, int.__eq__) / LONG
    assert heavy["set_jaccard"] == 1
    assert heavy["n_duplicate"] == LONG - 7


def test_a_relation() -> None:
    told = {"match": {"rule": [{"arg": "x", "tolerance": 2}]}}
    expected, spread = drawn(300), drawn(600)
    close = [e + chance.randint(-2, 2) for e in expected]
    rows = judged(told, [case(expected, close), case(expected, spread), case(drawn(5), drawn(5))])
    assert not differences(
        rows[0], right(LONG, LONG, LONG, LONG, LONG) | {"exact_match": 1, "set_f1": None}
    )
    lcs = longest_common(expected, spread, near)
    assert not differences(
        rows[1], right(LONG, LONG, walked(expected, spread, near), lcs, most_near(expected, spread))
    )
    assert rows[2]["n_duplicate"] == LONG - 5


def test_calls_of_which_any_arguments_will_do() -> None:
    """Half of the expected calls take any arguments: whatever the rest leaves over is theirs."""
    told, actual = drawn(40), drawn(40)
    wanted = [Wanted("f", None if i % 2 else {"x": e}) for i, e in enumerate(told)]
    (row,) = judged({"match": {}}, [Case(wanted, [Made("f", {"x": a}) for a in actual])])
    given = shared(told[::2], actual)
    open_ends: list[int | None] = [None if i % 2 else e for i, e in enumerate(told)]

    def fits(e: int | None, a: int) -> bool:
        return e is None or e == a

    walk, lcs = walked(open_ends, actual, fits), longest_common(open_ends, actual, fits)
    assert not differences(row, right(LONG, LONG, walk, lcs, given + LONG // 2))


def test_parallel_calls() -> None:
    """In responses of four, shuffled; then with every fourth call of another tool."""
    order = list(range(LONG))
    shuffled = [a for at in range(0, LONG, 4) for a in chance.sample(order[at : at + 4], 4)]
    expected = [Wanted("f", {"x": e}) for e in order]
    actual = [Made("f", {"x": a}, response=i // 4) for i, a in enumerate(shuffled)]
    some = [a._replace(name="g") if i % 4 == 0 else a for i, a in enumerate(actual)]
    rows = judged(
        {"match": {"parallel": "unordered"}}, [Case(expected, actual), Case(expected, some)]
    )
    assert not differences(rows[0], right(LONG, LONG, LONG, LONG, LONG) | {"exact_match": 1})
    kept = LONG * 3 // 4
    assert not differences(
        rows[1], {"tp": kept, "lcs": kept / LONG, "f1": kept / LONG, "exact_match": 0}
    )


def test_optional_calls() -> None:
    """Every second call is optional, and every second of those is left out."""
    size = 400
    expected = [Wanted("f", {"x": e}, optional=e % 2 == 1) for e in range(size)]
    actual = [Made("f", {"x": e}) for e in range(size) if e % 4 != 3]
    (row,) = judged({"match": {}}, [Case(expected, actual)])
    assert not differences(
        row, {"n_expected": size * 3 // 4, "exact_match": 1, "f1": 1, "call_accuracy": 1}
    )


def test_turns() -> None:
    told, actual = drawn(7), drawn(7)
    per_turn = LONG // 100
    wanted = [Wanted("f", {"x": e}, turn=i // per_turn) for i, e in enumerate(told)]
    made = [Made("f", {"x": a}, i // per_turn) for i, a in enumerate(actual)]
    (row,) = judged({"match": {"unit": "turn"}}, [Case(wanted, made, 99)])
    turns = [slice(at, at + per_turn) for at in range(0, LONG, per_turn)]
    lengths = [longest_common(told[t], actual[t], int.__eq__) for t in turns]
    found = [shared(told[t], actual[t]) for t in turns]
    assert not differences(
        row, {"lcs": sum(lengths) / LONG, "tp": sum(found), "recall": sum(found) / LONG}
    )


@pytest.mark.parametrize(("n", "m"), [(1, 999), (999, 1)])
def test_more_calls_than_there_is_room_for_are_refused(
    n: int, m: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Room is for a million calls; with room for 1000 numbers, two of them spare, 998 are taken."""
    monkeypatch.setattr(keyed, "ORDINAL", 1000)
    shorter = Case([Wanted("f")], [Made("f", {})] * 600)
    with pytest.raises(InputError, match="has 999 calls; at most 998 can be scored"):
        judged({"match": {}}, [shorter, Case([Wanted("f")] * n, [Made("f", {})] * m)])
    taken = Case([Wanted("f")] * min(n, 998), [Made("f", {})] * min(m, 998))
    assert [row["tp"] for row in judged({"match": {}}, [shorter, taken])] == [1, 1]
