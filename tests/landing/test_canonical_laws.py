"""Keys are equal exactly when the arguments are, for any JSON: nested, unicode, integers of any length."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import msgspec
from hypothesis import given
from hypothesis import strategies as st
from oracle import Call, calls_equal
from strategies import arguments

from pipeline.landing.values.canonical import Keyer

if TYPE_CHECKING:
    from random import Random


def key(args: dict[str, object], layers: int = 0) -> int | None:
    text = json.dumps(args)
    for _ in range(layers):
        text = json.dumps(text)
    return Keyer()("t", msgspec.Raw(text.encode())).call_key


@given(arguments, arguments)
def test_keys_are_equal_when_arguments_are(
    one: dict[str, object], other: dict[str, object]
) -> None:
    assert (key(one) == key(other)) == calls_equal(Call("t", one), Call("t", other))


@given(arguments, st.integers(0, 2), st.randoms(use_true_random=False))
def test_spelling_changes_no_key(args: dict[str, object], layers: int, chance: Random) -> None:
    turned = dict(chance.sample(list(args.items()), len(args)))
    assert key(turned, layers) == key(args)
