"""Reference metrics of one run: an expected list of calls against the actual one."""

from __future__ import annotations

from fractions import Fraction
from operator import eq
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from oracle.values import NOT_CAPTURED, Call, Equal, calls_equal, names_equal

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

Item = TypeVar("Item")
Metrics = dict[str, float | int | None]
Exact = dict[str, Fraction | int | None]

ONE = Fraction(1)
HALF = Fraction(1, 2)
SET_COLUMNS = ("set_precision", "set_recall", "set_f1", "set_jaccard")


class Pairs(NamedTuple):
    """n expected items against m actual ones; hits[i][j]: does expected i match actual j?"""

    n: int
    m: int
    hits: list[list[bool]]


def compare(
    expected: Sequence[Item], actual: Sequence[Item], equal: Callable[[Item, Item], bool]
) -> Pairs:
    hits = [[equal(e, a) for a in actual] for e in expected]
    return Pairs(len(expected), len(actual), hits)


def as_floats(metrics: Exact) -> Metrics:
    """Counts and 0/1 columns stay integers; a fraction is rounded here, once."""
    return {k: float(v) if isinstance(v, Fraction) else v for k, v in metrics.items()}


def share(count: int | Fraction, total: int, empty: int) -> Fraction:
    return Fraction(empty) if total == 0 else Fraction(count) / total


def hits_by_position(pairs: Pairs) -> list[bool]:
    return [pairs.hits[i][i] for i in range(min(pairs.n, pairs.m))]


def prefix_length(pairs: Pairs) -> int:
    length = 0
    for hit in hits_by_position(pairs):
        if not hit:
            break
        length += 1
    return length


def in_order_count(pairs: Pairs) -> int:
    """Walk over the actual calls, waiting for one expected call after the other."""
    waiting_for = 0
    for j in range(pairs.m):
        if waiting_for < pairs.n and pairs.hits[waiting_for][j]:
            waiting_for += 1
    return waiting_for


def lcs_length(pairs: Pairs) -> int:
    """best[i][j] is the longest common subsequence of the first i expected, j actual calls."""
    best = [[0] * (pairs.m + 1) for _ in range(pairs.n + 1)]
    for i in range(1, pairs.n + 1):
        for j in range(1, pairs.m + 1):
            best[i][j] = max(best[i - 1][j], best[i][j - 1])
            if pairs.hits[i - 1][j - 1]:
                best[i][j] = max(best[i][j], best[i - 1][j - 1] + 1)
    return best[pairs.n][pairs.m]


def maximum_matching(pairs: Pairs) -> int:
    """Size of the largest one-to-one matching, by augmenting paths (Kuhn)."""
    partner: dict[int, int] = {}  # actual j -> expected i

    def place(i: int, tried: set[int]) -> bool:
        for j in range(pairs.m):
            if pairs.hits[i][j] and j not in tried:
                tried.add(j)
                if j not in partner or place(partner[j], tried):
                    partner[j] = i
                    return True
        return False

    return sum(place(i, set()) for i in range(pairs.n))


def distinct(items: Sequence[Item], same: Callable[[Item, Item], bool]) -> list[Item]:
    kept: list[Item] = []
    for item in items:
        if not any(same(other, item) for other in kept):
            kept.append(item)
    return kept


def overlap_rates(tp: int, n: int, m: int) -> tuple[Fraction, Fraction, Fraction]:
    """Precision, recall and F1."""
    precision = share(tp, m, empty=1 if n == 0 else 0)
    recall = share(tp, n, empty=1)
    total = precision + recall
    return precision, recall, 2 * precision * recall / total if total else Fraction(0)


def ordered_metrics(pairs: Pairs) -> Exact:
    n, m = pairs.n, pairs.m
    in_place = hits_by_position(pairs)
    in_order = share(in_order_count(pairs), n, empty=1)
    lcs = lcs_length(pairs)
    return {
        "exact_match": int(n == m and all(in_place)),
        "prefix_match": share(prefix_length(pairs), max(n, m), empty=1),
        "position_match": share(sum(in_place), max(n, m), empty=1),
        "in_order": in_order,
        "in_order_match": int(in_order == 1),
        "lcs": share(lcs, n, empty=1),
        "lcs_f1": share(2 * lcs, n + m, empty=1),
    }


def multiset_metrics(pairs: Pairs) -> Exact:
    n, m = pairs.n, pairs.m
    tp = maximum_matching(pairs)  # of a key equality, this is the multiset intersection
    precision, recall, f1 = overlap_rates(tp, n, m)
    return {
        "tp": tp,
        "precision": precision,
        "recall": recall,
        "f1": f1,
        "any_order_match": int(tp == n),
        "unordered_match": int(tp == n == m),
        "only_expected": int(tp == m),
        "n_missing": n - tp,
        "n_extra": m - tp,
    }


def set_metrics(
    expected: Sequence[Item], actual: Sequence[Item], same: Callable[[Item, Item], bool]
) -> Exact:
    distinct_expected, distinct_actual = distinct(expected, same), distinct(actual, same)
    n, m = len(distinct_expected), len(distinct_actual)
    tp = sum(any(same(e, a) for a in distinct_actual) for e in distinct_expected)
    jaccard = share(tp, n + m - tp, empty=1)
    return dict(zip(SET_COLUMNS, (*overlap_rates(tp, n, m), jaccard), strict=True))


def level_metrics(
    expected: Sequence[Item],
    actual: Sequence[Item],
    equal: Callable[[Item, Item], bool],
    same: Callable[[Item, Item], bool],
    *,
    by_key: bool,
) -> Exact:
    """Every column that exists once per level; `same` is the equality by key."""
    pairs = compare(expected, actual, equal)
    sets: Exact = dict.fromkeys(SET_COLUMNS)
    if by_key:
        sets = set_metrics(expected, actual, same)
    n_duplicate = len(actual) - len(distinct(actual, same))
    return {
        **ordered_metrics(pairs),
        **multiset_metrics(pairs),
        **sets,
        "n_duplicate": n_duplicate,
    }


def accuracy_metrics(full: Pairs, names: Pairs) -> Exact:
    """The columns that give half the credit where only the name matches."""
    longer = max(full.n, full.m)
    best = (maximum_matching(full) + maximum_matching(names)) * HALF
    by_position = sum(
        (ONE if whole else HALF if name else Fraction(0))
        for whole, name in zip(hits_by_position(full), hits_by_position(names), strict=True)
    )
    return {
        "call_accuracy": share(best, longer, empty=1),
        "call_accuracy_position": share(by_position, longer, empty=1),
    }


def lacks_arguments(expected: Sequence[Call], actual: Sequence[Call]) -> bool:
    """Is a call that the reference gives with arguments not captured?"""
    with_arguments = {call.name for call in expected if call.args is not None}
    return any(call.args is NOT_CAPTURED and call.name in with_arguments for call in actual)


def argument_metrics(
    expected: Sequence[Call], actual: Sequence[Call], equal: Equal, key_equal: Equal | None
) -> Exact:
    any_arguments = equal is not names_equal and any(call.args is None for call in expected)
    by_key = key_equal is None and not any_arguments
    metrics = level_metrics(expected, actual, equal, key_equal or equal, by_key=by_key)
    full, names = compare(expected, actual, equal), compare(expected, actual, names_equal)
    metrics |= accuracy_metrics(full, names)
    if equal is not names_equal and lacks_arguments(expected, actual):
        return dict.fromkeys(metrics)
    return metrics


def reference_metrics(
    expected: Sequence[Call],
    actual: Sequence[Call],
    equal: Equal = calls_equal,
    *,
    key_equal: Equal | None = None,
) -> Metrics:
    """Every reference column of one run, at argument level and, suffixed `_names`, by names.

    `equal(expected_call, actual_call)` decides a match. Where it is no equality by key but only
    a relation (a subset mode, a tolerance, a pattern), `key_equal` gives the equality by key
    that `n_duplicate` needs, and `set_*` are None. Expected calls with any arguments make the
    default `equal` a relation by themselves.

    >>> reference_metrics([Call("a", {"x": 1})], [Call("a", {"x": 1.0})])["exact_match"]
    1
    """
    by_names = level_metrics(expected, actual, names_equal, names_equal, by_key=True)
    return as_floats(
        {
            "n_expected": len(expected),
            "n_calls": len(actual),
            **argument_metrics(expected, actual, equal, key_equal),
            **{f"{column}_names": value for column, value in by_names.items()},
        }
    )


def sequence_metrics(expected: Sequence[Hashable], actual: Sequence[Hashable]) -> Metrics:
    """The same columns over plain keys, without a names level and so without `call_accuracy*`.

    >>> sequence_metrics("abca", "adca")["lcs_f1"]
    0.75
    """
    return as_floats(
        {
            "n_expected": len(expected),
            "n_calls": len(actual),
            **level_metrics(expected, actual, eq, eq, by_key=True),
        }
    )
