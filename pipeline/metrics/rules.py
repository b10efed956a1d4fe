"""Whether the run kept to rules: invariants, tool schemas, the state it left, and users' own metrics."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

import polars as pl

from pipeline.errors import InputError
from pipeline.metrics.metric import Metric
from pipeline.metrics.ratio import ratio
from pipeline.schema import Runs, ScoreKeys

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pipeline.policy import Policy, UserMetric

OF_TABLES = frozenset({"group_id", "in_baseline", "in_candidate", "n", "n_total", "task"})
"""Columns that tables count and number by, beside those of metrics."""

IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

_NO_INVARIANTS = (
    "null when the policy has no [invariants], and where max_repeats is set and a call's arguments "
    "were not captured"
)
_NO_SCHEMA = (
    "null when no call's tool has a JSON Schema (one that is broken is none: `trajtab check` lists "
    "it), where the arguments of one that has were not captured, and without the extra `schema` "
    "(install trajtab[schema], then score --all)"
)


def schema_valid_rate(n_schema_valid: pl.Expr, n_schema_calls: pl.Expr) -> pl.Expr:
    """Return the share of the calls with a schema that are valid under it: `valid / with a schema`.

    Args:
        n_schema_valid: calls whose arguments the tool's JSON Schema accepts (integer).
        n_schema_calls: calls whose tool has a JSON Schema (integer).

    Returns:
        Float64 in [0, 1], higher is better. Null when no call has a schema or counts are null.

    >>> frame = pl.DataFrame({"valid": [3, None], "calls": [4, None]})
    >>> frame.select(schema_valid_rate(pl.col("valid"), pl.col("calls"))).to_series().to_list()
    [0.75, None]
    """
    return ratio(n_schema_valid, n_schema_calls)


def metrics() -> list[Metric]:
    """Return the family."""
    valid, calls = pl.col("n_schema_valid"), pl.col("n_schema_calls")
    return [
        Metric(
            name="n_violations",
            family="rules",
            kind="count",
            better="lower",
            meaning="violations of the policy's [invariants]",
            formula="offending calls of forbidden_tools and allowed_tools, plus 1 for each required tool "
            "that is missing, each maximum exceeded and each `before` pair out of order",
            null=_NO_INVARIANTS,
            value=pl.col("n_violations"),
            rests_on="tool names",
        ),
        Metric(
            name="violations",
            family="rules",
            kind="text",
            better="neither",
            meaning="what each violation is: rule, tool, step, limit; canonical JSON",
            formula="a list of objects, in the order of the rules, then of the steps",
            null=_NO_INVARIANTS,
            value=pl.col("violations"),
            rests_on="tool names",
        ),
        Metric(
            name="schema_valid_rate",
            family="rules",
            kind="fraction",
            better="higher",
            meaning="share of the calls of tools with a JSON Schema whose arguments it accepts, formats enforced",
            formula="valid calls / calls whose tool has a JSON Schema",
            null=_NO_SCHEMA,
            value=schema_valid_rate(valid, calls),
            rests_on="tool arguments, and the tools of the task",
            micro=("n_schema_valid", "n_schema_calls"),
        ),
        _count("n_schema_calls", "calls whose tool has a JSON Schema", "neither"),
        _count("n_schema_valid", "calls whose arguments the tool's JSON Schema accepts", "higher"),
        Metric(
            name="end_state_match",
            family="rules",
            kind="flag",
            better="higher",
            meaning="the run left the state its task expects and passes every [[end_state.check]]",
            formula="1 if every key of the expected state has an equal value in the final state and no "
            "check returns the run, else 0",
            null="null without a final state, and with neither an expected state nor a check",
            value=pl.col("end_state_match"),
            rests_on="the final state in the log",
        ),
    ]


def _count(name: str, meaning: str, better: str) -> Metric:
    return Metric(
        name=name,
        family="rules",
        kind="count",
        better="higher" if better == "higher" else "neither",
        meaning=meaning,
        formula="a count",
        null=_NO_SCHEMA,
        value=pl.col(name),
        rests_on="tool arguments, and the tools of the task",
    )


def own(policy: Policy, known: Iterable[str]) -> list[Metric]:
    """Return the metrics that a policy adds as `[[metric]]`; `known` names are taken.

    Raises:
        InputError: a name is no identifier, or taken by a metric or a column.
    """
    taken = {name.lower() for name in (*known, *ScoreKeys.names(), *Runs.names(), *OF_TABLES)}
    found = []
    for metric in policy.metric:
        _check(metric.name, taken)
        taken.add(metric.name.lower())
        found.append(_own(metric))
    return found


def _check(name: str, taken: set[str]) -> None:
    if not IDENTIFIER.fullmatch(name):
        raise InputError(
            f"metric {name!r}: no identifier; use letters, digits and _, and begin with no digit"
        )
    if name.lower() in taken:
        raise InputError(f"metric {name!r}: a metric or column has that name; choose another")
    if not _is_column(name):
        raise InputError(
            f"metric {name!r}: a word of SQL, which means something else in --where and --pass, or "
            "nothing; choose another"
        )


@cache
def _is_column(name: str) -> bool:
    """Tell whether SQL takes an identifier for the column of that name, without quotes.

    Of two tables, as ours are joined: each has a `rowid`.
    """
    import duckdb  # noqa: PLC0415 - only policies with metrics of their own need it

    with duckdb.connect() as con:
        con.execute(f'CREATE TABLE "its own" AS SELECT 0.5::DOUBLE AS "{name}"')
        con.execute('CREATE TABLE "another" AS SELECT 1 AS "of another"')
        try:
            found = con.execute(f'SELECT {name} FROM "its own", "another"').fetchone()  # noqa: S608 - same
        except duckdb.Error:
            return False
    return found == (0.5,)


def _own(metric: UserMetric) -> Metric:
    return Metric(
        name=metric.name,
        family="user",
        kind="amount",
        better=metric.direction,
        meaning="the policy's own metric",
        formula=" ".join(metric.sql.split()),
        null="null where its SQL is null, infinite or not a number",
        value=pl.col(metric.name),
        rests_on="score and run columns",
        headline=True,
    )
