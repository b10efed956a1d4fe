"""What is shown of characters that nobody sees: spelled out, but where they are ordinary text."""

from __future__ import annotations

import json

import polars as pl
import pytest

from pipeline.cli.table import render
from pipeline.text import RIGHT_TO_LEFT, spelled_out, visible

SPELLED = {
    "zero-width space": ("run\u200b1", r"run\u200b1"),
    "zero-width joiner": ("run\u200d1", r"run\u200d1"),
    "zero-width non-joiner": ("run\u200c1", r"run\u200c1"),
    "joiner at the end": ("\u0645\u06cc\u200c", "\u0645\u06cc" + r"\u200c"),
    "word joiner": ("a\u2060b", r"a\u2060b"),
    "soft hyphen": ("a\xadb", r"a\xadb"),
    "Hangul filler": ("a\u3164", r"a\u3164"),
    "Mongolian vowel separator": ("a\u180eb", r"a\u180eb"),
    "selector of a variant": ("a\ufe0fb", r"a\ufe0fb"),
    "tags": ("a\U000e0041", r"a\U000e0041"),
    "invisible plus": ("a\u2064b", r"a\u2064b"),
    "escape": ("\x1b[31m", r"\x1b[31m"),
    "direction override": ("a\u202eb", r"a\u202eb"),
    "joiner behind an emoji": ("\U0001f469\u200d", "\U0001f469" + r"\u200d"),
}

ORDINARY = {
    "family": "\U0001f468\u200d\U0001f469\u200d\U0001f467",
    "pilot of a skin tone": "\U0001f469\U0001f3fd\u200d\u2708\ufe0f",
    "heart on fire": "\u2764\ufe0f\u200d\U0001f525",
    "rainbow flag": "\U0001f3f3\ufe0f\u200d\U0001f308",
    "country": "\U0001f1e9\U0001f1ea",
    "region": "\U0001f3f4\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f",
    "key": "1\ufe0f\u20e3",
    "text style": "\u2602\ufe0e",
    "Persian": "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
    "Hindi": "\u0915\u094d\u200d\u0937",
    "Malayalam": "\u0d28\u0d4d\u200d",
    "Khmer": "\u1780\u17b6\u200b\u1781\u17b6",
    "Han with a variant": "\u845b\U000e0100",
    "Mongolian": "\u182e\u180b",
    "Hebrew": "\u05e9\u05dc\u05d5\u05dd",
    "accents apart": "e\u0301",
}


@pytest.mark.parametrize(("text", "told"), SPELLED.values(), ids=SPELLED)
def test_what_is_not_seen_is_spelled_out(text, told):
    assert visible(text) == told


@pytest.mark.parametrize("text", ORDINARY.values(), ids=ORDINARY)
def test_what_is_ordinary_stays_as_it_is(text):
    assert visible(text) == text
    assert visible(f"a {text}, b") == f"a {text}, b"


def test_two_names_that_look_alike_are_told_apart_in_a_table():
    rows = pl.DataFrame({"run\u200b_id": ["a", "a\u200b"], "n": [1, 2]})
    assert render(rows).text.splitlines() == [
        "run\\u200b_id  n",
        "───────────────",
        "a             1",
        "a\\u200b       2",
    ]


@pytest.mark.parametrize("text", [text for text, _ in SPELLED.values()], ids=SPELLED)
def test_json_on_a_terminal_is_the_same_json(text):
    told = spelled_out(json.dumps({"name": text}, ensure_ascii=False) + "\n")
    assert json.loads(told) == {"name": text}
    assert told.count("\n") == 1


def test_words_of_a_right_to_left_script_stay_one_with_their_joiners():
    text = f"a {ORDINARY['Persian']} b"
    assert RIGHT_TO_LEFT.findall(text) != []
    assert RIGHT_TO_LEFT.search(text)[0] == ORDINARY["Persian"]
