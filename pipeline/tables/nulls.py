"""Why values are null: counted, so that nobody takes a missing measurement for a measured one."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from pipeline.metrics.causes import ALWAYS, ERRORED, OTHERWISE, causes
from pipeline.tables.groups import quoted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from duckdb import DuckDBPyConnection

    from pipeline.metrics.metric import Metric

OF_SUMS = 3
"""So many of the first `conditions` are those of the table `sums`; the others tell reasons."""


def conditions(metrics: Sequence[Metric]) -> list[str]:
    """Return the conditions that tell kinds of runs apart, one bit of `kind` each.

    The first three are those of `sums`: without a task, errored, with nothing expected or called.
    The last tell where a metric has no value, so that its pooled counts need not look again.
    """
    told = ["task_id IS NULL", ERRORED, "n_expected = 0 AND n_calls = 0"]
    told += [condition for m in metrics for _, condition in causes(m) if condition != ALWAYS]
    told += [f"{quoted(m.name)} IS NULL" for m in metrics if m.micro]
    return list(dict.fromkeys(told))


def null_notes(con: DuckDBPyConnection, metrics: Sequence[Metric]) -> list[str]:
    """Return one note that says, per metric with nulls, how many there are for which reason.

    It reads the table `sums` that `create_sums` left.
    """
    if not metrics:
        return []
    missing = ", ".join(f"sum(n_rows - {quoted(f'sums_{metric.name}')}.n)" for metric in metrics)
    kinds = con.sql(f"SELECT kind, {missing} FROM sums GROUP BY kind").fetchall()  # noqa: S608 - registry names
    bits = {condition: 1 << bit for bit, condition in enumerate(conditions(metrics))}
    said = []
    for place, metric in enumerate(metrics, 1):
        counts: Counter[str] = Counter()
        for row in kinds:
            if row[place] and not (counts_errors(metric) and row[0] & bits[ERRORED]):
                counts[_why(metric, row[0], bits)] += int(row[place])
        if counts:
            reasons = ", ".join(f"{why} {n}" for why, n in sorted(counts.items()))
            said.append(f"{metric.name}: {reasons}")
    return [f"null values: {'; '.join(said)}"] if said else []


def counts_errors(metric: Metric) -> bool:
    """Tell whether a run that failed for infrastructure reasons is an error of this metric."""
    return metric.reference or metric.family == "outcome"


def _why(metric: Metric, kind: int, bits: dict[str, int]) -> str:
    """Return the reason of a null value in a run of that kind: the first that holds."""
    holding = (why for why, told in causes(metric) if told == ALWAYS or kind & bits[told])
    return next(holding, OTHERWISE)
