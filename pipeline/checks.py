"""What is not as it should be in a lake: each check is a query that returns offenders.

A check is one file of `sql/checks/` over the views of the workbench, and says in its header how
severe an offender is. No row means all is well.
"""

from __future__ import annotations

import re
from contextlib import closing
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from pipeline import damage, queries
from pipeline.arguments import checked
from pipeline.current import current, policy_of
from pipeline.lake import run_key_base
from pipeline.landed import opened
from pipeline.scoring.schemas import broken
from pipeline.tables.result import Result
from pipeline.tasks import TaskFolders
from pipeline.text import counted
from pipeline.workbench import select, session

if TYPE_CHECKING:
    import os

    from pipeline.current import Current
    from pipeline.lake import Folder, Lake

FOLDER = "checks"
DAMAGED = "damaged_files"
SEVERITIES = ("error", "warning", "info")
SEVERITY = pl.Enum(SEVERITIES)
NO_OFFENDER = pl.DataFrame(
    schema={"check": pl.String, "severity": SEVERITY, "subject": pl.String, "detail": pl.String}
)

_SEVERITY = re.compile(r"^-- Severity +(\w+)$", re.MULTILINE)


class Check(NamedTuple):
    """One check: its name, how severe its offenders are, what it means, and its query."""

    name: str
    severity: str
    meaning: str
    query: str


def checks() -> list[Check]:
    """Return all checks, by severity and name.

    >>> [check.name for check in checks() if check.severity == "error"][:2]
    ['missing_references', 'negative_durations']
    """
    found = map(_read, queries.names(FOLDER))
    return sorted(found, key=lambda check: (SEVERITIES.index(check.severity), check.name))


@checked
def check(
    lake: Lake | str | os.PathLike[str],
    *,
    policy: str | os.PathLike[str] | None = None,
    deep: bool = False,
) -> Result:
    """Return the offenders of every check: check, severity, subject, detail; ordered by these.

    Args:
        lake: the lake, or its path.
        policy: the policy's file or preset, whose scores are looked at; None is the lake's own.
        deep: read every file of the lake whole, first, and compare it with what was written. Where
            one is damaged, that is all that is told: no other check can be trusted then.

    Returns:
        Rows of check (String), severity (Enum: error, warning, info), subject and detail (String);
        none where all is well.

    Raises:
        SourceNotFoundError: there is no lake.

    >>> from pipeline.sample import example
    >>> check(example()).rows.columns
    ['check', 'severity', 'subject', 'detail']
    """
    lake = opened(lake)
    rules = policy_of(lake, policy)
    read = ""
    if deep:
        n_files, found = _damaged(lake)
        read = f"{counted(n_files, 'file')} read whole, "
        if found.height:
            note = f"{read}{counted(found.height, 'offender')}; nothing else was looked at"
            return Result("check", found, [note])
    every, state = checks(), current(lake, rules)
    extra = {
        "batches": _batches(state),
        "replacements": _replacements(state),
        "no_schemas": broken(TaskFolders.of(lake)),
    }
    with closing(session(lake, rules, extra, state=state, confined=False, macros=False)) as con:
        parts = [_offenders(one, select(con, one.query)) for one in every]
    rows = pl.concat([NO_OFFENDER, *parts])
    note = f"{read}{len(every)} checks, {counted(rows.height, 'offender')}"
    return Result("check", rows, [note])


def failed(result: Result) -> bool:
    """Tell whether an offender is an error."""
    return bool((result.rows["severity"] == "error").any())


def _damaged(lake: Lake) -> tuple[int, pl.DataFrame]:
    """Read all files; return how many, and those that are not what was written."""
    files = list(damage.tables(lake))
    found = [damage.damage_of(lake, folder, table) for folder, table in files]
    rows = [(DAMAGED, "error", *told) for told in found if told is not None]
    schema = NO_OFFENDER.schema
    return len(files), pl.DataFrame(rows, schema=schema, orient="row").sort("subject")


def _read(name: str) -> Check:
    text = queries.read(name)
    severity = _SEVERITY.search(text)
    if severity is None or severity[1] not in SEVERITIES:
        raise ValueError(f"{name}: its header names no severity of {', '.join(SEVERITIES)}")
    meaning = text.splitlines()[0].removeprefix("-- ")
    return Check(name.removeprefix(f"{FOLDER}/"), severity[1], meaning, text)


def _offenders(one: Check, found: pl.DataFrame) -> pl.DataFrame:
    return found.sort("subject", "detail").select(
        pl.lit(one.name).alias("check"),
        pl.lit(one.severity).cast(SEVERITY).alias("severity"),
        pl.col("subject").cast(pl.String),
        pl.col("detail").cast(pl.String),
    )


def _batches(state: Current) -> pl.DataFrame:
    """Return what the manifests say, one row per batch."""
    unscored = {batch.name for batch in state.unscored}
    schema = {
        "batch": pl.String, "sources": pl.String, "n_runs": pl.Int64, "n_tasks": pl.Int64,
        "duplicates": pl.Int64, "scored": pl.Boolean,
    }  # fmt: skip
    rows = [
        (
            batch.name,
            _sources(batch),
            batch.rows("runs"),
            batch.manifest["tasks"],
            batch.manifest["duplicates"],
            batch.name not in unscored,
        )
        for batch in state.batches
    ]
    return pl.DataFrame(rows, schema=schema, orient="row")


def _sources(batch: Folder) -> str:
    """Name a batch's files: the first, and how many more."""
    paths = [source["path"] for source in batch.manifest["sources"]]
    return (
        paths[0] + (f" and {counted(len(paths) - 1, 'more file')}" if len(paths) > 1 else "")
        if paths
        else "no file"
    )


def _replacements(state: Current) -> pl.DataFrame:
    rows = [
        (run_key_base(name) + row, batch.name)
        for batch in state.batches
        for name, row in batch.manifest["replaces"]
    ]
    return pl.DataFrame(rows, schema={"run_key": pl.UInt64, "replaced_by": pl.String}, orient="row")
