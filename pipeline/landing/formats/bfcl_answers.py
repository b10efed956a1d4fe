"""BFCL possible answers: tasks with the calls that are right, in one or several spellings."""

from __future__ import annotations

from itertools import islice, product
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import UNSET

from pipeline.landing.formats import Format, Many
from pipeline.landing.formats.bfcl_result import suite_of
from pipeline.landing.model import Expected, References, RejectError, Task
from pipeline.landing.unknown.unmapped import Noting, decoder, leaves_out, left_out
from pipeline.landing.values.decode import decoding
from pipeline.landing.values.fields import NO_STEPS
from pipeline.landing.values.python_calls import PythonCall, calls_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pipeline.landing.records.reader import Head, Piece


@leaves_out("num_hops", "source")
class Record(Noting):
    """One line; an answer's `source` is where its author found it."""

    id: str
    ground_truth: list[Any]


_decode = decoder(Record)
_encode = msgspec.json.Encoder().encode
MOST_ALTERNATIVES = 32
_ANSWERED = {
    "web_search": ("web_search_base", "web_search_no_snippet"),
    "memory": ("memory_kv", "memory_vector", "memory_rec_sum"),
}
"""The categories whose ground truth is what is answered; results are of one of their variants."""
_ABSENT = object()
"""What "" among the acceptable values means: the argument may be left out."""


def _values(acceptable: Any) -> list[Any]:
    """Return the values an argument may have, in the order given; "" is to leave it out."""
    if not isinstance(acceptable, list):
        return [acceptable]
    given: list[Any] = []
    for item in acceptable:
        given += [_ABSENT] if item == "" else _spellings(item)
    return given or [_ABSENT]


def _spellings(value: Any) -> list[Any]:
    """Return an acceptable value with its members' acceptable values worked in."""
    if isinstance(value, dict):
        return _objects({name: _values(inner) for name, inner in value.items()})
    if isinstance(value, list):
        items = product(*(_spellings(item) for item in value))
        return [list(found) for found in islice(items, MOST_ALTERNATIVES + 1)]
    return [value]


def _objects(values: dict[str, list[Any]]) -> list[dict[str, Any]]:
    """Return the objects that take one of its values for each member."""
    chosen = islice(product(*values.values()), MOST_ALTERNATIVES + 1)
    return [
        {name: value for name, value in zip(values, one, strict=True) if value is not _ABSENT}
        for one in chosen
    ]


def _single(call: dict[str, dict[str, Any]]) -> list[Expected]:
    """Return the spellings of one expected call, `{name: {argument: [acceptable values]}}`."""
    return [
        Expected(name, msgspec.Raw(_encode(arguments)))
        for name, acceptable in call.items()
        for arguments in _objects({key: _values(given) for key, given in acceptable.items()})
    ]


def _alternatives(calls: list[dict[str, Any]]) -> list[list[Expected]]:
    """Return the calls in every spelling, as far as `MOST_ALTERNATIVES` + 1."""
    chosen = product(*(_single(call) for call in calls))
    return [list(one) for one in islice(chosen, MOST_ALTERNATIVES + 1)]


def _told(call: PythonCall, turn: int) -> Expected:
    # How arguments by position are called is not told, so they match whatever was given.
    arguments = UNSET if call.by_position else call.arguments
    return Expected(call.name, arguments, turn_index=turn)


def _read(text: Any) -> list[PythonCall]:
    calls = calls_of(text) if isinstance(text, str) else None
    if calls is None:
        raise RejectError("bad_value", f"no call: {str(text)[:80]}")
    return calls


def _turns(turns: list[list[Any]]) -> list[Expected]:
    return [
        _told(call, turn)
        for turn, texts in enumerate(turns)
        for text in texts
        for call in _read(text)
    ]


def _spelled(truth: list[Any]) -> list[list[Expected]]:
    if all(isinstance(turn, list) for turn in truth) and truth:
        return [_turns(truth)]
    if all(isinstance(call, dict) and all(map(_is_object, call.values())) for call in truth):
        return _alternatives(truth)
    raise RejectError("wrong_type", "ground_truth holds neither turns of calls nor calls")


def _is_object(value: Any) -> bool:
    return isinstance(value, dict)


def _answered(record: Record, category: str) -> Iterator[Task]:
    """Yield the task of a category, and of its variants: any of the answers is right."""
    for variant in (category, *_ANSWERED[category]):
        yield Task(
            task_id=record.id.replace(category, variant, 1),
            suite=variant,
            reference_outputs=record.ground_truth,
            unmapped=record.unmapped,
        )


def _tasks(record: Record) -> list[Task]:
    category = suite_of(record.id)
    if category in _ANSWERED and all(isinstance(answer, str) for answer in record.ground_truth):
        return list(_answered(record, category))
    return [_task(record)]


def _task(record: Record) -> Task:
    task = Task(
        task_id=record.id,
        suite=suite_of(record.id),
        reference_complete=True,
        unmapped=record.unmapped,
    )
    spelled = _spelled(record.ground_truth)
    if len(spelled) > MOST_ALTERNATIVES:
        spelled = spelled[:1]
        task.labels = {"spellings": f"more than {MOST_ALTERNATIVES}, of which the first counts"}
    task.references = References(spelled)
    return task


def decode(piece: Piece, _context: Any = None) -> Iterator[Task]:
    """Decode one line into its task, or those of its variants."""
    yield from _tasks(decoding(_decode, piece.data))


def decode_many(bodies: Sequence[bytes], _context: Any) -> Many:
    """Decode lines, one after the other."""
    return Many([], [], NO_STEPS, [task for body in bodies for task in _tasks(_decode(body))])


def sniff(head: Head) -> str | None:
    """Recognise ground truth under ids."""
    if not head.has("id", "ground_truth") or not isinstance(head.first["ground_truth"], list):
        return None
    first: Any = next(iter(head.first["ground_truth"]), [])
    own = isinstance(first, list | dict) or suite_of(str(head.first["id"])) in _ANSWERED
    return "records with id and ground_truth" if own else None


FORMAT = Format(
    name="bfcl_answers",
    title="BFCL possible answers, JSONL (gorilla, Berkeley)",
    sniff=sniff,
    pieces=lambda source: source.records(),
    decode=decode,
    decode_many=decode_many,
    leaves_out=lambda: left_out(Record),
    fills="tasks with expected calls: every acceptable spelling up to 32, else the first (and the "
    "label spellings); reference answers of web searches and memories",
    lacks="runs (they are in the result files), prompts, names of arguments given by position",
    expects=("id", "ground_truth"),
)
