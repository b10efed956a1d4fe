"""Every error trajtab raises on purpose: one root, one exit code each, a sentence for the person.

A message says what was wrong, where, what was seen and what to do. The command line prints it
as one line and exits with the class's `exit_code`; `kind` names it in JSON output.
"""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


_LISTED_BY = {
    "metric": "trajtab metrics",
    "column": "trajtab sql LAKE 'DESCRIBE FROM scores'",
}


SHORT = 3
"""In names as short as this one other letter is half of what two have in common."""


class TrajtabError(Exception):
    """The root of every error trajtab raises.

    >>> try:
    ...     raise InputError("no limit below 1; 0 was given")
    ... except TrajtabError as error:
    ...     print(error.kind, error.exit_code, error)
    input 2 no limit below 1; 0 was given
    """

    kind = "error"
    exit_code = 2


class InputError(TrajtabError, ValueError):
    """What the user gave cannot be used."""

    kind = "input"


class WrongTypeError(InputError, TypeError):
    """An argument of another type than the function takes."""


class SourceNotFoundError(InputError, FileNotFoundError):
    """A path that does not exist, or a glob that matches nothing."""

    kind = "source_not_found"

    # FileNotFoundError would print an errno pair; ours is one sentence.
    def __str__(self) -> str:
        return str(self.args[0])


class UnrecognisedError(InputError):
    """No format recognises the file."""

    kind = "unrecognised"


class UnknownNameError(InputError):
    """A name that is not among the known ones."""

    kind = "unknown_name"

    @classmethod
    def among(cls, what: str, name: str, known: Iterable[str], where: str = "") -> UnknownNameError:
        """Build the sentence: what is unknown, the nearest valid name, all valid names if few.

        >>> print(UnknownNameError.among("metric", "f2", ["f1", "recall"]))
        unknown metric 'f2'; did you mean 'f1'? (known: f1, recall)
        >>> print(UnknownNameError.among("metric", "banana", ["f1", "recall"]))
        unknown metric 'banana' (known: f1, recall)
        """
        names = sorted(known)
        alike = 0.6 if len(name) > SHORT else 0.5
        near = get_close_matches(name, names, n=1, cutoff=alike)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        few = 40
        listed = f" (known: {', '.join(names)})" if len(names) <= few else ""
        if not (hint or listed) and what in _LISTED_BY:
            hint = f"; `{_LISTED_BY[what]}` lists them"
        return cls(f"unknown {what} {name!r}{where}{hint}{listed}")


class RejectedError(InputError):
    """A record that cannot land, under `--strict`."""

    kind = "rejected"


class LakeError(TrajtabError, OSError):
    """The lake cannot be read or written as asked."""

    kind = "lake"

    def __str__(self) -> str:
        return str(self.args[0])


class RecordError(TrajtabError, OSError):
    """A recorder's file cannot be written."""

    kind = "record"

    def __str__(self) -> str:
        return str(self.args[0])


class EngineError(TrajtabError, RuntimeError):
    """Work that was handed to other processes or machines did not come back."""

    kind = "engine"


class QueryError(InputError):
    """A SQL text or filter that DuckDB refuses."""

    kind = "query"


class GateFailedError(TrajtabError):
    """The candidate is worse than the gate allows."""

    kind = "gate_failed"
    exit_code = 1


class NotJudgeableError(TrajtabError):
    """There is not enough to judge by."""

    kind = "not_judgeable"
    exit_code = 3
