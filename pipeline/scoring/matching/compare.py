"""Every reference-based metric of every run: count, choose the alternative, divide, fold turns."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from pipeline.metrics.metric import NAMES
from pipeline.scoring.arguments.keys import needs_text
from pipeline.scoring.matching import keyed, special
from pipeline.scoring.matching.chosen import FAMILIES, NO_CREDITS, ORDER, by_run, by_turn, most
from pipeline.scoring.matching.keyed import MOST_ROUNDS, Counted
from pipeline.scoring.matching.masks import BITS
from pipeline.scoring.matching.rounds import COUNT
from pipeline.scoring.matching.units import Units, part, units
from pipeline.scoring.segments import alike, beside, scattered
from pipeline.scoring.wanted import wanted

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pipeline.policy import Policy
    from pipeline.scoring.arguments.keys import Lexicon
    from pipeline.scoring.matching.references import Expected
    from pipeline.scoring.matching.special import Made
    from pipeline.scoring.matching.special import Wanted as Expectation
    from pipeline.scoring.wanted import Wanted

__all__ = ["FAMILIES", "Compared", "compare"]

OVERALL = ("n_overlap", "n_ordered")
"""How many calls are expected, of each level: what overlaps and what follows an order divide by."""


class Compared(NamedTuple):
    """One row per run (`runs`), and for each tool call the expected position it met (`places`)."""

    runs: pl.DataFrame
    places: pl.Series | None


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
    of = wanted(policy)
    if policy.match.unit == "turn" or _several(whole):
        of = of.with_metrics(ORDER)
    known = _known(whole, distinct or {}, policy)
    counted = _counted(whole, expected, lexicon, policy, known, of)
    failed = runs["status"] == "error"
    divided = by_turn if policy.match.unit == "turn" else by_run
    table, chosen = divided(counted.frame, failed, of)
    if counted.places is None:
        return Compared(table, None)
    n_calls = int((steps["kind"] == "tool_call").sum())
    return Compared(table, _places(whole, expected, counted.places, chosen, n_calls))


def _several(whole: Units) -> bool:
    """Tell whether a run has several comparisons, alternatives or turns, that must be weighed up."""
    run = whole.frame["run"]
    return bool((run == run.shift(1)).any())


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
    of: Wanted,
) -> Counted:
    """Count at the policy's level and by names, one row per comparison."""
    same = policy.match.args == "names" and not policy.match.tools
    needed = _needed(of, same=same)
    plain = keyed.counts(whole, expected, needed, distinct, places=of.calls)
    shared = whole.frame.select(
        "pair", "run", "reference_id", "n_reference", pl.col("n_calls").cast(COUNT)
    )
    frame = beside(shared, plain.frame, _not_captured(whole, expected))
    counted = Counted(frame, plain.places)
    fits = {"": special.by_arguments(lexicon), NAMES: special.by_name}
    free = policy.match.parallel == "unordered"
    for level in reversed(needed):  # the places of the first level stay
        counted = _searched(counted, whole, expected, level, fits[level], free=free)
    may_fit = special.at_most(fits[""])
    counted = counted._replace(frame=_with_most(counted.frame, whole, expected, may_fit, free=free))
    if same:
        names = pl.col(f"^.*{NAMES}$").name.map(lambda name: name.removesuffix(NAMES))
        counted = Counted(counted.frame.with_columns(names), counted.places)
    return counted


def _needed(of: Wanted, *, same: bool) -> dict[str, set[str]]:
    """Return by level the counts to make: none of a level that nobody asks for.

    The first level stays: it says how many calls were expected, and which each call met.
    """
    found = {
        level: {name for name in keyed.COUNTS if f"{name}{level}" in of.counts}
        for level in ("", NAMES)
    }
    if same:
        return {NAMES: found[""] | found[NAMES]}
    by_name = {f"{name}{NAMES}" for name in OVERALL} & of.counts or found[NAMES]
    return found if by_name else {"": found[""]}


def _searched(
    plain: Counted,
    whole: Units,
    expected: Expected,
    level: str,
    fits: Callable[[Expectation, Made], bool],
    *,
    free: bool,
) -> Counted:
    """Count anew, by sequence, where masks do not decide a level."""
    n = whole.frame["n_expected"].cast(COUNT)
    frame = plain.frame.with_columns(
        n.alias(f"n_overlap{level}"),
        n.alias(f"n_ordered{level}"),
        *_no_sets(whole, plain.frame, level),
    )
    needs = whole.frame.select(_needs_search(level, free=free)).to_series()
    if not needs.any():
        return Counted(frame, plain.places)
    some, key = part(whole, needs), keyed.KEYS[level]
    found = special.counts(some, expected.calls, key, fits, free_in_response=free)
    pairs, rows = needs.arg_true(), needs[whole.calls["pair"]].arg_true()
    if level != NAMES:
        frame = frame.with_columns(NO_CREDITS)
    names = [name for name in found.columns if f"{name}{level}" in frame.columns and name != "pair"]
    frame = frame.with_columns(
        frame[f"{name}{level}"].scatter(pairs, found[name].cast(COUNT)) for name in names
    )
    if plain.places is None:
        return Counted(frame, None)
    places = found["places"].explode(empty_as_null=False).cast(pl.UInt32)
    return Counted(frame, plain.places.scatter(rows, places))


def _with_most(
    counted: pl.DataFrame,
    whole: Units,
    expected: Expected,
    may_fit: Callable[[Expectation, Made], bool],
    *,
    free: bool,
) -> pl.DataFrame:
    """Add the counts that alternatives reach at most whose calls' arguments were not captured."""
    unknown = counted["not_captured"]
    if not unknown.any():
        return counted
    several = counted.select(pl.col("reference_id").n_unique().over("run") > 1).to_series()
    needs = unknown & several
    if not needs.any():
        return counted
    some = part(whole, needs)
    some = some._replace(frame=some.frame.with_columns(relation=pl.lit(value=True)))
    found = special.counts(some, expected.calls, "key", may_fit, free_in_response=free)
    return counted.with_columns(
        scattered(some.frame["pair"], found[name].cast(COUNT), counted.height).alias(most(name))
        for name in special.COUNTS
        if name in counted.columns
    )


def _needs_search(level: str, *, free: bool) -> pl.Expr:
    """Tell which comparisons need more than masks."""
    needs = pl.col("optional")
    if level != NAMES:
        is_long = (pl.col("n_expected") > BITS) | (pl.col("n_calls") > MOST_ROUNDS)
        needs = needs | pl.col("search") | (pl.col("relation") & is_long)
    return needs | (pl.col("n_calls") > 1) if free else needs


def _no_sets(whole: Units, counted: pl.DataFrame, level: str) -> list[pl.Expr]:
    """Blank the counts of distinct calls where equality is only a relation."""
    relation = whole.frame["relation"]
    if level == NAMES or not relation.any():
        return []
    names = [name for name in special.SET_COUNTS if name in counted.columns]
    return [pl.when(~pl.lit(relation)).then(pl.col(names))]


def _not_captured(whole: Units, expected: Expected) -> pl.DataFrame:
    """Tell which comparisons have an uncaptured call of a tool expected with arguments."""
    is_missing = whole.calls["hidden"]
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
