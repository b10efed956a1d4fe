"""Inspect logs, as one JSON object or as an `.eval` archive: a run per sample and epoch."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import UNSET, UnsetType

from pipeline.landing.chats.chat import final_output, passed, prompt_hash_of, trial_number
from pipeline.landing.chats.messages import Raw, text_of
from pipeline.landing.chats.unheard import unheard
from pipeline.landing.formats import Format
from pipeline.landing.model import RejectError, Run, Step, Task
from pipeline.landing.unknown.unmapped import (
    Unmapped,
    add,
    beside,
    decoder,
    left_out,
    rest,
)
from pipeline.landing.values.decode import decoding
from pipeline.landing.values.escapes import plainer
from pipeline.landing.vendors.inspect_archive import (
    MAGIC,
    header,
    is_archive,
    others,
    reread,
    samples,
)
from pipeline.landing.vendors.inspect_records import Evaluation, Sample, Transcript
from pipeline.landing.vendors.inspect_steps import Turn, spoken, steps_of_chat

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pipeline.landing.records.reader import Head, Piece, Source


_decode = decoder(Sample)
_decode_turns = decoder(list[Turn])
_decode_evaluation = decoder(Evaluation | None)
_ATTACHED = re.compile(rb"attachment://([0-9a-f]{32})")
_MEMBERS = (
    "version", "status", "eval", "plan", "results", "stats", "error", "samples", "reductions",
    "location", "etag", "invalidated", "log_updates", "tags", "metadata", "eval_stats",
)  # fmt: skip
"""What a log is known to have; of all this only `eval` and the samples are read."""
_GRADES = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}


def _resolver(sample: Sample) -> Callable[[Raw], bytes]:
    """Return what puts long texts back where a message only refers to them."""
    kept = {**(sample.transcript or Transcript()).content, **(sample.attachments or {})}
    texts = {key: bytes(raw) for key, raw in kept.items() if not isinstance(raw, UnsetType)}

    def text(found: re.Match[bytes]) -> bytes:
        attached = texts.get(found.group(1).decode())
        return attached[1:-1] if attached and attached[:1] == b'"' else found.group()

    return lambda raw: (
        b"null" if isinstance(raw, UnsetType) else _ATTACHED.sub(text, plainer(bytes(raw)))
    )


def _spend(sample: Sample, steps: list[Step]) -> None:
    """Put the sample's tokens, which its scorers' models share, on its last response."""
    last = next((s for s in reversed(steps) if s.kind in {"llm_call", "final"}), None)
    if last is not None and sample.model_usage:
        last.input_tokens = sum(usage.read() for usage in sample.model_usage.values())
        last.output_tokens = sum(usage.output_tokens for usage in sample.model_usage.values())


def _worth(value: Any) -> float | None:
    """Return a verdict as a number; None where it is neither a grade nor a number."""
    if isinstance(value, str):
        return _GRADES.get(value)
    return float(value) if isinstance(value, int | float) else None


def _judged(sample: Sample) -> dict[str, float | None]:
    given = sample.scores or ({"score": sample.score} if sample.score else {})
    return {name: _worth(score.value) for name, score in given.items()}


def _shown(sample: Sample, worths: dict[str, float | None]) -> dict[str, Any] | None:
    """Return the verdicts where the reward is not all they say: a scorer may have many of its own."""
    given = sample.scores or ({"score": sample.score} if sample.score else {})
    told = {name: given[name].value if worth is None else worth for name, worth in worths.items()}
    unread = any(told[name] is not None for name, worth in worths.items() if worth is None)
    return told if unread or len(told) > 1 else None


def _success(worths: list[float | None]) -> bool | None:
    """Tell whether every scorer passed the sample; a score on another scale tells nothing."""
    if not worths or any(worth is None or not 0 <= worth <= 1 for worth in worths):
        return None
    return all(passed(worth) for worth in worths)


def _labels(sample: Sample, log: Evaluation, worths: dict[str, float | None]) -> dict[str, Any]:
    labels = {
        "eval_id": log.eval_id,
        "eval_run_id": log.run_id,
        "commit": (log.revision or {}).get("commit"),
        "scores": _shown(sample, worths),
        "limit": sample.limit,
        "error": sample.error,
    }
    return {name: value for name, value in labels.items() if value is not None}


def _unmapped(sample: Sample, log: Evaluation) -> Unmapped:
    found: Unmapped = {}
    add(found, sample.unmapped)
    add(found, rest(sample.metadata or {}))
    if not isinstance(sample.input, UnsetType):
        add(found, unheard(msgspec.json.decode(sample.input)), "input")
    add(found, log.unmapped)
    return found


def _prompt(asked: bytes) -> Any:
    value = msgspec.json.decode(asked)
    if not isinstance(value, list):
        return value
    said = [turn.get("content") for turn in value if isinstance(turn, dict)]
    return text_of(said[-1]) if said else None


def _targets(target: str | list[str] | None) -> list[str] | None:
    targets = [target] if isinstance(target, str) else target or []
    return [text for text in targets if text] or None


def decode(piece: Piece, context: Evaluation | None = None) -> Iterator[Run | Task]:
    """Decode one sample into its task and its run.

    Raises:
        RejectError: the archive, or the sample in it, is damaged.
    """
    if piece.data.startswith(MAGIC):
        member = piece.data.removeprefix(MAGIC).decode(errors="replace")
        raise RejectError("truncated", f"{member or 'the archive'} cannot be unpacked")
    log = context or Evaluation()
    sample = decoding(_decode, piece.data)
    resolved = _resolver(sample)
    turns = [] if sample.messages is UNSET else decoding(_decode_turns, resolved(sample.messages))
    messages = [said for turn in turns for said in spoken(turn)]
    steps = steps_of_chat(messages)
    _spend(sample, steps)
    worths = _judged(sample)
    yield Task(
        task_id=str(sample.id),
        suite=log.task,
        prompt=_prompt(resolved(sample.input)),
        reference_outputs=_targets(sample.target),
    )
    yield Run(
        steps=steps,
        run_id=sample.uuid or None,
        source_id=f"{sample.id} epoch {sample.epoch}",
        task_id=str(sample.id),
        trial=trial_number(sample.epoch - 1),
        suite=log.task,
        model=log.model,
        prompt_hash=prompt_hash_of(messages),
        labels=_labels(sample, log, worths),
        unmapped=_unmapped(sample, log),
        started_at=sample.started_at or log.created,
        ended_at=sample.completed_at,
        status="ok" if sample.error is None else "error",
        success=_success(list(worths.values())),
        reward=next(iter(worths.values()), None),
        completed=None if sample.limit is None else False,
        final_output=final_output(steps),
    )


def prepare(source: Source) -> Evaluation:
    """Read what all samples of the log share."""
    data = header(source, "eval")
    try:
        log = (decoding(_decode_evaluation, data) if data else None) or Evaluation()
    except RejectError:
        log = Evaluation()
    found = beside(others(source, _MEMBERS))
    add(found, log.unmapped, "eval")
    log.unmapped = found or None
    return log


def pieces(source: Source) -> Iterator[Piece]:
    """Yield the samples; a log that failed early has none."""
    if is_archive(source.head):
        return samples(source)
    return source.parts(("samples",), beside=("eval",))


def sniff(head: Head) -> str | None:
    """Recognise a log's header, or the first member of its archive."""
    if is_archive(head):
        return "an archive of an Inspect log"
    if not head.has("version", "eval") or not isinstance(head.first["eval"], dict):
        return None
    if head.framing == "array":
        return None  # each of its elements is a log
    return "eval.task and eval.model" if head.first["eval"].keys() >= {"task", "model"} else None


FORMAT = Format(
    name="inspect_log",
    title="Inspect logs, .json and .eval",
    sniff=sniff,
    pieces=pieces,
    decode=decode,
    apart=True,
    prepare=prepare,
    reread=reread,
    leaves_out=lambda: [
        *sorted({*_MEMBERS} - {"eval", "samples"}),
        *left_out(Evaluation, "eval"),
        *left_out(Sample, "samples"),
        *left_out(Turn, "samples.messages"),
    ],
    fills="calls, outputs, errors, epochs as trials, scores, targets, a sample's tokens in all",
    lacks="tokens and times of single responses, expected calls",
    expects=("version", "eval"),
)
