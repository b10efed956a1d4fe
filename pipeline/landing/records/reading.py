"""A strict reading of one JSON document, of any size: is it sound, and where do its members stand?

What fits into a window is passed in one step, what is larger by what it holds. There is no
tolerance: what is damaged is for the scanner (`pipeline.landing.records.framing`).
"""

from __future__ import annotations

from codecs import BOM_UTF8
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from pipeline.landing.records.documents import Extent
from pipeline.landing.records.framing import name_of
from pipeline.landing.records.whole import whole
from pipeline.landing.records.window import Window

if TYPE_CHECKING:
    from collections.abc import Callable


class Member(NamedTuple):
    """A member of a file's top object: its name, as it is spelled, and where its value stands."""

    spelled: bytes
    extent: Extent
    is_array: bool

    @property
    def name(self) -> str:
        """Its name."""
        return name_of(self.spelled)


def layout(file: BinaryIO) -> list[Member] | None:
    r"""Return the members of a file's top object, none where it is an array.

    None: the file is no single sound document.

    >>> from io import BytesIO
    >>> layout(BytesIO(b'{"a": 1, "b" : [ 2 ]}'))[1]
    Member(spelled=b'b', extent=Extent(line=1, offset=15, size=5, number=0), is_array=True)
    >>> [layout(BytesIO(data)) for data in (b'[1, {"a": 2}]\n', b'{"a": 1}\n{"b": 2}', b'{"a"')]
    [[], None, None]
    """
    reading = _Reading(file)
    found: list[Member] = []

    def member() -> bool:
        name, mark = reading.name(), reading.mark()
        begin, line = reading.offset, reading.line
        if name is None or not reading.value():
            return False
        found.append(Member(name, Extent(line, begin, reading.offset - begin), mark == b"["))
        return True

    try:
        sound = reading.entries(b"}", member) if reading.mark() == b"{" else reading.document()
    except RecursionError:
        return None
    return found if sound and not reading.mark() else None


class _Reading:
    """Where a reading is; each step tells whether what it passed was sound."""

    def __init__(self, file: BinaryIO) -> None:
        self._window = Window(file)
        self._at = 0
        text = whole(file)
        if text is not None:
            self._window.data, self._window.ended = text, True

    @property
    def offset(self) -> int:
        return self._window.base + self._at

    @property
    def line(self) -> int:
        return self._window.line_of(self._at)

    def mark(self) -> bytes:
        """Return the next byte that is no blank; nothing at the file's end."""
        window = self._window
        while True:
            self._at = window.skip(self._at)
            if self.offset == 0 and window.data.startswith(BOM_UTF8):
                self._at = window.skip(len(BOM_UTF8))
            if window.done_with(self._at):
                self._drop()
            if self._at < len(window.data) or window.ended:
                return window.data[self._at : self._at + 1]
            self._drop()
            window.grow()

    def _drop(self) -> None:
        self._window.drop(self._at)
        self._at = 0

    def takes(self, mark: bytes) -> bool:
        """Pass a mark, where it comes next."""
        found = self.mark() == mark
        self._at += found
        return found

    def document(self) -> bool:
        """Pass a value that is all of a file: it may be larger than any window."""
        return self._passed() if self._window.ended else self._by_entries(self.mark())

    def value(self) -> bool:
        """Pass a value."""
        mark = self.mark()
        return self._passed() or self._by_entries(mark)

    def _passed(self) -> bool:
        end = self._window.sound(self._at)
        self._at = self._at if end is None else end
        return end is not None

    def _by_entries(self, mark: bytes) -> bool:
        if mark == b"[":
            return self.entries(b"]", self.value)
        return mark == b"{" and self.entries(b"}", lambda: self.name() is not None and self.value())

    def entries(self, closing: bytes, entry: Callable[[], bool]) -> bool:
        """Pass what stands between the bracket that comes next and the one that closes it."""
        self._at += 1
        if self.takes(closing):
            return True
        while entry():
            if self.takes(closing):
                return True
            if not self.takes(b","):
                return False
        return False

    def name(self) -> bytes | None:
        """Pass a member's name and its colon; None where they do not come next."""
        if self.mark() != b'"':
            return None
        begin = self._at
        if not self._passed():
            return None
        spelled = self._window.data[begin : self._at].strip()[1:-1]
        return spelled if self.takes(b":") else None
