"""Of each run the alternative it keeps, and the metrics that follow from its counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from pipeline.metrics.metric import NAMES
from pipeline.metrics.registry import metrics
from pipeline.metrics.turns import TURNS
from pipeline.scoring.matching import special
from pipeline.scoring.matching.rounds import COUNT
from pipeline.scoring.path.equals import marked
from pipeline.scoring.segments import beside, scattered

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

    from pipeline.metrics.metric import Metric
    from pipeline.scoring.wanted import Wanted

FAMILIES = ("ordered", "overlap")
ORDER = ("exact_match", "f1", "in_order")
"""What decides between alternatives, in this order; ties go to the first.

An alternative that cannot be judged, for arguments were not captured, is ranked by the most that it
can reach, each of the three for itself. Where that is more than any other reaches, what the run is
worth by arguments is unknown.
"""

NO_CREDITS = [pl.lit(None, dtype=COUNT).alias(name) for name in special.CREDITS]
"""Where the counts of matching say what credits would."""

OF_REFERENCE = ("reference_id", "n_reference", "not_captured")


def most(count: str) -> str:
    """Name the column of what a count is at most; null where it is what it is."""
    return f"{count}_most"


def _reference_metrics(names: AbstractSet[str]) -> list[Metric]:
    return [
        metric
        for name, metric in metrics().items()
        if metric.family in FAMILIES and not name.endswith(TURNS) and name in names
    ]


def by_run(counted: pl.DataFrame, failed: pl.Series, of: Wanted) -> tuple[pl.DataFrame, pl.Series]:
    """Divide for the alternative that each run keeps; tell which comparisons those are."""
    chosen = _chosen(counted, len(failed))
    kept = marked(chosen.drop_nulls(), counted.height)
    told = counted.select(*OF_REFERENCE, n_expected="n_overlap")[chosen]
    counts = counted.drop("pair", "run", *OF_REFERENCE)[chosen.set(failed, None)]
    hidden = told["not_captured"].fill_null(value=False)
    known = _reference_metrics(of.metrics)
    if hidden.any():
        shown = pl.int_range(len(failed), dtype=pl.UInt32, eager=True).set(hidden, None)
        by_arguments = [metric for metric in known if not metric.name.endswith(NAMES)]
        by_name = [metric for metric in known if metric.name.endswith(NAMES)]
        values = [_divided(counts[shown], by_arguments), _divided(counts, by_name)]
    else:
        values = [_divided(counts, known)]
    turns = [
        pl.lit(None, dtype=pl.Float64).alias(f"{metric.name}{TURNS}")
        for metric in known
        if metric.kind == "flag"
    ]
    return beside(told, *values).with_columns(turns), kept


def _divided(counts: pl.DataFrame, of: list[Metric]) -> pl.DataFrame:
    """From counts to metrics. Many divide by the same: one plan works that out once."""
    if special.CREDITS[0] not in counts.columns:
        counts = counts.with_columns(NO_CREDITS)
    return counts.lazy().select(metric.value.alias(metric.name) for metric in of).collect()


def _chosen(counted: pl.DataFrame, n_runs: int) -> pl.Series:
    """Return the comparison that each run keeps, its best alternative; null without a reference."""
    run = counted["run"]
    chosen = scattered(run, counted["pair"], n_runs)
    several = ((run == run.shift(1)) | (run == run.shift(-1))).fill_null(value=False)
    if several.any():
        some = counted.filter(several)
        keys = some.select("pair", "run", "reference_id", "not_captured")
        best = _best(pl.concat([keys, _reachable(some)], how="horizontal"))
        chosen = chosen.scatter(best["run"], best["pair"])
    return chosen


def _reachable(counted: pl.DataFrame) -> pl.DataFrame:
    """Divide what decides, by the most that can be reached where that is all that is known."""
    bounds = [name for name in special.COUNTS if most(name) in counted.columns]
    counts = counted.with_columns(pl.coalesce(most(name), name).alias(name) for name in bounds)
    return _divided(counts, [metrics()[name] for name in ORDER])


def _best(valued: pl.DataFrame) -> pl.DataFrame:
    """Keep each run's best alternative."""
    by = ["run", *ORDER, "not_captured", "reference_id"]
    ranked = valued.sort(by, descending=[False, True, True, True, False, False], nulls_last=True)
    return ranked.unique("run", keep="first", maintain_order=True)


def by_turn(counted: pl.DataFrame, failed: pl.Series, of: Wanted) -> tuple[pl.DataFrame, pl.Series]:
    """Divide turn by turn, fold the turns, and keep the best alternative."""
    keys = counted.select(
        "run", "reference_id", "n_reference", "not_captured", n_expected="n_overlap"
    )
    known = _reference_metrics(of.metrics | {*ORDER})
    valued = pl.concat([keys, _divided(counted, known)], how="horizontal")
    best = _best(_folded(valued.with_columns(_reachable(counted)), known))
    kept = counted.select("run", "reference_id").join(
        best.select("run", "reference_id", pl.lit(value=True).alias("kept")),
        on=["run", "reference_id"], how="left", maintain_order="left",
    )["kept"]  # fmt: skip
    each = pl.DataFrame({"run": pl.int_range(len(failed), dtype=pl.UInt32, eager=True)})
    table = each.join(best, on="run", how="left", maintain_order="left").drop("run")
    hidden = pl.lit(failed) | pl.col("not_captured").fill_null(value=False)
    blanked = [
        pl.when(~(pl.lit(failed) if NAMES in name else hidden)).then(pl.col(name)).alias(name)
        for metric in known
        for name in (metric.name, f"{metric.name}{TURNS}")
        if name in table.columns
    ]
    return table.with_columns(blanked), kept.fill_null(value=False)


def _folded(valued: pl.DataFrame, of: list[Metric]) -> pl.DataFrame:
    """Fold the turns of each run: fractions are means, flags hold only if all do, counts add up."""
    folds = [
        pl.col("n_expected").sum(),
        pl.col("not_captured").any(),
        pl.col("n_reference").first(),
    ]
    for metric in of:
        column = pl.col(metric.name)
        known = column.is_not_null().all()
        if metric.kind == "flag":
            folds.append(pl.when(known).then(column.min()).alias(metric.name))
            folds.append(pl.when(known).then(column.mean()).alias(f"{metric.name}{TURNS}"))
        else:
            value = column.sum() if metric.kind == "count" else column.mean()
            folds.append(pl.when(known).then(value).alias(metric.name))
    return valued.group_by("run", "reference_id", maintain_order=True).agg(folds)
