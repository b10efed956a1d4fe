"""Requests to any OpenAI-compatible endpoint: so many at a time, again where a fault may pass."""

from __future__ import annotations

import asyncio
import os
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import polars as pl

from pipeline.arguments import checked
from pipeline.errors import InputError
from pipeline.given import refuse_no_file, refuse_no_name
from pipeline.judge.budget import Budget, Caps, Use, most_of, told_by
from pipeline.judge.log import ResponseLog
from pipeline.judge.sender import Endpoint, Patience, Request, Sender
from pipeline.tables.result import Result

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import ModuleType

CHAT = "/chat/completions"


@checked
def run(
    requests: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    url: str,
    key_env: str | None = None,
    patience: Patience | None = None,
    caps: Caps | None = None,
    progress: Callable[[str], None] | None = None,
) -> Result:
    """Send the requests of a batch file (OpenAI's format) to an endpoint; append its answers to a file.

    What `out` answers already is not sent again, so that a run that was stopped, even killed, is
    completed by running it again. Timeouts, refused connections and passing faults (408, 409, 425,
    429, 5xx) are retried with growing random waits, or as long as Retry-After says. What is refused
    for good (400 and its like), or fails to the last, is left and counted: a further run sends it
    again. A fault that every request would meet (401, 403, 404 and their like) ends the run.

    Args:
        requests: the batch file.
        out: the file of responses, in the form of OpenAI's batch output.
        url: the endpoint's base, such as `http://localhost:8000/v1`, or its whole address.
        key_env: the environment variable that holds the API key; None sends no key.
        patience: how many requests are under way at a time, and how often and how long one is tried.
        caps: what the answers to these requests must not exceed together, those that `out` holds
            from earlier runs included; see `budget`.
        progress: told, now and then, how far it is.

    Returns:
        One row of counts; `left` is what has no answer. `facts["exit_code"]` is 3 if any is left.

    Raises:
        SourceNotFoundError: no such batch file.
        InputError: the batch file is none or in Anthropic's format, a number is outside what it
            allows, the variable is not set, the endpoint refuses every request, `out` cannot be
            written, or httpx is not installed.
    """
    library = _httpx()
    try:
        library.URL(url)
    except (library.InvalidURL, UnicodeError) as error:
        raise InputError(f"url {url!r}: {error}") from error
    endpoint = Endpoint(_address(url), _key(key_env), _checked(patience or Patience()))
    limits = _allowed(caps or Caps())
    with ResponseLog(out) as log:
        before, total = _before(requests, log)
        sender = Sender(endpoint, log, Budget(limits, before), library, progress, total)
        asyncio.run(sender.send(read(requests)))
    return _result(sender, log, before)


def read(path: str | os.PathLike[str]) -> Iterator[Request]:
    """Yield the requests of a batch file.

    Raises:
        SourceNotFoundError: there is no such file.
        InputError: a line is no request, or in Anthropic's format.
    """
    refuse_no_name(path, "file of requests")
    refuse_no_file(Path(path), "file of requests")
    with Path(path).open("rb") as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            try:
                yield msgspec.json.decode(line, type=Request)
            except msgspec.MsgspecError as error:
                if b'"params"' in line:
                    raise InputError(
                        f"{path}:{number}: in Anthropic's batch format; hand it to that service, or "
                        "prepare with --provider openai to send it here"
                    ) from error
                raise InputError(f"{path}:{number}: no request: {error}") from error


def _result(sender: Sender, log: ResponseLog, before: Use) -> Result:
    used = sender.budget.used
    caps = sender.budget.caps
    left = sender.total - before.requests - sender.answered
    priced = bool(caps.price_in or caps.price_out)
    row = {
        "requests": sender.total,
        "answered_before": before.requests,
        "answered": sender.answered,
        "refused": sender.refused,
        "failed": sender.failed,
        "left": left,
        "attempts": sender.attempts,
        "tokens_in": used.tokens_in,
        "tokens_out": used.tokens_out,
        "cost": caps.cost(used) if priced else None,
    }
    notes = [f"{count} left: {fault}" for fault, count in sender.faults.items()]
    if log.damaged:
        notes.append(f"{log.damaged} damaged lines in {log.path} are no answers: asked again")
    if sender.budget.stopped:
        notes.append(f"stopped before {sender.budget.stopped} was exceeded")
    if left:
        notes.append(f"{left} of {sender.total} requests have no answer; run again to send them")
    tokens = ("tokens_in", "tokens_out")
    types = {"cost": pl.Float64(), **dict.fromkeys(tokens, pl.Int128())}
    rows = pl.DataFrame([row], schema_overrides=types)
    # Null where the sum needs more than 64 bits.
    rows = rows.with_columns(pl.col(tokens).cast(pl.Int64, strict=False))
    return Result("judge_run", rows, notes, facts={"exit_code": 3 if left else 0})


def _before(requests: str | os.PathLike[str], log: ResponseLog) -> tuple[Use, int]:
    """Return what the answers in the file used, and how many requests there are.

    Raises:
        InputError: two requests have one id.
    """
    seen: set[str] = set()
    used = Use()
    for one in read(requests):
        if one.custom_id in seen:
            raise InputError(f"{requests}: two requests have the id {one.custom_id!r}")
        seen.add(one.custom_id)
        if one.custom_id in log.answered:
            used = used.plus(told_by(log.answered[one.custom_id], most_of(one.body)))
    return used, len(seen)


def _checked(patience: Patience) -> Patience:
    # Said so that NaN, which is neither more nor less, is refused.
    for name in ("concurrency", "timeout"):
        if not getattr(patience, name) > 0:
            raise InputError(f"{name} {getattr(patience, name):g}: more than 0 is needed")
    for name in ("retries", "backoff"):
        if not getattr(patience, name) >= 0:
            raise InputError(f"{name} {getattr(patience, name):g}: 0 or more is needed")
    return patience


def _allowed(caps: Caps) -> Caps:
    """Refuse what caps nothing: no cost is more than NaN, and of an endless price none is known."""
    for name, value in caps._asdict().items():
        if value is not None and not 0 <= value < inf:
            raise InputError(f"{name} {value:g}: a number from 0 on is needed")
    return caps


def _address(url: str) -> str:
    """Return the address that chat requests are posted to.

    >>> _address("http://localhost:8000/v1/")
    'http://localhost:8000/v1/chat/completions'
    >>> _address("https://host/deployments/d?api-version=1")
    'https://host/deployments/d/chat/completions?api-version=1'
    """
    if not url.startswith(("http://", "https://")):
        raise InputError(f"url {url!r}: http:// or https:// is needed")
    place, mark, asked = url.partition("?")
    base = place.rstrip("/").removesuffix(CHAT)
    return f"{base}{CHAT}{mark}{asked}"


def _key(variable: str | None) -> str | None:
    if variable is None:
        return None
    found = os.environ.get(variable, "").strip()
    if not found:
        raise InputError(f"the environment variable {variable} is not set; it should hold the key")
    if not (found.isascii() and found.isprintable()):
        raise InputError(f"the environment variable {variable} holds signs that no key has")
    return found


def _httpx() -> ModuleType:
    try:
        import httpx  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise InputError(
            "httpx is not installed; sending needs the extra: pip install 'trajtab[judge]'"
        ) from error
    return httpx
