"""What every table command returns: a kind, rows, and notes for the person."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import polars as pl

    from pipeline.metrics.metric import Metric


class Result(NamedTuple):
    """A table. `notes` say what the rows cannot: unscored batches, few values, the policy in use.

    A comparison and a gate have more to say: further `tables` by name, and `facts` about the whole
    (verdict, seed, hashes of what went in). Other results have none. `better` says of the metrics
    that rows name whether higher or lower is better: those of a policy, of judges and of people
    are known to nobody else.

    >>> import polars as pl
    >>> Result("scores", pl.DataFrame({"f1": [1.0]}), ["policy: default"]).rows.height
    1
    """

    kind: str
    rows: pl.DataFrame
    notes: list[str]
    tables: Mapping[str, pl.DataFrame] = {}
    facts: Mapping[str, Any] = {}
    better: Mapping[str, str] = {}


def directions(metrics: Iterable[Metric]) -> dict[str, str]:
    """Return which way each metric is better, without those that are neither.

    >>> from pipeline.metrics.registry import chosen
    >>> directions(chosen(["f1", "error_rate", "n_turns"]))
    {'f1': 'higher', 'error_rate': 'lower'}
    """
    return {metric.name: metric.better for metric in metrics if metric.better != "neither"}
