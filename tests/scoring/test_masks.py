"""References and runs at the edges of what masks and rounds hold, against the oracle."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from making import call, run, scores_of, want, write
from oracle import Call, calls_equal, reference_metrics

from pipeline.lake import Lake
from pipeline.landing.land import land
from pipeline.scoring import score
from pipeline.scoring.matching.assignment import assign
from pipeline.scoring.matching.keyed import MOST_ROUNDS
from pipeline.scoring.matching.masks import BITS, WIDTHS

if TYPE_CHECKING:
    from pathlib import Path

    from hypothesis.strategies import SearchStrategy

WIDTH_EDGES = sorted({width + beyond for width in WIDTHS for beyond in (-1, 0, 1)})


def calls_of(numbers: list[int]) -> list[Call]:
    """Return calls of three tools, told apart by an argument."""
    return [Call("abc"[number % 3], {"x": number}) for number in numbers]


def scored(lake: Path, pairs: list[tuple[list[Call], list[Call]]]) -> Path:
    """Land and score runs, each with its own reference."""
    records = [
        run(
            f"r{i:04}",
            *(call(c.name, c.args) for c in actual),
            expected=[
                want(c.name, c.args) if c.args is not None else {"tool_name": c.name}
                for c in expected
            ],
        )
        for i, (expected, actual) in enumerate(pairs)
    ]
    land([write(lake.parent / "runs.jsonl", records)], lake, format="trajtab", workers=1)
    score(lake)
    return lake


def agrees(lake: Path, pairs: list[tuple[list[Call], list[Call]]]) -> None:
    for row, (expected, actual) in zip(scores_of(lake).to_dicts(), pairs, strict=True):
        right = reference_metrics(expected, actual, calls_equal)
        found = {name: row[name] for name in right}
        assert found == pytest.approx(right, abs=1e-12), (len(expected), len(actual))


@pytest.mark.parametrize("n", WIDTH_EDGES)
def test_references_as_long_as_a_mask_is_wide(n: int, tmp_path: Path) -> None:
    """The last bit, the carry out of it, and one position more; alone and beside short ones."""
    once, few = list(range(n)), [number % 5 for number in range(n)]
    shapes = [
        (once, once),
        (once, once[::-1]),
        (once, [*once, *once]),
        (once, once[1:]),
        (once, [*once[:-1], -1]),
        (few, few),
        (few, few[::-1]),
        (few, [*few, 0, 1]),
        (once, []),
    ]
    pairs = [(calls_of(expected), calls_of(actual)) for expected, actual in shapes]
    agrees(scored(tmp_path / "lake", pairs), pairs)


@pytest.mark.parametrize("m", [MOST_ROUNDS, MOST_ROUNDS + 1])
def test_runs_with_as_many_calls_as_there_are_rounds(m: int, tmp_path: Path) -> None:
    many = [number % 4 for number in range(m)]
    pairs = [
        (calls_of([0, 1, 2, 3, 0]), calls_of(many)),
        (calls_of([3, 3, 9]), calls_of(many[:3])),
        ([Call("a", None), Call("b", {"x": 1})], calls_of(many)),
    ]
    agrees(scored(tmp_path / "lake", pairs), pairs)


expected_calls: SearchStrategy[Call] = st.builds(
    Call, st.sampled_from("ab"), st.sampled_from([None, {"x": 1}, {"x": 2}])
)
actual_calls: SearchStrategy[Call] = st.builds(
    Call, st.sampled_from("abc"), st.sampled_from([{"x": 1}, {"x": 2}, {"x": 3}])
)


@settings(max_examples=20)
@given(
    st.lists(
        st.tuples(st.lists(expected_calls, max_size=7), st.lists(actual_calls, max_size=9)),
        min_size=30,
        max_size=60,
    )
)
def test_each_call_meets_the_position_that_a_search_would_give_it(
    tmp_path_factory: pytest.TempPathFactory, pairs: list[tuple[list[Call], list[Call]]]
) -> None:
    """Calls of any arguments beside calls told by key: masks decide only where they may."""
    lake = scored(tmp_path_factory.mktemp("masks") / "lake", pairs)
    agrees(lake, pairs)
    found = met(lake)
    for i, (expected, actual) in enumerate(pairs):
        fits = [
            sum(1 << place for place, e in enumerate(expected) if calls_equal(e, a)) for a in actual
        ]
        right: list[int | None] = [None] * len(actual)
        for place, taker in assign(fits, len(expected)).items():
            right[taker] = place
        assert found.get(f"r{i:04}", []) == right


def met(lake: Path) -> dict[str, list[Any]]:
    """Return, by run, the expected position of each of its calls."""
    (folder,) = Lake.open(lake).path.glob("scores/*/*")
    calls = pl.read_parquet(folder / "call_scores.parquet")
    by_run = calls.group_by("run_id", maintain_order=True).agg("expected_position")
    return dict(by_run.iter_rows())


def test_no_mask_is_wider_than_the_engine_counts() -> None:
    assert max(WIDTHS) == BITS == pl.Series([0], dtype=WIDTHS[BITS]).bitwise_count_zeros().item()
