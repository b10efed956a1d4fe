"""The stream of `codex exec --json`: JSONL events of threads, turns and items."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pipeline.landing.chats.chat import final_output
from pipeline.landing.chats.transcript import Transcript, label, spend
from pipeline.landing.formats import Format
from pipeline.landing.model import Run, Status
from pipeline.landing.records.session import read_lines
from pipeline.landing.unknown.unmapped import (
    Known,
    Noting,
    Unmapped,
    add,
    decoder,
    leaves_out,
    left_out,
    noted,
)
from pipeline.landing.vendors.adk import is_unique
from pipeline.landing.vendors.codex_stream import Failure, Item  # noqa: TC001 - msgspec reads types at run time

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeline.landing.model import Damage, Step
    from pipeline.landing.records.reader import Head, Piece


@leaves_out("cached_input_tokens", "reasoning_output_tokens")
class Usage(Known):
    """The tokens of the thread so far: a running total, which may restart."""

    input_tokens: int = 0
    output_tokens: int = 0


class Event(Noting):
    """One line."""

    type: str
    thread_id: str | None = None
    item: Item | None = None
    usage: Usage | None = None
    error: Failure | None = None
    message: str | None = None


_event = decoder(Event)


class _Thread:
    """The steps of one thread. A response ends where a call of it has ended."""

    def __init__(self) -> None:
        self.transcript = Transcript()
        self.status: Status = "incomplete"
        self._items: dict[str, Step] = {}
        self._response: Step | None = None
        self._last: Step | None = None
        self._used = Usage()

    def add(self, event: Event) -> None:
        """Add one event, and what is not known of it."""
        self._added(event)
        found: Unmapped = {}
        add(found, event.unmapped)
        if event.item is not None:
            add(found, event.item.unmapped, "item")
        self.transcript.note(found)

    def _added(self, event: Event) -> None:
        if event.type == "turn.started":
            self.transcript.open_turn()
            self.status = "incomplete"
        elif event.item is not None:
            self._item(event.item, ended=event.type == "item.completed")
        elif event.type == "turn.completed":
            self.status = "ok"
            self._count(event.usage or Usage())
        elif event.type in {"turn.failed", "error"}:
            self._fail(event.error.message if event.error else event.message)
            self.status = "error"
        elif event.type not in {"thread.started", "turn.started"}:
            self.transcript.note(noted("type", event.type))

    def _fail(self, message: str | None) -> None:
        self.transcript.hear(message, "system", error=message)

    def _item(self, item: Item, *, ended: bool) -> None:
        if item.type == "reasoning":
            label(self._open(fresh=self._response is not None), thoughts=item.text)
        elif item.type == "agent_message":
            self._open(fresh=self._says_more()).content = item.text
        elif item.type == "error":
            self._fail(item.message)
        else:
            self._called(item, ended=ended)

    def _called(self, item: Item, *, ended: bool) -> None:
        target = item.call()
        if target is None:
            self.transcript.note(noted("item.type", item.type))
            return
        step = self._items.get(item.id)
        if step is None:
            step = self.transcript.call(target[0], call_id=item.id, response=self._open())
            self._items[item.id] = step
        step.tool_args = target[1]
        self.transcript.touch(step)
        if ended:
            self.transcript.answer(item.id, item.outcome())
            del self._items[item.id]
            self._response = None

    def _says_more(self) -> bool:
        return self._response is not None and (
            self._response.content is not None or self.transcript.steps[-1].kind == "tool_call"
        )

    def _open(self, *, fresh: bool = False) -> Step:
        if self._response is None or fresh:
            self._response = self._last = self.transcript.respond()
        self.transcript.touch(self._response)
        return self._response

    def _count(self, total: Usage) -> None:
        """Give the turn's last response what the turn used."""
        before, self._used = self._used, total
        continues = (
            total.input_tokens >= before.input_tokens
            and total.output_tokens >= before.output_tokens
        )
        since = before if continues else Usage()
        self._response = None
        if self._last is not None:
            spend(
                self._last,
                total.input_tokens - since.input_tokens,
                total.output_tokens - since.output_tokens,
            )


def decode(piece: Piece, _context: Any = None) -> Iterator[Run | Damage]:
    """Decode a stream into the runs of its threads."""
    events, damaged = read_lines(piece, _event)
    threads: dict[str | None, _Thread] = {}
    current: str | None = None
    for event in events:
        current = event.thread_id or current
        threads.setdefault(current, _Thread()).add(event)
    for thread_id, thread in threads.items():
        steps, unique = thread.transcript.finished(), is_unique(thread_id)
        yield Run(
            steps=steps,
            unmapped=thread.transcript.unmapped,
            run_id=thread_id if unique else None,
            source_id=None if unique else thread_id,
            agent="codex",
            status=thread.status,
            final_output=final_output(steps),
        )
    yield from damaged


_TYPES = ("thread.started", "turn.started", "item.started", "item.completed")


def sniff(head: Head) -> str | None:
    """Recognise events of a thread, its turns and its items."""
    first = head.first
    if not isinstance(first, dict) or first.get("type") not in _TYPES:
        return None
    holds = {"thread.started": "thread_id", "turn.started": "type"}.get(first["type"], "item")
    return "events thread.started, turn.started, item.completed" if holds in first else None


FORMAT = Format(
    name="codex_exec",
    title="the stream of codex exec --json",
    sniff=sniff,
    pieces=lambda source: source.document(),
    decode=decode,
    fills="steps, results, errors, tokens by turn",
    lacks="times, the model, what the user asked, tasks, references; a stream must fit in memory",
    leaves_out=lambda: left_out(Event),
    expects=("type", "thread_id"),
    reports_damage=True,
)
