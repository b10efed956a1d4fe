"""Chunks to staged batches, several side by side, in the order of the chunks."""

from __future__ import annotations

from collections import deque
from concurrent.futures.process import BrokenProcessPool
from itertools import chain, islice
from typing import TYPE_CHECKING

from pipeline.engines.pool import pool_of
from pipeline.errors import EngineError
from pipeline.landing.batch.commit import Outcome
from pipeline.landing.batch.stage import Staged, stage

if TYPE_CHECKING:
    from collections.abc import Iterator
    from concurrent.futures import Future

    from pipeline.landing.batch.chunks import Chunk
    from pipeline.landing.options import Options


def staged(
    todo: Iterator[Chunk | Outcome], options: Options, workers: int
) -> Iterator[Staged | Outcome]:
    """Decode chunks: a single one here, several in `workers` processes; pass outcomes on.

    A process that dies breaks its pool, and most die for want of memory: what was not finished is
    done again by half as many, until a single one dies.

    Raises:
        EngineError: that.
    """
    first = list(islice(todo, 2))
    todo = chain(first, todo)
    if len(first) == 1 or workers == 1:
        for item in todo:
            yield item if isinstance(item, Outcome) else stage(item, options)
        return
    begun: deque[Chunk | Outcome] = deque()
    while True:
        try:
            yield from _by_pool(todo, begun, options, workers)
        except BrokenProcessPool as error:
            if workers == 1:
                raise EngineError(
                    "a worker process died, and so did the last one, alone: out of memory? What "
                    "has landed stays, and landing the same again does the rest"
                ) from error
            workers //= 2
        else:
            return


def _by_pool(
    todo: Iterator[Chunk | Outcome], begun: deque[Chunk | Outcome], options: Options, workers: int
) -> Iterator[Staged | Outcome]:
    """Decode what is begun, then what is to do; `begun` keeps what is not yet yielded."""
    with pool_of(workers) as pool:

        def started(item: Chunk | Outcome) -> Future[Staged] | Outcome:
            return item if isinstance(item, Outcome) else pool.submit(stage, item, options)

        running = deque(started(item) for item in begun)
        for item in todo:
            begun.append(item)
            running.append(started(item))
            if len(running) > workers:
                yield _next(running, begun)
        while running:
            yield _next(running, begun)


def _next(
    running: deque[Future[Staged] | Outcome], begun: deque[Chunk | Outcome]
) -> Staged | Outcome:
    """Wait for the first that runs: only then is it no longer begun."""
    first = running.popleft()
    found = first if isinstance(first, Outcome) else first.result()
    begun.popleft()
    return found
