"""What options take: texts read as values, and refused before any work is done for them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click
from click.shell_completion import CompletionItem

from pipeline.errors import InputError
from pipeline.store import Address, address_of

if TYPE_CHECKING:
    from collections.abc import Callable

    Function = TypeVar("Function", bound=Callable[..., Any])


_ITEM = re.compile(r'\s*(?:"((?:[^"]|"")*)"\s*|((?:[^\s",][^,]*)?))(,|\Z)')
"""An item of a list with commas, quoted or plain, and the comma after it."""

FILE_FORMATS = ("json", "jsonl", "csv", "md", "html", "parquet", "xml")


def format_of(file: Path) -> str:
    """Return the format that a file's suffix names."""
    return file.suffix.removeprefix(".").lower()


def output_file(value: str) -> Path:
    """Check that a file can be written, before any work is done for it."""
    path = Path(value)
    if format_of(path) not in FILE_FORMATS:
        known = " ".join(f".{suffix}" for suffix in FILE_FORMATS)
        raise click.BadParameter(
            f"{value or 'no name'}: the suffix names the format, one of {known}"
        )
    if not path.parent.is_dir():
        raise click.BadParameter(f"{value}: there is no folder {path.parent}")
    if path.is_dir():
        raise click.BadParameter(f"{value}: a folder; name a file")
    return path


class Begun(NamedTuple):
    """A list with commas: its whole items, where the last begins, and its text, which may go on."""

    items: list[str]
    start: int
    last: str


def begun_list(text: str) -> Begun:
    """Split at commas, as CSV does: in quotes a comma is a sign as any other, a quote is doubled.

    Raises:
        click.BadParameter: a quote begins a name and does not end it.

    >>> begun_list('"labels.a,b", agent,mo')
    Begun(items=['labels.a,b', 'agent'], start=20, last='mo')
    """
    items: list[str] = []
    start = 0
    while True:
        found = _ITEM.match(text, start)
        if found is None:
            raise click.BadParameter(
                f"{text!r}: a quote begins a name and does not end it; a name that holds a comma "
                "is quoted whole, and quotes in it are doubled: '\"labels.a,b\",agent'"
            )
        quoted, plain, comma = found.groups()
        item = plain.strip() if quoted is None else quoted.replace('""', '"')
        if not comma:
            return Begun(items, start, item)
        items.append(item)
        start = found.end()


def listed(value: object) -> list[Any]:
    """Return what an option with commas lists; the configuration may give a list, or a number.

    Raises:
        click.BadParameter: a quote begins a name and does not end it.
    """
    if isinstance(value, str):
        begun = begun_list(value)
        return [*begun.items, begun.last]
    return list(value) if isinstance(value, Iterable) else [value]


def names(value: str | Iterable[str]) -> tuple[str, ...]:
    """Split at commas that are not in quotes; the configuration may give a list instead.

    >>> names("model, labels.team")
    ('model', 'labels.team')
    >>> names('"labels.team, at night",model')
    ('labels.team, at night', 'model')
    """
    found = tuple(map(str, listed(value)))
    if not all(name.strip() for name in found):
        raise click.BadParameter(f"{value!r} names nothing between two commas")
    return found


def shares(value: str | float | Iterable[float]) -> tuple[float, ...]:
    """Read numbers from 0 to 1, separated by commas.

    >>> shares("0.5,0.95")
    (0.5, 0.95)
    """
    try:
        found = tuple(map(float, listed(value)))
    except (TypeError, ValueError):
        raise click.BadParameter(f"{value!r} is no list of numbers like 0.25,0.5") from None
    if not all(0 <= share <= 1 for share in found):
        raise click.BadParameter(f"{value!r}: each number must be from 0 to 1")
    return found


def key_value(value: str | tuple[str, str]) -> tuple[str, str]:
    """Split `key=value` at the first equals sign.

    >>> key_value("note=a=b")
    ('note', 'a=b')
    """
    if isinstance(value, tuple):
        return value
    key, equals, text = value.partition("=")
    if not (equals and key.strip()):
        raise click.BadParameter(f"{value!r} is not of the form key=value")
    return key.strip(), text


class LakePath(click.Path):
    """A lake's folder, or its URL in an object store, which is no path: `s3://` stays `s3://`."""

    name = "lake"

    def convert(
        self,
        value: str | os.PathLike[str],
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> Path | Address:
        """Return the address that the text names; none is no name for the current folder."""
        if not os.fspath(value):
            self.fail("the lake's name is empty; name a folder, or . for this one", param, ctx)
        try:
            return address_of(value)
        except InputError as error:
            self.fail(str(error), param, ctx)

    def shell_complete(
        self,
        ctx: click.Context,  # noqa: ARG002 - click's signature
        param: click.Parameter,  # noqa: ARG002 - same
        incomplete: str,
    ) -> list[CompletionItem]:
        """Complete folders: a lake is no file."""
        return [CompletionItem(incomplete, type="dir")]
