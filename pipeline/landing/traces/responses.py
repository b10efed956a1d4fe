"""Which spans tell of a model's response: each response once, however many spans report it.

A framework and the client library below it trace the same call, one span inside the other. The
innermost span counts; what it lacks is taken from those around it, as long as they are around
this one response only.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pipeline.landing.traces.spans import Reading, Role, Span, Tree

Responses = dict[str, "Reading"]
"""What each response says, by the id of the span that counts."""


def responses(tree: Tree) -> Responses:
    """Return the responses of a trace, in order."""
    if not (tree.of("llm") or tree.of("agent")):
        return {}
    inside = _wrappers(tree, "llm")
    said = {span.id: span.reading for span in tree.of("llm")}
    found = _innermost(said, inside)
    _fill(found, inside, said)
    beneath = _beneath(tree, found)
    _add_silent_agents(tree, found, beneath)
    _share_usage(tree, found, beneath)
    return {span.id: found[span.id] for span in tree.spans if span.id in found}


def encoders(tree: Tree, told: Responses) -> Responses:
    """Return what embedding and reranking models used that no response beneath them tells.

    A language model may do their work, in a span of its own. A span that tells no usage is given
    none of one around it, which may be a language model's that lands later; only its model counts.
    """
    inside = _wrappers(tree, "encoder")
    beneath = _beneath(tree, told) if inside else {}
    used = {
        span.id: _without(span.reading, [told[one] for one in beneath.get(span.id, ())])
        for span in tree.of("encoder")
    }
    found = _innermost({one: reading for one, reading in used.items() if reading.has_usage}, inside)
    _fill(found, inside, used)
    for one, reading in used.items():
        for outer in inside[one]:
            if outer.id in found and not found[outer.id].model:
                found[outer.id].model = reading.model
    return found


def _without(reading: Reading, inner: Sequence[Reading]) -> Reading:
    """Return an encoder's reading without what responses beneath it tell."""
    left = msgspec.structs.replace(reading)
    if any(response.has_tokens for response in inner):
        left.input_tokens = left.output_tokens = None
    if any(response.cost_usd is not None for response in inner):
        left.cost_usd = None
    return left


def _innermost(said: Responses, inside: dict[str, list[Span]]) -> Responses:
    """Return what is said by the spans that no other one of these is inside of."""
    around = {outer.id for one in said for outer in inside[one]}
    return {one: msgspec.structs.replace(what) for one, what in said.items() if one not in around}


def _wrappers(tree: Tree, role: Role) -> dict[str, list[Span]]:
    """Return the spans of a role around each of it, the nearest first."""
    found: dict[str, list[Span]] = {}
    for span in tree.of(role):
        line = [span]
        at = tree.near(span, role)
        while at is not None and tree.depth[at.id] < tree.depth[line[-1].id]:  # no circle
            line.append(at)
            at = tree.near(at, role)
        found[span.id] = line[1:]
    return found


def _fill(found: Responses, inside: dict[str, list[Span]], said: Responses) -> None:
    """Give what spans of a kind say to the one inside them, where it is the only one."""
    held = defaultdict(list)
    for inner in found:
        for outer in inside[inner]:
            held[outer.id].append(inner)
    for inner, reading in found.items():
        for outer in inside[inner]:
            if held[outer.id] == [inner]:
                reading.fill(said[outer.id])


def _beneath(tree: Tree, found: Responses) -> dict[str, list[str]]:
    """Return, by ancestor, the responses anywhere beneath it, in order."""
    beneath: dict[str, list[str]] = defaultdict(list)
    for span in tree.spans:
        if span.id in found:
            for outer in tree.above(span):
                beneath[outer.id].append(span.id)
    return beneath


def _add_silent_agents(tree: Tree, found: Responses, beneath: dict[str, list[str]]) -> None:
    """Let an agent that answered, with no llm span beneath it, count as one response."""
    for span in _deepest_first(tree, tree.of("agent")):
        tells = span.reading.says is not None or span.reading.has_tokens
        if tells and not beneath.get(span.id):
            found[span.id] = msgspec.structs.replace(span.reading)
            for outer in tree.above(span):
                beneath[outer.id].append(span.id)


def _share_usage(tree: Tree, found: Responses, beneath: dict[str, list[str]]) -> None:
    """Keep usage that only a span around responses reports: it goes to the last of them."""
    inside = _wrappers(tree, "encoder")
    telling = [span for span in tree.spans if span.reading.has_tokens and span.id not in found]
    # An encoder's usage that another one inside it tells is that one's, no response's.
    retold = {outer.id for span in telling for outer in inside.get(span.id, ())}
    telling = [span for span in telling if span.id not in retold]
    for span in _deepest_first(tree, telling):
        inner = beneath.get(span.id, [])
        if inner and not any(found[one].has_tokens for one in inner):
            last = found[inner[-1]]
            last.input_tokens = span.reading.input_tokens
            last.output_tokens = span.reading.output_tokens


def _deepest_first(tree: Tree, spans: Sequence[Span]) -> list[Span]:
    return sorted(spans, key=lambda span: -tree.depth[span.id])
