"""Counts of the comparisons that keys alone do not decide, once per distinct sequence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from pipeline.scoring.matching.credits import Credits, credits_of
from pipeline.scoring.matching.sequences import Matches, match

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pipeline.scoring.arguments.keys import Lexicon
    from pipeline.scoring.matching.units import Units

COUNTS = tuple(name for name in Matches._fields if name != "places")
SET_COUNTS = ("n_common", "n_distinct_expected", "n_distinct")
CREDITS = Credits._fields
NO_CREDITS: tuple[None, ...] = (None,) * len(CREDITS)


class Wanted(NamedTuple):
    """One expected call as matching sees it."""

    key: int | None
    name: int
    status: str
    optional: bool
    compared: tuple[str, ...] | None


class Made(NamedTuple):
    """One actual call as matching sees it."""

    key: int | None
    name: int


def by_name(expected: Wanted, actual: Made) -> bool:
    """Tell whether the tools are the same."""
    return expected.name == actual.name


def by_arguments(lexicon: Lexicon) -> Callable[[Wanted, Made], bool]:
    """Return the policy's own comparison of two calls, each distinct pair once."""
    known: dict[tuple[Wanted, Made], bool] = {}

    def fits(expected: Wanted, actual: Made) -> bool:
        pair = (expected, actual)
        if pair not in known:
            known[pair] = _fits(expected, actual, lexicon)
        return known[pair]

    return fits


def at_most(fits: Callable[[Wanted, Made], bool]) -> Callable[[Wanted, Made], bool]:
    """Return a comparison that holds wherever it may: arguments not captured could be any."""

    def may_fit(expected: Wanted, actual: Made) -> bool:
        return by_name(expected, actual) if actual.key is None else fits(expected, actual)

    return may_fit


def _fits(expected: Wanted, actual: Made, lexicon: Lexicon) -> bool:
    if expected.status == "any" or expected.name != actual.name:
        return expected.name == actual.name
    e = None if expected.key is None else lexicon.arguments.get(expected.key)
    a = None if actual.key is None else lexicon.arguments.get(actual.key)
    if e is None or a is None:
        return expected.key is not None and expected.key == actual.key
    return lexicon.rules.fits(e[0], e[1], a[1], expected.compared)


def counts(
    units: Units,
    expected: pl.DataFrame,
    key: str,
    fits: Callable[[Wanted, Made], bool],
    *,
    free_in_response: bool,
) -> pl.DataFrame:
    """Return COUNTS (and, under a plain equality, SET_COUNTS) and `places`, one row per pair.

    CREDITS are null at the level of names, and where they are what COUNTS say.
    """
    wanted = _wanted(expected, key)
    response = _responses() if free_in_response else pl.lit(None, dtype=pl.Int64)
    grouped = (
        units.calls.select("pair", pl.col(key).alias("key"), "name_key", response.alias("response"))
        .group_by("pair", maintain_order=True)
        .agg("key", "name_key", "response")
    )
    rows = units.frame.select("pair", "ref", "relation").join(
        grouped, on="pair", how="left", maintain_order="left"
    )
    sequence = ["ref", "relation", "key", "name_key", "response"]
    distinct = rows.group_by(sequence, maintain_order=True).agg("pair")
    told = [
        _told(
            wanted.get(ref, []),
            [Made(k, n) for k, n in zip(keys or (), names or (), strict=True)],
            responses or [] if free_in_response else None,
            fits,
            relation=relation and key == "key",
        )
        for ref, relation, keys, names, responses in distinct.select(sequence).iter_rows()
    ]  # distinct sequences, not runs
    schema: dict[str, pl.DataType | type[pl.DataType]] = {
        **dict.fromkeys((*COUNTS, *SET_COUNTS, *CREDITS), pl.Int64),
        "places": pl.List(pl.Int64),
    }
    table = pl.DataFrame(told, schema=schema, orient="row")
    return (
        pl.concat([distinct.select("pair"), table], how="horizontal").explode("pair").sort("pair")
    )


def _wanted(expected: pl.DataFrame, key: str) -> dict[int, list[Wanted]]:
    compared = (
        pl.col("compare_args")
        if "compare_args" in expected.columns
        else pl.lit(None, dtype=pl.List(pl.String))
    )
    found: dict[int, list[Wanted]] = {}
    rows = expected.select(
        "ref",
        pl.col(key).alias("key"),
        "name_key",
        "args_status",
        "optional",
        compared.alias("compared"),
    )
    for ref, value, name, status, optional, listed in rows.iter_rows():  # expected calls
        only = None if listed is None else tuple(listed)
        found.setdefault(ref, []).append(Wanted(value, name, status, bool(optional), only))
    return found


def _responses() -> pl.Expr:
    """Number the responses of each pair in order; a null index is a response of its own."""
    index = pl.col("response_index").cast(pl.Int64)
    new = (index != index.shift()) | index.is_null() | (pl.col("pair") != pl.col("pair").shift())
    return new.fill_null(value=True).cum_sum() - new.fill_null(value=True).cum_sum().first().over(
        "pair"
    )


def _told(
    wanted: list[Wanted],
    made: list[Made],
    responses: list[int] | None,
    fits: Callable[[Wanted, Made], bool],
    *,
    relation: bool,
) -> tuple[Any, ...]:
    masks = (
        _masks(wanted, made, fits)
        if relation
        else _equal([e.key for e in wanted], [a.key for a in made])
    )
    optional = sum(1 << i for i, e in enumerate(wanted) if e.optional)
    found = match(masks, len(wanted), optional, responses)
    taken = {place for place in found.places if place is not None}
    sets = (None,) * len(SET_COUNTS) if relation else _set_counts(wanted, made, taken)
    told: tuple[int | None, ...] = NO_CREDITS
    if fits is not by_name and (optional or responses is not None):
        named = _equal([e.name for e in wanted], [a.name for a in made])
        told = credits_of(masks, named, taken, len(wanted), optional, responses)
    return (*found[:-1], *sets, *told, found.places)


def _equal(wanted: Sequence[int | None], made: Sequence[int | None]) -> list[int]:
    """Return for each actual key the expected positions of that key, as bits; null has none."""
    places: dict[int | None, int] = {}
    for i, key in enumerate(wanted):
        places[key] = places.get(key, 0) | 1 << i
    return [0 if key is None else places.get(key, 0) for key in made]


def _masks(
    wanted: list[Wanted], made: list[Made], fits: Callable[[Wanted, Made], bool]
) -> list[int]:
    """Return for each actual call the expected positions it fits, as bits."""
    of_tool: dict[int, dict[Wanted, int]] = {}
    for i, call in enumerate(wanted):
        places = of_tool.setdefault(call.name, {})
        places[call] = places.get(call, 0) | 1 << i
    mask_of = {
        call: sum(places for e, places in of_tool.get(call.name, {}).items() if fits(e, call))
        for call in set(made)
    }
    return [mask_of[call] for call in made]


def _set_counts(wanted: list[Wanted], made: list[Made], taken: set[int]) -> tuple[int, int, int]:
    kept = {(e.name, e.key) for i, e in enumerate(wanted) if not e.optional or i in taken}
    called = {(a.name, a.key) for a in made}
    return len(kept & called), len(kept), len(called)
