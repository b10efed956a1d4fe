"""The source formats: one module each, one `FORMAT` in each, listed here."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from pipeline.errors import UnknownNameError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from pipeline.landing.model import References, Task, Told
    from pipeline.landing.records.places import Place
    from pipeline.landing.records.reader import Head, Piece, Source
    from pipeline.landing.values.fields import StepColumns


class Many(NamedTuple):
    """Many records of one run each, or of tasks alone."""

    runs: Sequence[Told]
    references: Sequence[References | None]
    steps: StepColumns
    tasks: Sequence[Task] = ()


class Format(NamedTuple):
    """How one source format is recognised, cut into records and decoded."""

    name: str
    """The name `--from` takes."""
    title: str
    """One line: what it is and who writes it."""
    sniff: Callable[[Head], str | None]
    """Why this file is of the format (a short reason), or None when it is not."""
    pieces: Callable[[Source], Iterator[Piece]]
    """The file as records, in order, read with bounded memory."""
    decode: Callable[[Piece, Any], Iterable[Any]]
    """One record to what `lands` says: runs, tasks and damages, or annotations; raises
    `RejectError` for a record that cannot land."""
    fills: str
    """What it can fill, for people."""
    lacks: str
    """What it cannot, for people."""
    leaves_out: Callable[[], Sequence[str]] = list
    """Fields it knows of and leaves out on purpose, by dotted names, for people."""
    expects: tuple[str, ...] = ()
    """Keys of its usual record, by which an unrecognised file is told what comes nearest."""
    silence_is_success: bool = False
    """Does a call that says nothing of an error count as one that worked?"""
    prepare: Callable[[Source], Any] | None = None
    """What decoding needs to know of the whole file beforehand (picklable), if anything."""
    reports_damage: bool = False
    """Is a record many lines, of which `decode` refuses the damaged ones alone (`Damage`)?"""
    reread: Callable[[Source, Sequence[Place]], Iterator[bytes]] | None = None
    """How records are read again from their places, where they are not each one run of bytes."""
    apart: bool = False
    """Is a file one document, each of whose records depends on the whole? Several that follow each
    other in one file then land as if each were a file."""
    lands: Literal["runs", "annotations"] = "runs"
    """Which room of the lake it fills: what agents did, or what people say of it."""
    decode_many: Callable[[Sequence[bytes], Any], Many] | None = None
    """A short way for many records, given what `prepare` told: the same as `decode` one by one, or
    any error, upon which they are decoded one by one.

    It may refuse records with fields that the format does not know, or note these, as `decode`
    does. Lines that hold several values are left whole until it has refused them.
    """
    identified: bool = False
    """Does every record give its run an id? Equal ones then need no telling apart."""


_NAMES = (
    "trajtab",
    "otlp",
    "jaeger",
    "langfuse",
    "langsmith",
    "phoenix",
    "span_attributes",
    "tasks",
    "annotations",
    "pairs",
    "recorder",
    "taubench_v1",
    "tau2_results",
    "adk_evalset",
    "adk_session",
    "adk_evalset_result",
    "claude_code",
    "codex_rollout",
    "codex_exec",
    "gemini_cli",
    "swe_agent",
    "mini_swe_agent",
    "openhands_conversation",
    "openhands_events",
    "openhands_output",
    "bfcl_result",
    "bfcl_answers",
    "inspect_log",
    "atif",
    "toolbench_answer",
    "toolbench_tooleval",
    "adk_eval_legacy",
    "tau2_directory",
    "taubench_fewshot",
    "adk_config",
    "agents_sdk",
    "openai_chat",
    "messages",
)
"""In the order they are tried: the more particular first where two could claim one file."""


def names() -> tuple[str, ...]:
    """Return the names of all formats, in the order they are tried."""
    return _NAMES


@cache
def get(name: str) -> Format:
    """Return the format called `name`.

    Raises:
        UnknownNameError: no format has that name.
    """
    if name not in _NAMES:
        raise UnknownNameError.among("format", name, _NAMES)
    found: Format = import_module(f"{__name__}.{name}").FORMAT
    return found


def every() -> list[Format]:
    """Return all formats, in the order they are tried."""
    return [get(name) for name in _NAMES]
