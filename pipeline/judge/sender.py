"""Senders at work: one request after the other, each until it is answered or given up."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from pipeline.errors import InputError
from pipeline.judge.answers import is_answer
from pipeline.judge.budget import Budget, Use, most_of, told_by
from pipeline.judge.retrying import PASSING, SETUP, retry_after, wait_before
from pipeline.redact import redact

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import ModuleType

    import httpx

    from pipeline.judge.log import ResponseLog

SHOWN = 300
"""Characters of a service's message that a person sees."""


class Patience(NamedTuple):
    """How many requests are under way at a time, and how often and how long each is tried."""

    concurrency: int = 8
    retries: int = 6
    """How often a request is sent again."""
    timeout: float = 120.0
    """Seconds for one attempt."""
    backoff: float = 0.5
    """Seconds: the first wait is drawn from 0 to this, the limit of each further one is doubled."""


class Endpoint(NamedTuple):
    """Where requests go, with which key, and how patiently."""

    url: str
    key: str | None
    patience: Patience


class _Tried(NamedTuple):
    """What came of one attempt: no fault is an answer, a passing one is worth another attempt."""

    used: Use = Use()
    fault: str | None = None
    passing: bool = False
    retry_after: float | None = None


class Request(msgspec.Struct):
    """One line of a batch file in OpenAI's format."""

    custom_id: str
    body: dict[str, Any]


@dataclass
class Sender:
    """What the senders of one run share."""

    endpoint: Endpoint
    log: ResponseLog
    budget: Budget
    library: ModuleType
    progress: Callable[[str], None] | None
    total: int
    answered: int = 0
    attempts: int = 0
    refused: int = 0
    failed: int = 0
    faults: dict[str, int] = field(default_factory=dict)
    """What went wrong at the end of a request, counted."""
    chance: Random = field(default_factory=Random)

    async def send(self, requests: Iterator[Request]) -> None:
        """Send all requests that have no answer yet."""
        queue = (one for one in requests if one.custom_id not in self.log.answered)
        key = self.endpoint.key
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        many = self.endpoint.patience.concurrency
        limits = self.library.Limits(max_connections=many, max_keepalive_connections=many)
        whole = self.endpoint.patience.timeout
        # The library bounds every single read. Connecting must end before the attempt does: what
        # never reached the service has cost nothing.
        bounds = self.library.Timeout(whole, connect=whole / 2)
        async with self.library.AsyncClient(
            headers=headers, limits=limits, timeout=bounds
        ) as client:
            try:
                async with asyncio.TaskGroup() as group:
                    for _ in range(many):
                        group.create_task(self._work(client, queue))
            except ExceptionGroup as errors:
                raise errors.exceptions[0] from None

    async def _work(self, client: httpx.AsyncClient, queue: Iterator[Request]) -> None:
        """Take one request after the other, until a cap is reached; all senders take from one queue."""
        for one in queue:
            if not await self._deliver(client, one):
                return

    async def _deliver(self, client: httpx.AsyncClient, one: Request) -> bool:
        """Send one request until it is answered or given up; False where a cap is reached."""
        most = most_of(one.body)
        _, retries, _, backoff = self.endpoint.patience
        tried = _Tried()
        for attempt in range(1, retries + 2):
            if not await self.budget.reserve(most):
                if tried.fault is not None:
                    self._leave(tried)
                return False
            tried = _Tried()
            try:
                tried = await self._attempt(client, one, most)
            finally:
                await self.budget.settle(most, tried.used)
            if tried.fault is None:
                return True
            wait = wait_before(attempt, tried.retry_after, backoff, self.chance)
            if not tried.passing or wait is None or attempt > retries:
                self._leave(tried)
                return True
            await asyncio.sleep(wait)
        return True

    async def _attempt(self, client: httpx.AsyncClient, one: Request, most: Use) -> _Tried:
        """Send one request once.

        Where a request was sent but no answer came through, one may have been made, and paid: it
        uses what was set aside.
        """
        no_contact = (
            self.library.ConnectError, self.library.ConnectTimeout, self.library.PoolTimeout
        )  # fmt: skip
        self.attempts += 1
        try:
            async with asyncio.timeout(self.endpoint.patience.timeout):
                response = await client.post(self.endpoint.url, json=one.body)
        except no_contact as error:
            return _Tried(fault=f"no connection: {type(error).__name__}", passing=True)
        except (self.library.TimeoutException, TimeoutError):
            return _Tried(most, "timeout", passing=True)
        except self.library.RequestError as error:
            return _Tried(most, f"connection lost: {type(error).__name__}", passing=True)
        body = _json(response)
        if response.is_success and is_answer(body):
            self._answered(one, response, body)
            return _Tried(told_by(body, most))
        passing = response.is_success or response.status_code in PASSING
        asked = retry_after(response.headers.get("retry-after"))
        return _Tried(
            _used(response, body, most), self._fault(response), passing=passing, retry_after=asked
        )

    def _answered(self, one: Request, response: httpx.Response, body: dict[str, Any]) -> None:
        named = response.headers.get("x-request-id")
        self.log.append(one.custom_id, response.status_code, named, body)
        self.answered += 1
        if self.progress is not None:
            done = len(self.log.answered) + self.answered
            self.progress(f"{done:,} of {self.total:,} answered, {self.attempts:,} attempts")

    def _fault(self, response: httpx.Response) -> str:
        """Describe a response that is no answer; raise if every request would meet the same."""
        said = " ".join(response.text.split())
        if response.has_redirect_location:
            said = f"moved to {response.headers['location']}"
        if self.endpoint.key:
            said = said.replace(self.endpoint.key, "[redacted]")
        fault = f"HTTP {response.status_code}: {redact(said)[:SHOWN] or response.reason_phrase}"
        if response.status_code in SETUP:
            where = redact(self.endpoint.url)
            raise InputError(f"{where} refuses every request, {fault}; nothing more was sent")
        return fault

    def _leave(self, tried: _Tried) -> None:
        self.refused += not tried.passing
        self.failed += tried.passing
        fault = tried.fault or ""
        self.faults[fault] = self.faults.get(fault, 0) + 1


def _used(response: httpx.Response, body: Any, most: Use) -> Use:
    """Return what an attempt without an answer used: what it says, nothing for a fault that is told.

    A body under status 200 that cannot be read may be an answer that was cut off, and paid.
    """
    if isinstance(body, dict):
        return told_by(body, Use()) if body.get("usage") is not None else Use()
    return most if response.is_success else Use()


def _json(response: httpx.Response) -> Any:
    try:
        return json.loads(response.content)
    except (ValueError, RecursionError):
        return None
