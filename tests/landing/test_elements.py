"""Elements of an array: blocks at a time by a decoder, the same as walked token by token."""

from __future__ import annotations

import json
from collections import Counter
from io import BytesIO
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.landing.records import window
from pipeline.landing.records.framing import elements_of
from pipeline.landing.records.window import Window

if TYPE_CHECKING:
    from pipeline.landing.records.whole import Element

VALUE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(width=16) | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("ab"), inner, max_size=3),
    max_leaves=6,
)  # fmt: skip
"""NaN and infinities among them: those are spelled as no JSON is."""
ALIKE = st.lists(
    st.fixed_dictionaries({"a": VALUE, "b": VALUE | st.just([{"a": 1}, {"a": 2}])}), max_size=9
)
NOISE = st.sampled_from([b"", b"]", b"}", b"{", b'"', b",", b"\\", b"\xff", b" 1", b'\\ud800"'])


def found(data: bytes, member: str | None, block: int) -> list[Element]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(window, "BLOCK", block)
        patch.setattr(window, "MOST_BLOCKS", 1)
        return list(elements_of(BytesIO(data), member))


def by_token(data: bytes, member: str | None) -> list[Element]:
    """Return what the scanner finds that no decoder and no pattern helps."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Window, "sound", lambda *_: None)
        patch.setattr(Window, "past", lambda *_: None)
        return list(elements_of(BytesIO(data), member))


@given(
    values=st.lists(VALUE, max_size=6) | ALIKE,
    before=st.dictionaries(st.text(max_size=4), VALUE, max_size=2),
    spelling=st.tuples(st.sampled_from([None, 0, 2]), st.booleans()),
    cut=st.integers(0, 3),
    damage=st.tuples(NOISE, st.integers(0, 200)),
    block=st.sampled_from([1, 7, 50, 1 << 20]),
)
def test_the_decoder_finds_the_elements_that_the_scanner_finds(
    values: list[Any],
    before: dict[str, Any],
    spelling: tuple[int | None, bool],
    cut: int,
    damage: tuple[bytes, int],
    block: int,
) -> None:
    """Sound, cut off, and damaged at any place."""
    indent, plain = spelling
    noise, at = damage
    for member, value in ((None, values), ("runs", {**before, "runs": values, "z": [1]})):
        data = b" \n" + json.dumps(value, indent=indent, ensure_ascii=plain).encode() + b"\n"
        data = data[: len(data) - cut]
        damaged = data[:at] + noise + data[at:]
        elements = found(damaged, member, block)
        assert elements == by_token(damaged, member)
        for element in elements:
            assert damaged[element.offset :].startswith(element.data)
            assert damaged.count(b"\n", 0, element.offset) == element.line - 1


def test_of_two_members_of_one_name_the_first_array_is_meant() -> None:
    data = b'{"runs": 1, "runs": [1, 2], "runs": [3]}'
    assert [element.data for element in elements_of(BytesIO(data), "runs")] == [b"1", b"2"]


def test_a_name_may_be_spelled_with_escapes() -> None:
    data = b'{"\\u0072uns": [1]}'
    assert [element.data for element in elements_of(BytesIO(data), "runs")] == [b"1"]


@pytest.mark.parametrize("indent", [None, 1])
@pytest.mark.parametrize("block", [1 << 12, 1 << 14])
def test_sound_elements_are_passed_many_at_a_time(
    monkeypatch: pytest.MonkeyPatch, indent: int | None, block: int
) -> None:
    """Nothing inside of them is walked: the decoder's words for where a value ends are as known."""
    monkeypatch.setattr(window, "BLOCK", block)
    calls: Counter[str] = Counter()
    held: list[int] = []
    for name in ("next_token", "sound", "grow"):
        original = getattr(Window, name)

        def counted(*args: Any, _name: str = name, _original: Any = original) -> Any:
            calls[_name] += 1
            held.append(len(args[0].data))
            return _original(*args)

        monkeypatch.setattr(Window, name, counted)
    records = [
        {"id": i, "steps": [{"id": n, "text": "a, [b"} for n in range(3)]} for i in range(900)
    ]
    data = json.dumps(records, indent=indent).encode()
    assert len(list(elements_of(BytesIO(data)))) == len(records)
    blocks = len(data) // block + 1
    assert calls["next_token"] < 10
    assert calls["grow"] <= blocks + 5
    assert max(held) <= 3 * block
    # Once or twice a block: of what is left of it, the first is passed alone.
    assert calls["sound"] <= 4 * blocks + 5


def test_damage_in_every_element_holds_no_more_than_a_few_blocks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """However the file goes on: what is refused is not a reason to read all of it."""
    monkeypatch.setattr(window, "BLOCK", 1 << 10)
    held: list[int] = []
    grow = Window.grow
    monkeypatch.setattr(Window, "grow", lambda self: (grow(self), held.append(len(self.data)))[0])
    lone = json.dumps([{"a": "x" * 50, "b": float("nan")}, {"a": "\ud800"}] * 4000).encode()
    assert len(list(elements_of(BytesIO(lone)))) == 8000
    assert max(held) <= 4 * window.MOST_BLOCKS << 10


def test_many_nested_brackets_with_damage_behind_are_read_few_times(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A decoder that reads on to the damage is not asked again for each of the brackets."""
    read: list[int] = []
    seen = window._seen
    monkeypatch.setattr(window, "_seen", lambda data: (seen(data), read.append(len(data)))[0])
    deep = b"[" + b'{"a":' * 400 + b"[" + b'"text", ' * 20_000 + b"NaN]" + b"}" * 400 + b", 1]"
    (first, second) = elements_of(BytesIO(deep))
    assert (first.data[-1:], second.data) == (b"}", b"1")
    assert sum(read) < 20 * len(deep)
