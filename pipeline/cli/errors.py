"""The one place where errors end: a sentence on stderr, JSON where JSON is wanted, an exit code."""

from __future__ import annotations

import errno
import json
import os
import sys
import traceback
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

import click
from click.core import ParameterSource

from pipeline.cli.session import NAME, Session
from pipeline.errors import TrajtabError
from pipeline.text import one_line

if TYPE_CHECKING:
    from collections.abc import Callable

USAGE = 2
_NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
INTERRUPTED = 130
CLOSED_PIPE = 141
"""What a shell reports for a program that wrote to a closed pipe; 1 would say "gate failed"."""


class Failure(NamedTuple):
    """An error as the person sees it."""

    kind: str
    message: str
    exit_code: int


def guarded(work: Callable[[], None], session: Session) -> int:
    """Run `work` and return the exit code; under `--debug` errors that are no usage errors raise."""
    try:
        code = _exit_code(work)
        sys.stdout.flush()
    except BrokenPipeError:
        _forget_stdout()
        return CLOSED_PIPE
    except SystemExit:
        raise
    except (click.ClickException, click.Abort, KeyboardInterrupt) as error:
        return _tell(describe(error, session.defaults_from), session)
    except BaseException as error:  # a panic in Rust is no Exception
        if session.debug:
            raise
        return _tell(describe(error), session)
    return code


def _exit_code(work: Callable[[], None]) -> int:
    try:
        work()
    except click.exceptions.Exit as done:
        return done.exit_code
    return 0


def describe(error: BaseException, defaults_from: str = "") -> Failure:
    """Turn any exception into what the person sees.

    >>> describe(ValueError("no"))[:2]
    ('internal', 'internal error: ValueError: no; please report it; --debug shows the traceback')
    >>> describe(RuntimeError("Query interrupted"))  # DuckDB's word for Ctrl-C
    Failure(kind='interrupted', message='interrupted', exit_code=130)
    """
    if _interrupted(error):
        return Failure("interrupted", "interrupted", INTERRUPTED)
    if isinstance(error, TrajtabError):
        return Failure(error.kind, str(error), error.exit_code)
    if isinstance(error, click.ClickException):
        return Failure("usage", _usage(error, defaults_from), USAGE)
    if (told := _of_the_system(error)) is not None:
        return Failure("io", told, USAGE)
    seen = ": ".join(filter(None, (type(error).__name__, str(error))))
    told = f"internal error: {seen}; please report it; --debug shows the traceback"
    return Failure("internal", told, USAGE)


def _of_the_system(error: BaseException) -> str | None:
    """Return what the system, or Python before it, says of a file; None of any other error."""
    if isinstance(error, OSError) and error.errno in _NO_ROOM and not error.filename:
        return f"cannot write: {error.strerror}"
    if isinstance(error, OSError) and error.filename and error.strerror:
        return f"{os.fsdecode(error.filename)}: {error.strerror}"
    # From 3.13 on the call is named first: "stat: embedded null character in path".
    nul = isinstance(error, ValueError) and "embedded null" in str(error)
    return "a path is given that holds a NUL character" if nul else None


def _interrupted(error: BaseException | None) -> bool:
    """Is it Ctrl-C, or what DuckDB, which may hear of it first, made of it?"""
    return error is not None and (
        isinstance(error, click.Abort | KeyboardInterrupt)
        or (type(error) is RuntimeError and str(error) == "Query interrupted")
        or type(error).__name__ == "InterruptException"
        or _interrupted(error.__cause__ or error.__context__)
    )


def shown(error: BaseException) -> int:
    """Print an error's traceback and return its exit code."""
    traceback.print_exception(error)
    return describe(error).exit_code


def _usage(error: click.ClickException, defaults_from: str) -> str:
    """Return click's sentence, where a bad default came from, and where help is."""
    message = error.format_message().rstrip(".")
    ctx = error.ctx if isinstance(error, click.UsageError) else None
    if ctx is None:
        return message
    param = error.param if isinstance(error, click.BadParameter) else None
    if param is not None and param.name is not None:
        source = ctx.get_parameter_source(param.name)
        message += f" in {defaults_from}" if source is ParameterSource.DEFAULT_MAP else ""
    return f"{message} (`{ctx.command_path} -h` shows how)"


def _tell(failure: Failure, session: Session) -> int:
    message = one_line(failure.message)
    with suppress(OSError):
        click.echo(f"{NAME}: error: {message}", err=True)
    if session.wants_json:
        told = {"kind": "error", "error": {"kind": failure.kind, "message": message}}
        try:
            click.echo(json.dumps(told))
        except OSError:
            _forget_stdout()
    return failure.exit_code


def _forget_stdout() -> None:
    """Keep the interpreter from flushing into the closed pipe on its way out."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
