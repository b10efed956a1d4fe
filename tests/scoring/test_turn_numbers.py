"""`match.unit = "turn"` where turns have numbers that no count reaches: a clock's, an id's."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from making import call, run, want
from oracle.policies import Made, Wanted
from scoring.drawing import few, made, wanted
from scoring.ruling import FEW, Case, check, differences, expected_call, record, scored

TURN = {"match": {"unit": "turn"}}
CLOCK = 1_760_000_000
LAST = 2**32 - 1


def case(expected: dict[int, str], actual: dict[int, str], last: int) -> Case:
    """One letter per call, turn by turn."""
    return Case(
        [Wanted(letter, {}, turn=turn) for turn, some in expected.items() for letter in some],
        [Made(letter, {}, turn) for turn, some in actual.items() for letter in some],
        last,
    )


BY_HAND = {
    # Turns 0 and 1 of the reference face the first and the second that the run has: a, and c for b.
    "a clock's against counted ones": (
        case({0: "a", 1: "b"}, {CLOCK: "a", CLOCK + 60: "c"}, CLOCK + 60),
        {"exact_match_turns": 1 / 2, "f1": 1 / 2, "tp": 1, "n_expected": 2, "n_calls": 2},
    ),
    # The answer came in a third turn, in which nothing was called or expected.
    "a turn without calls": (
        case({0: "a", 1: "b"}, {CLOCK: "a", CLOCK + 60: "c"}, CLOCK + 90),
        {"exact_match_turns": 2 / 3, "f1": 2 / 3},
    ),
    # In the turn between nothing is expected, as both sides' clocks say: 3 turns, of which 2 hold.
    "one clock's": (
        case({CLOCK: "a", CLOCK + 90: "b"}, {CLOCK: "a", CLOCK + 60: "x", CLOCK + 90: "b"}, CLOCK + 90),
        {"exact_match_turns": 2 / 3, "f1": 2 / 3, "recall": 1, "precision": 2 / 3},
    ),
    "a reference's clock": (
        case({CLOCK: "a", CLOCK + 60: "b"}, {0: "a", 1: "b"}, 1), {"exact_match": 1, "f1": 1},
    ),
    # Turns 0 and 5 of the reference count: 1 to 4 are turns, empty ones; the run has two.
    "counted ones keep their gaps": (
        case({0: "a", 5: "b"}, {CLOCK: "a", CLOCK + 1: "b"}, CLOCK + 1),
        {"exact_match_turns": 4 / 6, "recall": 5 / 6, "tp": 1},
    ),
    "nothing expected": (
        case({}, {7: "a", CLOCK: "b"}, CLOCK), {"exact_match_turns": 0, "f1": 0, "recall": 1},
    ),
    "the greatest there is": (
        case({0: "a", LAST: "b"}, {0: "a", LAST: "b"}, LAST), {"exact_match": 1, "exact_match_turns": 1},
    ),
    # The first that is no count; the last that is one lays out every turn before it.
    "the first name": (case({0: "a"}, {100_000: "a"}, 100_000), {"exact_match_turns": 1}),
    "the last count": (
        case({0: "a"}, {99_999: "a"}, 99_999), {"exact_match_turns": 99_998 / 100_000},
    ),
}  # fmt: skip


@pytest.mark.parametrize(("one", "right"), BY_HAND.values(), ids=BY_HAND)
def test_by_hand(one: Case, right: dict[str, float]) -> None:
    (row,) = scored(
        TURN, [record(0, [expected_call(e) for e in one.expected], one.actual, one.last_turn)]
    )
    assert not differences(row, right)


def test_neighbours_in_a_batch_are_as_they_are_alone() -> None:
    cases = [one for one, _ in list(BY_HAND.values())[:7]]
    plain = case({0: "a", 3: "b"}, {0: "a", 3: "c"}, 3)
    rows = check(TURN, [plain, *cases, plain])
    assert [rows[0]["exact_match_turns"], rows[-1]["exact_match_turns"]] == [3 / 4, 3 / 4]


def test_alternatives_are_laid_out_each_for_itself() -> None:
    """The first counts its turns, the second names them as the run does, and fits."""
    references = [
        [Wanted("a", {}, turn=0), Wanted("b", {}, turn=2)],
        [Wanted("a", {}, turn=CLOCK), Wanted("b", {}, turn=CLOCK + 5)],
    ]
    actual = [Made("a", {}, CLOCK), Made("b", {}, CLOCK + 5)]
    told = [[expected_call(e) for e in one] for one in references]
    (row,) = scored(TURN, [record(0, told, actual, CLOCK + 5)])
    assert (row["reference_id"], row["exact_match"]) == (1, 1)


@pytest.mark.parametrize(("turns", "f1"), [((CLOCK, CLOCK + 60), 1), ((1, 2), 0)])
def test_a_step_that_tells_no_turn_is_in_the_first(turns: tuple[int, int], f1: float) -> None:
    """Which is 0 where numbers count: a and b then come a turn later than expected."""
    calls = [call(name, turn_index=turn) for name, turn in zip("ab", turns, strict=True)]
    expected = [want("a", turn_index=0), want("b", turn_index=1)]
    (row,) = scored(TURN, [run("r", {"kind": "llm_call"}, *calls, expected=expected)])
    assert row["f1"] == f1


numbers = st.sampled_from([0, 1, 2, 100_000, CLOCK, CLOCK + 60, LAST])


@settings(FEW)
@given(
    st.lists(
        st.builds(
            Case,
            st.lists(st.builds(lambda c, n: c._replace(turn=n), wanted(few), numbers), max_size=5),
            st.lists(st.builds(lambda c, n: c._replace(turn=n), made(few), numbers), max_size=5),
            numbers,
        ),
        min_size=1,
        max_size=12,
    )
)
def test_any_numbers_agree_with_the_oracle(some: list[Case]) -> None:
    check(TURN, some)
