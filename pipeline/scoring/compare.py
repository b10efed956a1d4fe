"""Every reference-based metric of every run: count, choose the alternative, divide, fold turns."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from pipeline.metrics.metric import NAMES
from pipeline.scoring import matching, special
from pipeline.scoring.chosen import FAMILIES, NO_CREDITS, by_run, by_turn
from pipeline.scoring.keys import needs_text
from pipeline.scoring.masks import BITS
from pipeline.scoring.matching import MOST_ROUNDS, Counted
from pipeline.scoring.rounds import COUNT
from pipeline.scoring.segments import alike, scattered
from pipeline.scoring.units import Units, part, units

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pipeline.policy import Policy
    from pipeline.scoring.keys import Lexicon
    from pipeline.scoring.references import Expected
    from pipeline.scoring.special import Made, Wanted

__all__ = ["FAMILIES", "Compared", "compare"]


class Compared(NamedTuple):
    """One row per run (`runs`), and for each tool call the expected position it met (`places`)."""

    runs: pl.DataFrame
    places: pl.Series


def compare(
    runs: pl.DataFrame,
    steps: pl.DataFrame,
    expected: Expected,
    lexicon: Lexicon,
    policy: Policy,
    distinct: Mapping[str, pl.Series] | None = None,
) -> Compared:
    """Compare every run with its reference; runs without one get nulls, and so do failed ones.

    `runs`: n_rows, reference_set, and status, where "error" leaves nothing to judge. `distinct`:
    `Paths.distinct`; what it knows is not counted again.
    """
    whole = units(runs, steps, expected, policy)
    counted = _counted(whole, expected, lexicon, policy, _known(whole, distinct or {}, policy))
    failed = runs["status"] == "error"
    if policy.match.unit == "turn":
        table, chosen = by_turn(counted.frame, failed)
    else:
        table, chosen = by_run(counted.frame, failed)
    n_calls = int((steps["kind"] == "tool_call").sum())
    return Compared(table, _places(whole, expected, counted.places, chosen, n_calls))


def _known(whole: Units, distinct: Mapping[str, pl.Series], policy: Policy) -> dict[str, pl.Series]:
    """Return, by level, how many different calls each comparison has, as far as known by run."""
    if policy.match.unit == "turn":
        return {}
    landed = policy.match.args == "exact" and not needs_text(policy.match)
    keys = {"": "call_key", NAMES: "name_key"} if landed else {NAMES: "name_key"}
    of_run = whole.frame["run"]
    return {level: distinct[key][of_run] for level, key in keys.items() if key in distinct}


def _counted(
    whole: Units,
    expected: Expected,
    lexicon: Lexicon,
    policy: Policy,
    distinct: Mapping[str, pl.Series],
) -> Counted:
    """Count at the policy's level and by names, one row per comparison."""
    same = policy.match.args == "names" and not policy.match.tools
    levels = [NAMES] if same else ["", NAMES]
    plain = matching.counts(whole, expected, levels, distinct)
    shared = whole.frame.select(
        "pair", "run", "reference_id", "n_reference", pl.col("n_calls").cast(COUNT)
    )
    frame = pl.concat([shared, plain.frame, _not_captured(whole, expected)], how="horizontal")
    counted = Counted(frame, plain.places)
    fits = {"": special.by_arguments(lexicon), NAMES: special.by_name}
    free = policy.match.parallel == "unordered"
    for level in reversed(levels):  # the places of the first level stay
        counted = _searched(counted, whole, expected, level, fits[level], free=free)
    if same:
        names = pl.col(f"^.*{NAMES}$").name.map(lambda name: name.removesuffix(NAMES))
        counted = Counted(counted.frame.with_columns(names), counted.places)
    return counted


def _searched(
    plain: Counted,
    whole: Units,
    expected: Expected,
    level: str,
    fits: Callable[[Wanted, Made], bool],
    *,
    free: bool,
) -> Counted:
    """Count anew, by sequence, where masks do not decide a level."""
    n = whole.frame["n_expected"].cast(COUNT)
    frame = plain.frame.with_columns(
        n.alias(f"n_overlap{level}"), n.alias(f"n_ordered{level}"), *_no_sets(whole, level)
    )
    needs = whole.frame.select(_needs_search(level, free=free)).to_series()
    if not needs.any():
        return Counted(frame, plain.places)
    some, key = part(whole, needs), matching.KEYS[level]
    found = special.counts(some, expected.calls, key, fits, free_in_response=free)
    pairs, rows = needs.arg_true(), needs[whole.calls["pair"]].arg_true()
    if level != NAMES:
        frame = frame.with_columns(NO_CREDITS)
    names = [name for name in found.columns if f"{name}{level}" in frame.columns and name != "pair"]
    frame = frame.with_columns(
        frame[f"{name}{level}"].scatter(pairs, found[name].cast(COUNT)) for name in names
    )
    places = found["places"].explode(empty_as_null=False).cast(pl.UInt32)
    return Counted(frame, plain.places.scatter(rows, places))


def _needs_search(level: str, *, free: bool) -> pl.Expr:
    """Tell which comparisons need more than masks."""
    needs = pl.col("optional")
    if level != NAMES:
        is_long = (pl.col("n_expected") > BITS) | (pl.col("n_calls") > MOST_ROUNDS)
        needs = needs | pl.col("search") | (pl.col("relation") & is_long)
    return needs | (pl.col("n_calls") > 1) if free else needs


def _no_sets(whole: Units, level: str) -> list[pl.Expr]:
    """Blank the counts of distinct calls where equality is only a relation."""
    relation = whole.frame["relation"]
    if level == NAMES or not relation.any():
        return []
    return [pl.when(~pl.lit(relation)).then(pl.col(special.SET_COUNTS))]


def _not_captured(whole: Units, expected: Expected) -> pl.DataFrame:
    """Tell which comparisons have an uncaptured call of a tool expected with arguments."""
    is_missing = whole.calls["args_status"] == "not_captured"
    if not is_missing.any():
        return (
            alike(value=False, length=whole.frame.height, dtype=pl.Boolean)
            .alias("not_captured")
            .to_frame()
        )
    missing = whole.calls.filter(is_missing)
    # In mode `names` the key is the tool's own: nothing is missing then.
    with_arguments = (pl.col("args_status") != "any") & (pl.col("key") != pl.col("name_key"))
    given = expected.calls.filter(with_arguments).select("ref", "name_key").unique()
    hit = missing.join(given, on=["ref", "name_key"], how="semi")["pair"].unique()
    return whole.frame.select(pl.col("pair").is_in(hit.implode()).alias("not_captured"))


def _places(
    whole: Units, expected: Expected, places: pl.Series, kept: pl.Series, n_calls: int
) -> pl.Series:
    """Return, for each tool call of the batch, the expected position it is matched to, or null."""
    met = whole.calls.select("pair", "call", places.alias("place")).drop_nulls("place")
    if not kept.all():
        met = met.filter(kept[met["pair"]])
    at = whole.frame["first"][met["pair"]] + met["place"]
    return scattered(met["call"], expected.calls["origin"][at], n_calls)
