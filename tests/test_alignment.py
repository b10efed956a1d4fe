"""The alignment of two runs, whatever the calls."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st
from oracle import matching

from pipeline.report.alignment import Calls, align


def masks(expected, actual, same):
    return [sum(1 << i for i, e in enumerate(expected) if same(e, a)) for a in actual]


lists = st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 2)), max_size=10)


@given(lists, lists)
def test_alignment_places_every_call_once_along_a_longest_subsequence(expected, actual):
    calls = Calls(
        len(expected),
        masks(expected, actual, lambda e, a: e == a),
        masks(expected, actual, lambda e, a: e[0] == a[0]),
        range(len(actual)),
    )
    rows = align(calls, lambda i, j: abs(expected[i][1] - actual[j][1]))
    assert Counter(row.expected for row in rows if row.expected is not None) == Counter(
        range(len(expected))
    )
    assert Counter(row.actual for row in rows if row.actual is not None) == Counter(
        range(len(actual))
    )
    held = [(row.expected, row.actual) for row in rows if row.marker == "equal"]
    pairs = matching.compare(expected, actual, lambda e, a: e == a)
    assert len(held) == matching.lcs_length(pairs)
    assert [j for _, j in held] == sorted(j for _, j in held)
    moved = [(row.expected, row.actual) for row in rows if row.marker == "moved"]
    assert len(held) + len(moved) == matching.maximum_matching(pairs)
    for i, j in held + moved:
        assert expected[i] == actual[j]
    in_order = [row.expected for row in rows if row.expected is not None]
    assert in_order == sorted(in_order)


@given(st.lists(st.integers(0, 3), min_size=1, max_size=12), st.data())
def test_one_call_left_out_is_one_row(names, data):
    """Whatever call is left out of a perfect run, the others stay equal."""
    left_out = data.draw(st.integers(0, len(names) - 1))
    actual = names[:left_out] + names[left_out + 1 :]
    equal = masks(names, actual, lambda e, a: e == a)
    rows = align(Calls(len(names), equal, equal, range(len(actual))), lambda _i, _j: 1)
    assert Counter(row.marker for row in rows) == Counter(missing=1, equal=len(actual))
