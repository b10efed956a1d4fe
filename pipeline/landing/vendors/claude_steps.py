"""Claude Code's lines to steps: responses put together, results joined, sub-agents named."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pipeline.landing.chats.transcript import Outcome, Transcript, label
from pipeline.landing.unknown.unmapped import note
from pipeline.landing.vendors.claude_lines import (
    agent_started,
    delegation,
    noted_of,
    output_of,
    text_of_blocks,
)

if TYPE_CHECKING:
    from pipeline.landing.model import Step
    from pipeline.landing.unknown.unmapped import Unmapped
    from pipeline.landing.vendors.claude_lines import Block, Delegation, Line, Usage

_INTERRUPTED = "[Request interrupted by user"
_REJECTED = (
    "The user doesn't want to proceed with this tool use",
    "The user doesn't want to take this action right now",
    "User rejected tool use",
    _INTERRUPTED,
)
# Claude Code tells the model in a user's words what commands printed that it did not run itself.
_PRINTED = (
    "<local-command-stdout>", "<local-command-stderr>", "<local-command-caveat>", "<bash-stdout>",
    "<bash-stderr>", "<task-notification>",
)  # fmt: skip
_CANCELLED = ("Sibling tool call errored", "Cancelled: parallel tool call")
_ENVELOPE = "<tool_use_error>"


def outcome(block: Block) -> Outcome:
    """Tell what a result says of its call.

    A call the user refused, or one dropped because a parallel one failed, never ran: no fault of
    the tool's, although Claude Code logs it as an error. A label keeps them apart.

    >>> from pipeline.landing.vendors.claude_lines import Block
    >>> outcome(Block("tool_result", content="no such file", is_error=True))
    Outcome(output='no such file', is_error=True, error=None, duration_ms=None, labels=None, unmapped=None)
    >>> outcome(Block("tool_result", content="Sibling tool call errored", is_error=True)).labels
    {'cancelled': True}
    """
    output, noted = output_of(block), noted_of(block)
    text = output.removeprefix(_ENVELOPE) if isinstance(output, str) else ""
    if block.is_error and text.startswith(_REJECTED):
        return Outcome(output, is_error=False, labels={"rejected": True}, unmapped=noted)
    if block.is_error and text.startswith(_CANCELLED):
        return Outcome(output, is_error=False, labels={"cancelled": True}, unmapped=noted)
    return Outcome(output, is_error=bool(block.is_error), unmapped=noted)


class _Written(NamedTuple):
    """The text that the last block read was, where it was one."""

    step: Step
    cites: bool


class _Thread:
    """A sub-agent's part of a session: its steps, and what it was asked."""

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.prompt: str | None = None


class Conversation:
    """The steps of one run. `within`: sidechain lines are sub-agents inside it, not it itself."""

    def __init__(self, *, within: bool) -> None:
        self._transcript = Transcript()
        self._within = within
        self._by_message: dict[str, Step] = {}
        self._written: _Written | None = None
        self._made: set[tuple[int | None, str]] = set()
        self._threads: dict[str, _Thread] = {}
        self._roots: dict[str | None, str] = {}
        self._delegations: list[tuple[Step, Delegation]] = []
        self._started: dict[str, Step] = {}

    @property
    def ends_open(self) -> bool:
        """Is the run cut off: by an interruption, or while a call waits?"""
        steps = self._transcript.steps
        interrupted = bool(steps) and "interrupted" in (steps[-1].labels or {})
        return interrupted or self._transcript.ends_open

    def add(self, line: Line) -> None:
        """Add a user's or the assistant's line; any other only tells what is not known of it."""
        begin = len(self._transcript.steps)
        thread = self._thread(line)
        if line.is_model:
            self._response(line, thread)
        else:
            self._heard(line, thread)
            self._transcript.note(line.unmapped() if line.is_strange else None)
        if thread is not None:
            thread.steps += self._transcript.steps[begin:]

    @property
    def unmapped(self) -> Unmapped:
        """What the lines hold that is not known, and is of no step."""
        return self._transcript.unmapped

    def _thread(self, line: Line) -> _Thread | None:
        """Return the sub-agent a line belongs to: by its id, else by the root of its chain."""
        envelope = line.envelope
        if not (self._within and envelope.is_sidechain):
            return None
        root = self._roots.get(envelope.parent_uuid) or envelope.uuid or ""
        key = envelope.agent_id or root
        self._roots[envelope.uuid] = key
        return self._threads.setdefault(key, _Thread())

    def _heard(self, line: Line, thread: _Thread | None) -> None:
        message, envelope = line.message, line.envelope
        if message is None:
            return
        blocks = message.blocks()
        results = [block for block in blocks if block.tool_use_id is not None]
        agent = agent_started(envelope) if results else None
        for block in results:
            step = self._transcript.answer(block.tool_use_id, outcome(block), envelope.timestamp)
            if agent:
                self._started[agent] = step
        text = text_of_blocks(blocks)
        if text is None and results:
            return
        if thread is not None:
            self._asked(thread, text, line)
        elif line.is_failure:
            self._transcript.hear(text, "system", error=text, started_at=envelope.timestamp)
        else:
            self._said(text, line)

    def _asked(self, thread: _Thread, text: str | None, line: Line) -> None:
        """Add what a sub-agent is told: it is the agent that speaks."""
        if thread.prompt is None:
            thread.prompt = text
        self._transcript.hear(text, "agent", started_at=line.envelope.timestamp)

    def _said(self, text: str | None, line: Line) -> None:
        """Add a user's words, or those that Claude Code put in as a user's."""
        envelope = line.envelope
        injected = envelope.is_meta or envelope.is_compact_summary or envelope.type == "assistant"
        injected = injected or (text is not None and text.startswith(_PRINTED))
        interrupted = text is not None and text.startswith(_INTERRUPTED)
        self._transcript.hear(
            text,
            "system" if injected else "user",
            opens_turn=not (injected or interrupted),
            labels={"interrupted": True} if interrupted else None,
            started_at=envelope.timestamp,
        )

    def _response(self, line: Line, thread: _Thread | None) -> None:
        message = line.message
        if message is None:
            return
        step = self._step_of(line, thread)
        for block in message.blocks():
            before, self._written = self._written, None
            if block.is_call:
                self._called(block, step, line)
            elif block.tool_use_id is not None:
                self._transcript.answer(block.tool_use_id, outcome(block), line.envelope.timestamp)
            elif block.text is not None:
                self._write(step, block, before)
            elif block.thinking:
                label(step, thoughts=_joined((step.labels or {}).get("thoughts"), block.thinking))
            if not block.is_call and block.tool_use_id is None:
                note(step, block.unmapped)
        # Each line of a response repeats its usage; the last has the whole of it.
        if message.usage is not None:
            _use(step, message.usage)
        if line.is_strange:
            note(step, line.unmapped())

    def _write(self, step: Step, block: Block, before: _Written | None) -> None:
        """Add a text to a response; where it or the one before cites, a single text was cut."""
        cites = bool(block.citations)
        cut = before is not None and before.step is step and (cites or before.cites)
        whole = f"{step.content}{block.text}" if cut else _joined(step.content, block.text or "")
        step.content = whole
        self._written = _Written(step, cites)

    def _step_of(self, line: Line, thread: _Thread | None) -> Step:
        """Return the step of the response a line is part of: its lines share a message id."""
        message_id = line.message.id if line.message else None
        step = self._by_message.get(message_id) if message_id else None
        if step is None:
            step = self._transcript.respond(
                actor="agent" if thread is None else "subagent",
                started_at=line.envelope.timestamp,
                cost_usd=line.envelope.cost,
            )
            if message_id:
                self._by_message[message_id] = step
        return step

    def _called(self, block: Block, response: Step, line: Line) -> None:
        if block.id:
            known = (response.response_index, block.id)
            if known in self._made:
                return
            self._made.add(known)
        step = self._transcript.call(
            block.name or "",
            block.input,
            block.id,
            response=response,
            started_at=line.envelope.timestamp,
            unmapped=block.unmapped,
        )
        asked = delegation(block)
        if asked is not None:
            self._delegations.append((step, asked))

    def finished(self) -> list[Step]:
        """Return the steps, each sub-agent's under the call that started it."""
        steps = self._transcript.finished()
        place = {id(step): at for at, step in enumerate(steps)}
        for key, thread in self._threads.items():
            call, name = self._starter(key, thread)
            for step in thread.steps:
                step.parent_step = None if call is None else place[id(call)]
                if step.kind != "message":
                    step.actor = name
        return steps

    def _starter(self, key: str, thread: _Thread) -> tuple[Step | None, str]:
        """Find the call that started a sub-agent, by its id or else by what it asks for."""
        call = self._started.get(key)
        for step, asked in self._delegations:
            if step is call or (call is None and asked.prompt and asked.prompt == thread.prompt):
                self._delegations.remove((step, asked))
                return step, asked.subagent_type or "subagent"
        return call, "subagent"


def _joined(before: str | None, text: str) -> str:
    return text if before is None else f"{before}\n{text}"


def _use(step: Step, usage: Usage) -> None:
    step.input_tokens, step.output_tokens = usage.read(), usage.output_tokens
    label(
        step,
        cache_creation_input_tokens=usage.cache_creation_input_tokens or None,
        cache_read_input_tokens=usage.cache_read_input_tokens or None,
    )
