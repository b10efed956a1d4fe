"""What a gate says to GitHub Actions: annotations, and a Markdown summary of the step."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pipeline.cli.encode import encode, marked
from pipeline.errors import InputError
from pipeline.text import visible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeline.tables.result import Result

SUMMARY = "GITHUB_STEP_SUMMARY"
"""The variable that names the file a step appends its summary to."""

_DATA = {"%": "%25", "\r": "%0D", "\n": "%0A"}
_PROPERTY = {**_DATA, ":": "%3A", ",": "%2C"}


def annotate(result: Result) -> None:
    """Write the annotations to stderr, where the runner reads them too: stdout is data."""
    for line in workflow_commands(result):
        with suppress(OSError):  # as all talk: where nobody can hear it, the verdict stands
            click.echo(line, err=True)


def workflow_commands(result: Result) -> Iterator[str]:
    """Yield one workflow command per gate: an error, a warning for the unknown, a notice."""
    unknown = "error" if result.facts["exit_code"] == 1 else "warning"
    levels = {"pass": "notice", "fail": "error"}
    for row in result.rows.select("metric", "rule", "verdict", "reason").rows():
        metric, rule, verdict, reason = map(visible, row)
        level = levels.get(verdict, unknown)
        title = _escaped(f"gate {metric} ({rule})", _PROPERTY)
        yield f"::{level} title={title}::{_escaped(f'{verdict}: {reason}', _DATA)}"


def summarise(result: Result) -> None:
    """Append the summary to the file that GitHub names, if it names one.

    Raises:
        InputError: the file cannot be written.
    """
    named = os.environ.get(SUMMARY)
    if not named:
        return
    try:
        with Path(named).open("a", encoding="utf-8") as file:
            file.write(summary(result))
    except OSError as error:
        raise InputError(f"{named} ({SUMMARY}): cannot write: {error.strerror}") from error


def summary(result: Result) -> str:
    """Return the verdict, the gates, the tasks behind them and the notes, as Markdown."""
    notes = "".join(f"- {marked(note)}\n" for note in result.notes)
    return f"## Gate: {result.facts['verdict']}\n\n{encode(result, 'md').decode()}\n{notes}"


def _escaped(text: str, signs: dict[str, str]) -> str:
    return "".join(signs.get(sign, sign) for sign in text)
