"""BFCL results, one run per line: the calls of a function-calling or a prompted model."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import UNSET
from msgspec.structs import asdict

from pipeline.landing.chats.messages import Id, Raw
from pipeline.landing.formats import Format, Many
from pipeline.landing.model import Kind, Outline, RejectError, Run
from pipeline.landing.records.head import BOM
from pipeline.landing.records.reader import HEAD_BYTES
from pipeline.landing.unknown.unmapped import Noting, decoder, leaves_out, left_out
from pipeline.landing.values.decode import decoding
from pipeline.landing.values.fields import StepColumns, unlisted
from pipeline.landing.values.python_calls import calls_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pipeline.landing.records.reader import Head, Piece, Source
    from pipeline.landing.values.fields import Columns


@leaves_out("inference_log", "reasoning_content")
class Record(Noting):
    """One line; some writers leave out all but the result."""

    result: Any
    id: Id = None
    input_token_count: Any = None
    output_token_count: Any = None
    latency: Any = None


_decode_record = decoder(Record)
_decode_list = msgspec.json.Decoder(list[Any]).decode
_encode = msgspec.json.encode
_FAILED = "Error during inference"
_COLUMNS = ("kind", "content", "tool_name", "tool_args", "turn_index", "response_index")
_Row = tuple[Kind, str | None, str | None, Raw, int, int]
_NAMED = re.compile(r"_result_(\w+)$")
_ID = re.compile(r"(.+?)_\d+((-\d+)*|-[a-z]+-\d+)$")


def _turns(result: Any) -> list[list[Any]]:
    """Return the responses of each turn: texts, or lists of {name: arguments}."""
    if isinstance(result, list) and result and not all(isinstance(item, dict) for item in result):
        return [turn if isinstance(turn, list) else [turn] for turn in result]
    return [[result]]  # one turn; an empty list is a response without a call


def _calls(response: Any) -> list[tuple[str, msgspec.Raw]] | None:
    """Return the calls of a response; None where it is a text."""
    if isinstance(response, str):
        said = calls_of(response)
        return None if said is None else [(call.name, call.arguments) for call in said]
    if not isinstance(response, list) or not all(isinstance(call, dict) for call in response):
        raise RejectError("wrong_type", "a response is neither text nor a list of calls")
    return [(name, msgspec.Raw(_encode(args))) for call in response for name, args in call.items()]


class _Results:
    """The steps of results, as columns."""

    def __init__(self) -> None:
        self._rows: list[_Row] = []
        self._counted: dict[str, dict[int, float]] = {}
        self._lengths: list[int] = []

    def add(self, record: Record) -> tuple[list[str], str | None]:
        """Add a record's steps; return the texts said and, where one ends the run, the last."""
        rows = self._rows
        begin = len(rows)
        responses: list[int] = []
        answer: int | None = None
        for turn, told in enumerate(_turns(record.result)):
            for response in told:
                calls = _calls(response)
                at = turn, len(responses)
                if not calls:
                    answer = len(rows)
                responses.append(len(rows))
                rows.append(("llm_call", response if calls is None else None, None, UNSET, *at))
                rows += [("tool_call", None, name, args, *at) for name, args in calls or ()]
        self._lengths.append(len(rows) - begin)
        for name, values in _counts(record, len(responses)):
            self._counted.setdefault(name, {}).update(zip(responses, values, strict=False))
        texts = [text for row in responses if (text := rows[row][1])]
        if answer is None:
            return texts, None
        rows[answer] = ("final", *rows[answer][1:])
        return texts, rows[answer][1]

    def columns(self) -> StepColumns:
        """Return all steps."""
        if not self._rows:
            return StepColumns({}, self._lengths)
        columns: Columns = dict(zip(_COLUMNS, zip(*self._rows, strict=True), strict=True))
        columns["actor"] = ["agent"] * len(self._rows)
        for name, told in self._counted.items():
            columns[name] = [told.get(row) for row in range(len(self._rows))]
        return StepColumns(columns, self._lengths)


def _numbers(value: Any) -> list[float]:
    if isinstance(value, list):
        return [number for item in value for number in _numbers(item)]
    return [value] if isinstance(value, int | float) else []


def _shares(value: Any, responses: int) -> list[float]:
    """Return a count per response, where that many are given; else all of it on the first."""
    numbers = _numbers(value)
    return numbers if len(numbers) == responses else [sum(numbers)] if numbers else []


def _counts(record: Record, responses: int) -> Iterator[tuple[str, Iterable[float]]]:
    """Yield what is counted of responses, by the step's field."""
    if record.input_token_count is not None:
        yield "input_tokens", map(int, _shares(record.input_token_count, responses))
    if record.output_token_count is not None:
        yield "output_tokens", map(int, _shares(record.output_token_count, responses))
    if record.latency is not None:
        yield "duration_ms", (1000.0 * seconds for seconds in _shares(record.latency, responses))


def suite_of(task_id: str) -> str | None:
    """Return the category an id names.

    >>> suite_of("live_multiple_3-2-0"), suite_of("memory_kv_7-customer-7"), suite_of("line 7")
    ('live_multiple', 'memory_kv', None)
    """
    found = _ID.match(task_id)
    return found.group(1) if found else None


def _category(name: str | None) -> str | None:
    found = _NAMED.search(name or "")
    return found.group(1) if found else None


def _outline(record: Record, name: str, model: str | None, results: _Results) -> Outline:
    texts, final = results.add(record)
    return Outline(
        source_id=name,
        task_id=name,
        suite=suite_of(name) or _category(model),
        model=model,
        unmapped=record.unmapped,
        status="error" if any(text.startswith(_FAILED) for text in texts) else "ok",
        final_output=final,
    )


def decode(piece: Piece, context: str | None = None) -> Iterator[Run]:
    """Decode one line into its run; a line without an id is known by its number."""
    if piece.data[:1] == b"[":
        record = Record(result=decoding(_decode_list, piece.data))
    else:
        record = decoding(_decode_record, piece.data)
    name = f"line {piece.line}" if record.id is None else str(record.id)
    results = _Results()
    outline = _outline(record, name, context, results)
    yield Run(**asdict(outline), steps=unlisted(results.columns()))


def decode_many(bodies: Sequence[bytes], context: str | None) -> Many:
    """Decode lines that have ids, one after the other, into columns."""
    results = _Results()
    runs = []
    for record in map(_decode_record, bodies):
        if record.id is None:
            raise RejectError("missing_field", "a line without an id is known by its number")
        runs.append(_outline(record, str(record.id), context, results))
    return Many(runs, [None] * len(runs), results.columns())


def model_of(source: Source) -> str | None:
    """Return the model a results file is named for, as no line names it.

    Otherwise equal lines of two models would be one run. `MODEL/BFCL_v4_x_result.json` is the
    benchmark's own layout; people also write the model in front of the file's name.
    """
    path = source.named
    before, mark, _ = path.name.partition("BFCL_v")
    return (before.strip("_-.") or path.parent.name or None) if mark else path.stem


_TOLD = {"input_token_count", "output_token_count", "latency", "inference_log"}


def _list_of_texts(line: bytes) -> list[str] | None:
    try:
        value = msgspec.json.decode(line, type=list[str])
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    return value


def _bare(head: Head) -> bool:
    """Tell whether all lines are lists of texts, and one of them lists calls."""
    if not (isinstance(head.first, list) and isinstance(head.second, list)):
        return False
    lines = head.text.removeprefix(BOM).splitlines()
    whole = lines[:-1] if len(head.text) == HEAD_BYTES else lines
    lists = [_list_of_texts(line) for line in whole[:40] if line.strip()]
    return None not in lists and any(calls_of(text) for texts in lists for text in texts or ())


def _is_own(record: dict[str, Any]) -> bool:
    """Tell whether a record says what else the benchmark writes, or has an id like its own."""
    alone = record.keys() == {"id", "result"}
    return alone or not _TOLD.isdisjoint(record) or suite_of(record["id"]) is not None


def sniff(head: Head) -> str | None:
    """Recognise results under ids, or lines that are bare results."""
    named = head.has("id", "result") and isinstance(head.first["id"], str)
    if named and isinstance(head.first["result"], str | list) and _is_own(head.first):
        return "records with id and result"
    return "lines that are lists of call texts" if _bare(head) else None


def _pieces(source: Source) -> Iterator[Piece]:
    """Yield results under ids, however they are printed, or lines that are bare results."""
    return source.records() if source.head.has("id") else source.lines()


FORMAT = Format(
    name="bfcl_result",
    title="BFCL results, JSONL (gorilla, Berkeley)",
    sniff=sniff,
    pieces=_pieces,
    decode=decode,
    decode_many=decode_many,
    prepare=model_of,
    leaves_out=lambda: left_out(Record),
    fills="calls, turns, responses, tokens and latency where given, the model from the path",
    lacks="outputs, errors, success; names of arguments given by position",
    expects=("id", "result"),
)
