"""The policy's rules on a batch: new keys for the tools they name, once per distinct call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from pipeline.landing.values.canonical import by_value, call_key, canonical_json
from pipeline.scoring.rules import Rules

if TYPE_CHECKING:
    from pathlib import Path

    from pipeline.policy import Match


TEXTS = ("args_status", "call_key", "kind", "name_key", "tool_args", "tool_name")
"""The step columns that `apply` reads from its source."""


class Lexicon(NamedTuple):
    """What is known of distinct calls beyond their key."""

    rules: Rules
    arguments: dict[int, tuple[str, dict[str, Any]]]
    """By key: tool and rewritten arguments, of the tools that compare pairwise."""
    rekeyed: dict[str, int]
    """How many distinct calls of each tool were read again."""


class Keyed(NamedTuple):
    """A batch's calls and expected calls under a policy."""

    steps: pl.DataFrame
    references: pl.DataFrame
    lexicon: Lexicon


def needs_text(match: Match) -> bool:
    """Tell whether the policy asks for more than the keys made at landing."""
    return bool(match.rule or match.tools or match.compare_args) or match.args not in (
        "exact",
        "names",
    )


def apply(
    match: Match, steps: pl.DataFrame, references: pl.DataFrame, source: Path | bytes
) -> Keyed:
    """Give steps a rewritten `call_key` and a `key` to match by; expected calls likewise.

    `call_key` follows the rewriting rules and is what repeats are told by; `key` is what calls are
    matched by, where mode `names` makes it the tool's own.
    """
    rules = Rules(match)
    if not needs_text(match):
        made_at_landing = pl.col("name_key" if match.args == "names" else "call_key").alias("key")
        return Keyed(
            steps.with_columns(made_at_landing),
            references.with_columns(
                made_at_landing, (pl.col("args_status") == "any").alias("special")
            ),
            Lexicon(rules, {}, {}),
        )
    if not match.compare_args:
        references = references.with_columns(
            pl.lit(None, dtype=pl.List(pl.String)).alias("compare_args")
        )
    tools = _tools(source, references)
    touched = [t for t in tools if rules.rewrites(t) or rules.is_relation(t)]
    if match.compare_args:
        with_list = references.filter(pl.col("compare_args").is_not_null())["tool_name"]
        touched = sorted({*touched, *with_list.unique().to_list()})
    found = pl.concat([_distinct_actual(source, touched), _distinct_expected(references, touched)])
    lexicon, new_keys = _rewritten(
        found.unique("call_key", keep="first", maintain_order=True), rules
    )
    by_name = pl.Series([k for t, k in tools.items() if rules.mode(t) == "names"], dtype=pl.UInt64)
    relations = pl.Series([k for t, k in tools.items() if rules.is_relation(t)], dtype=pl.UInt64)
    special = (pl.col("args_status") == "any") | pl.col("name_key").is_in(relations.implode())
    if match.compare_args:
        special = special | pl.col("compare_args").is_not_null()
    named = pl.col("name_key").is_in(by_name.implode())
    key = pl.when(named).then("name_key").otherwise("call_key").alias("key")
    return Keyed(
        _replaced(steps, new_keys).with_columns(key),
        _replaced(references, new_keys).with_columns(key, (special & ~named).alias("special")),
        lexicon,
    )


def _tools(source: Path | bytes, references: pl.DataFrame) -> dict[str, int]:
    actual = (
        pl.scan_parquet(source, glob=False)
        .filter(pl.col("kind") == "tool_call")
        .select("tool_name", "name_key")
    )
    expected = references.select("tool_name", "name_key").drop_nulls()
    both = (
        pl.concat([actual.unique().collect(), expected.unique()])
        .unique()
        .drop_nulls()
        .sort("tool_name")
    )
    return dict(zip(both["tool_name"].to_list(), both["name_key"].to_list(), strict=True))


def _distinct_actual(source: Path | bytes, tools: list[str]) -> pl.DataFrame:
    return (
        pl.scan_parquet(source, glob=False)
        .filter(pl.col("tool_name").is_in(tools) & (pl.col("args_status") == "ok"))
        .select("call_key", "tool_name", "tool_args")
        .unique("call_key", keep="any")
        .collect()
    )


def _distinct_expected(references: pl.DataFrame, tools: list[str]) -> pl.DataFrame:
    wanted = references.filter(pl.col("tool_name").is_in(tools) & (pl.col("args_status") == "ok"))
    return wanted.select("call_key", "tool_name", "tool_args").unique("call_key", keep="any")


def _rewritten(distinct: pl.DataFrame, rules: Rules) -> tuple[Lexicon, pl.DataFrame]:
    lexicon = Lexicon(rules, {}, {})
    new: list[tuple[int, int]] = []
    for key, tool, text in distinct.iter_rows():  # distinct calls
        args = rules.rewrite(tool, by_value(text.encode()))
        fresh = call_key(tool, canonical_json(args))
        lexicon.arguments[fresh] = (tool, args)
        lexicon.rekeyed[tool] = lexicon.rekeyed.get(tool, 0) + 1
        if fresh != key:
            new.append((key, fresh))
    schema = {"call_key": pl.UInt64, "fresh": pl.UInt64}
    return lexicon, pl.DataFrame(new, schema=schema, orient="row")


def _replaced(table: pl.DataFrame, new_keys: pl.DataFrame) -> pl.DataFrame:
    if new_keys.is_empty():
        return table
    joined = table.join(new_keys, on="call_key", how="left", maintain_order="left")
    return joined.with_columns(pl.coalesce("fresh", "call_key").alias("call_key")).drop("fresh")
