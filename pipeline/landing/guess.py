"""What to tell of a file that no format recognises: what was seen, and which formats come nearest."""

from __future__ import annotations

import re
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from pipeline.landing import formats
from pipeline.landing.records.head import is_too_deep
from pipeline.landing.source.foreign import foreign
from pipeline.landing.source.transport import MOST_LAYERS, is_packed

if TYPE_CHECKING:
    from pipeline.landing.formats import Format
    from pipeline.landing.records.reader import Head, Source

MOST_GUESSES = 3
MOST_KEYS = 8

_KINDS = {str: "texts", bool: "true or false", list: "lists", type(None): "null, or none at all"}


def unrecognised(source: Source) -> str:
    """Return the sentence that refuses a file."""
    return f"{source.shown}: {_no_log(source) or _no_format(source.head)}"


def _no_log(source: Source) -> str | None:
    """Tell why a file is no JSON that could be looked at."""
    head = source.head
    if source.damage is not None:
        return f"damaged archive: {source.damage.detail}"
    if is_packed(source):
        return f"packed more than {MOST_LAYERS} times over; unpack it first"
    if packing := foreign(head.text):
        return f"{packing}, which is not read; unpack or export it first"
    return source.unread or _table(source) or _NOTHING.get(head.framing)


def _table(source: Source) -> str | None:
    """Tell of a spreadsheet's export, whose first line may begin as JSON does: 17;ann;4."""
    suffix = PurePath(source.shown).suffix.lower()
    if suffix not in (".csv", ".tsv") or isinstance(source.head.first, dict):
        return None
    return f"rows of a table ({suffix}) are not read; write each as an object, in JSON lines"


_NOTHING = {
    "empty": "the file is empty",
    "other": "line 1 is no JSON; a log of JSON or JSON lines was expected",
}


_STREAMED = re.compile(
    r".*[._-]delta|chat\.completion\.chunk|(message|content_block)_start|response\.(created|in_progress)"
)
"""What the pieces call themselves that models' interfaces send one by one."""


def _streamed(record: Any) -> str | None:
    """Return what a record calls itself, where it is a piece of an answer."""
    if not isinstance(record, dict):
        return None
    told = (record.get("object"), record.get("type"))
    return next((one for one in told if isinstance(one, str) and _STREAMED.fullmatch(one)), None)


def _no_format(head: Head) -> str:
    if piece := _streamed(head.first) or _streamed(head.second):
        return (
            f"it holds pieces of an answer as they streamed ({piece}), and no whole message; "
            "save the finished response instead"
        )
    if not isinstance(head.first, dict):
        kind = _KINDS.get(type(head.first), "numbers")
        return f"a log's records are objects; this one's are {kind}"
    near = "".join(f"; {guess}" for guess in guesses(head))
    told = f"no format has records with {sorted(head.first)[:MOST_KEYS]}{near}"
    if is_too_deep(head.text):
        told = f"nested too deep to be looked at whole; of what was seen, {told}"
    return f"{told}; `trajtab formats` lists them, --from names one"


def guesses(head: Head) -> list[str]:
    """Say of up to three formats what they expect and the first record lacks, the nearest first.

    The nearest has the largest part of its expected keys there; of equal ones that with more of
    them, then the one that is tried first. A format none of whose keys are there is no guess.
    """
    if not isinstance(head.first, dict):
        return []
    seen = head.first.keys()
    near = [form for form in formats.every() if seen & set(form.expects)]
    near.sort(key=lambda form: _distance(form, set(seen)))
    return [_guess(form, set(seen)) for form in near[:MOST_GUESSES]]


def _distance(form: Format, seen: set[str]) -> tuple[float, int]:
    there = len(seen & set(form.expects))
    return -there / len(form.expects), -there


def _guess(form: Format, seen: set[str]) -> str:
    missing = [key for key in form.expects if key not in seen]
    if missing:
        return f"{form.name} would need {', '.join(missing)}"
    return f"{form.name} has {', '.join(form.expects)}, but in another shape"
