"""ToolBench answers: one search for an answer per file, of which the path taken is the run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import field

from pipeline.landing.chats.chat import steps_of
from pipeline.landing.chats.messages import Function, Message
from pipeline.landing.formats import Format
from pipeline.landing.model import Run
from pipeline.landing.unknown.unmapped import Known, Noting, decoder, leaves_out, left_out
from pipeline.landing.values.decode import decoding
from pipeline.landing.values.literal import raw
from pipeline.landing.vendors.toolbench import answer, failed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeline.landing.records.reader import Head, Piece


@leaves_out(
    "Tn", "depth", "expand_num", "fail_times", "finished", "finished_count", "io_state",
    "is_terminal", "message", "messages", "names", "node_type_id", "observation_code",
    "prior_score", "query_count", "total_tokens", "values", "visit_times", "Elo", "child_count",
    "is_leaf", "matching_time", "father",
)  # fmt: skip
class Node(Known):
    """A node of the search."""

    node_type: str = ""
    description: Any = None
    observation: Any = None
    pruned: bool = False
    children: list[Node] = field(default_factory=list)


@leaves_out("size", "max_length")
class Tree(Known):
    """The whole search."""

    tree: Node | None = None


@leaves_out(
    "valid_data", "function", "chain", "query", "has_tool_call", "step_num", "compare_candidates"
)
class Generation(Known):
    """The answer found."""

    train_messages: list[list[Message]] = field(default_factory=list)
    final_answer: Any = None
    finish_type: str | None = None
    query_count: int | None = None
    total_tokens: int | None = None


@leaves_out("win")
class Try(Known):
    """One attempt of a search that does not branch."""

    chain: list[Node] = field(default_factory=list)


@leaves_out("compare_candidates", "try_time", "chain")
class Answer(Noting):
    """The file."""

    answer_generation: Generation
    win: bool | None = None
    tree: Tree = field(default_factory=Tree)
    trys: list[Try] = field(default_factory=list)
    try_count: int | None = None
    forward_args: dict[str, Any] | None = None


_decode = decoder(Answer)


def _nodes(root: Node | None) -> Iterator[Node]:
    waiting = [] if root is None else [root]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += node.children


def _labels(told: Answer) -> dict[str, Any]:
    nodes = list(_nodes(told.tree.tree))
    labels = {
        "finish_type": told.answer_generation.finish_type,
        "query_count": told.answer_generation.query_count,
        "total_tokens": told.answer_generation.total_tokens,
        "tree_action_nodes": sum(node.node_type == "Action" for node in nodes) or None,
        "tree_pruned_nodes": sum(node.pruned for node in nodes) or None,
        "try_count": told.try_count,
        "forward_args": told.forward_args,
    }
    return {name: value for name, value in labels.items() if value is not None}


def _messages(chain: list[Node]) -> Iterator[Message]:
    """Yield what a chain of nodes says and calls: a thought and the call behind it are one."""
    thought, name = None, ""
    for node in chain:
        if node.node_type == "Thought":
            if thought is not None:
                yield Message("assistant", thought)
            thought = node.description
        elif node.node_type == "Action":
            name = str(node.description)
        elif node.node_type == "Action Input":
            call = Function(name, raw(node.description))
            yield Message("assistant", thought, function_call=call)
            yield Message("function", node.observation, name=name)
            thought = None
    if thought is not None:
        yield Message("assistant", thought)


def _chat(told: Answer) -> list[Message]:
    """Return the run: chats are growing prefixes of one, so the longest.

    An attempt that led to no answer is told by its nodes alone; of several, the last one.
    """
    chats = told.answer_generation.train_messages
    if not chats and told.trys:
        return list(_messages(told.trys[-1].chain))
    return max(chats, key=len, default=[])


def decode(piece: Piece, _context: Any = None) -> Iterator[Run]:
    """Decode one answer."""
    told = decoding(_decode, piece.data)
    found = told.answer_generation
    chat = _chat(told)
    finish = found.finish_type
    yield Run(
        steps=steps_of(chat, lambda message: failed(message.content)),
        labels=_labels(told),
        unmapped=told.unmapped,
        success=told.win,
        completed=None if finish is None or not chat else finish == "give_answer",
        final_output=answer(found.final_answer),
    )


def sniff(head: Head) -> str | None:
    """Recognise a search and what it won."""
    if not head.has("win") or not head.first.keys() & {"tree", "trys", "answer_generation"}:
        return None
    return "win and a search tree"


FORMAT = Format(
    name="toolbench_answer",
    title="ToolBench answers, one search per file",
    sniff=sniff,
    pieces=lambda source: source.records(),
    decode=decode,
    leaves_out=lambda: left_out(Answer),
    fills="calls and outputs of the path taken, errors, success; size of the search as labels",
    lacks="calls of the branches and attempts given up, task ids, times; tokens other than a total (a label)",
    expects=("win", "tree"),
)
