"""Every reference-based metric of every run: count, divide, fold turns, choose the alternative."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from pipeline.metrics.metric import NAMES, Metric
from pipeline.metrics.registry import metrics
from pipeline.metrics.turns import TURNS
from pipeline.scoring import matching, special
from pipeline.scoring.matching import Counted, scattered
from pipeline.scoring.units import Units, part, units

if TYPE_CHECKING:
    from collections.abc import Callable

    from pipeline.policy import Policy
    from pipeline.scoring.keys import Lexicon
    from pipeline.scoring.references import Expected
    from pipeline.scoring.special import Made, Wanted

FAMILIES = ("ordered", "overlap")
ORDER = ("exact_match", "f1", "in_order")
"""What decides between alternatives, in this order; ties go to the first."""


class Compared(NamedTuple):
    """One row per run (`runs`), and for each tool call the expected position it met (`places`)."""

    runs: pl.DataFrame
    places: pl.Series


def compare(
    runs: pl.DataFrame, steps: pl.DataFrame, expected: Expected, lexicon: Lexicon, policy: Policy
) -> Compared:
    """Compare every run with its reference; runs without one get nulls."""
    whole = units(runs, steps, expected, policy)
    args, names = _levels(whole, expected, lexicon, policy)
    valued = _valued(whole, args, names)
    if policy.match.unit == "turn":
        valued = _folded(valued)
    chosen = _best(valued)
    each = pl.DataFrame({"run": pl.int_range(runs.height, dtype=pl.UInt32, eager=True)})
    table = each.join(chosen, on="run", how="left", maintain_order="left").drop("run")
    return Compared(table, _places(whole, expected, args.places, chosen, steps))


def _reference_metrics() -> list[Metric]:
    return [m for m in metrics().values() if m.family in FAMILIES and not m.name.endswith(TURNS)]


def _flags() -> list[str]:
    return [m.name for m in _reference_metrics() if m.kind == "flag"]


def _levels(
    whole: Units, expected: Expected, lexicon: Lexicon, policy: Policy
) -> tuple[Counted, Counted]:
    """Count at the policy's level and by names."""
    free = policy.match.parallel == "unordered"
    names = _level(whole, expected, "name_key", special.by_name, free=free)
    if policy.match.args == "names" and not policy.match.tools:
        args = names
    else:
        args = _level(whole, expected, "key", special.by_arguments(lexicon), free=free)
    hidden = _not_captured(whole, expected)
    return Counted(args.frame.with_columns(hidden), args.places), names


def _level(
    whole: Units, expected: Expected, key: str, fits: Callable[[Wanted, Made], bool], *, free: bool
) -> Counted:
    """Count by key where that decides, and by sequence where it does not."""
    n = whole.frame["n_expected"]
    plain = matching.counts(whole, expected.calls, key)
    frame = plain.frame.with_columns(
        n.alias("n_overlap"),
        n.alias("n_ordered"),
        whole.frame["pair"],
        *(pl.lit(None, dtype=pl.Int64).alias(name) for name in special.CREDITS),
    )
    needs = whole.frame["optional"]
    if key == "key":
        needs = needs | whole.frame["relation"]
    if free:
        needs = needs | (whole.frame["n_calls"] > 1)
    if not needs.any():
        return Counted(frame, plain.places)
    some = part(whole, needs)
    found = special.counts(some, expected.calls, key, fits, free_in_response=free)
    both = pl.concat([frame.filter(~needs), found.select(frame.columns)]).sort("pair")
    rows = pl.int_range(whole.calls.height, eager=True).filter(needs.gather(whole.calls["pair"]))
    moved = scattered(rows, found["places"].explode(empty_as_null=False), whole.calls.height)
    kept = pl.DataFrame(
        {"special": needs.gather(whole.calls["pair"]), "new": moved, "old": plain.places}
    )
    return Counted(both, kept.select(pl.when("special").then("new").otherwise("old")).to_series())


def _not_captured(whole: Units, expected: Expected) -> pl.Series:
    """Tell which comparisons have an uncaptured call of a tool expected with arguments."""
    missing = whole.calls.filter(pl.col("args_status") == "not_captured")
    # In mode `names` the key is the tool's own: nothing is missing then.
    with_arguments = (pl.col("args_status") != "any") & (pl.col("key") != pl.col("name_key"))
    given = expected.calls.filter(with_arguments).select("ref", "name_key").unique()
    hit = missing.join(given, on=["ref", "name_key"], how="semi")["pair"].unique()
    return whole.frame["pair"].is_in(hit.implode()).alias("not_captured")


def _valued(whole: Units, args: Counted, names: Counted) -> pl.DataFrame:
    """Divide: from counts to metrics, one row per comparison."""
    counted = pl.concat(
        [
            whole.frame.select("run", "reference_id", "n_calls"),
            args.frame.drop("pair"),
            names.frame.drop("pair").select(pl.all().name.suffix(NAMES)),
        ],
        how="horizontal",
    )
    return counted.select(
        "run",
        "reference_id",
        pl.col("n_overlap").alias("n_expected"),
        "not_captured",
        *(metric.value.alias(metric.name) for metric in _reference_metrics()),
        *(pl.lit(None, dtype=pl.Float64).alias(f"{name}{TURNS}") for name in _flags()),
    )


def _folded(valued: pl.DataFrame) -> pl.DataFrame:
    """Fold the turns of each run: fractions are means, flags hold only if all do, counts add up."""
    folds = [pl.col("n_expected").sum(), pl.col("not_captured").any()]
    for metric in _reference_metrics():
        column = pl.col(metric.name)
        known = column.is_not_null().all()
        if metric.kind == "flag":
            folds.append(pl.when(known).then(column.min()).alias(metric.name))
            folds.append(pl.when(known).then(column.mean()).alias(f"{metric.name}{TURNS}"))
        else:
            value = column.sum() if metric.kind == "count" else column.mean()
            folds.append(pl.when(known).then(value).alias(metric.name))
    return valued.group_by("run", "reference_id", maintain_order=True).agg(folds)


def _best(valued: pl.DataFrame) -> pl.DataFrame:
    """Keep each run's best alternative."""
    if valued["run"].n_unique() == valued.height:
        return valued
    by = ["run", *ORDER, "reference_id"]
    ranked = valued.sort(by, descending=[False, True, True, True, False], nulls_last=True)
    return ranked.unique("run", keep="first", maintain_order=True)


def _places(
    whole: Units, expected: Expected, places: pl.Series, chosen: pl.DataFrame, steps: pl.DataFrame
) -> pl.Series:
    """Return, for each tool call of the batch, the expected position it is matched to, or null."""
    kept = whole.frame.select("pair", "run", "reference_id").join(
        chosen.select("run", "reference_id"), on=["run", "reference_id"], how="semi"
    )
    first = whole.frame["first"].gather(whole.calls["pair"])
    met = pl.DataFrame(
        {"pair": whole.calls["pair"], "call": whole.calls["call"], "at": first + places}
    )
    met = met.drop_nulls("at").join(kept.select("pair"), on="pair", how="semi")
    n_calls = int((steps["kind"] == "tool_call").sum())
    return scattered(met["call"], expected.calls["origin"].gather(met["at"]), n_calls)
