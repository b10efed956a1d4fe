"""A record of the wrong shape says where, what was seen there, and what would be right."""

from __future__ import annotations

import json
from typing import Any, Literal

import msgspec
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lakes import landed, trajtab
from making import call, run, write
from reading import decode

from pipeline.landing.model import RejectError
from pipeline.landing.unknown.unmapped import Noting, decoder
from pipeline.landing.values.decode import decoding

KINDS = "final, llm_call, message, tool_call"
STATUSES = "error, incomplete, ok"
CASES: list[tuple[str, Any, str, str]] = [
    ("trajtab", run("r", call("a"), {"kind": "walk"}), "bad_value",
     f"`$.steps[1].kind`; valid are {KINDS}"),
    ("trajtab", run("r", call("a"), status="failed"), "bad_value",
     f"`$.status`; valid are {STATUSES}"),
    # With a field that is not known it is taken apart before.
    ("trajtab", run("r", {"kind": "walk", "mood": 1}), "bad_value", f"valid are {KINDS}"),
    ("trajtab", run("r", call("a", input_tokens="12")), "wrong_type",
     'Expected `int | null`, got `str` - at `$.steps[0].input_tokens`, which is "12"'),
    ("trajtab", run("r", {"kind": 5}), "wrong_type",
     f"Expected `str`, got `int` - at `$.steps[0].kind`, which is 5; valid are {KINDS}"),
    ("trajtab", {"run_id": "r", "steps": {"a": 1}}, "wrong_type",
     'Expected `array`, got `object` - at `$.steps`, which is {"a": 1}'),
    ("trajtab", run("r", expected=[{"tool_name": 3}]), "wrong_type",
     "Expected `str`, got `int` - at `$.expected[0].tool_name`, which is 3"),
    ("trajtab", run("r", expected=[[{"tool_name": "a", "optional": "yes"}]]), "wrong_type",
     'Expected `bool`, got `str` - at `$.expected[0][0].optional`, which is "yes"'),
    ("trajtab", run("r", expected=5), "wrong_type",
     "Expected `array | null`, got `int` - at `$.expected`, which is 5"),
    ("trajtab", run("r", {}), "missing_field",
     "missing required field `kind` - at `$.steps[0]`"),
    ("tasks", {"task_id": "t", "min_steps": "3"}, "wrong_type",
     'Expected `int | null`, got `str` - at `$.min_steps`, which is "3"'),
    ("pairs", {"case_id": "c", "actual": [{"name": [1]}]}, "wrong_type",
     "Expected `str`, got `array` - at `$.actual[0].name`, which is [1]"),
    ("recorder", {"trajectory_id": "t", "steps": [{"step_type": "walk"}]}, "bad_value",
     "`$.steps[0].step_type`; valid are final, llm_call, observation, tool_call"),
    # Half of a surrogate pair is spelled out: no text may hold it.
    ("trajtab", {"run_id": "r", "steps": {"z": "\ud800"}}, "wrong_type",
     r'`$.steps`, which is {"z": "\ud800"}'),
    ("openai_chat", {"messages": [], "expected": [{"name": 3}]}, "wrong_type",
     "`$.expected[0].name`, which is 3"),
]  # fmt: skip


@pytest.mark.parametrize(("form", "record", "reason", "told"), CASES)
def test_a_reject_says_all(form: str, record: Any, reason: str, told: str) -> None:
    with pytest.raises(RejectError) as refused:
        decode(form, record)
    assert refused.value.reason == reason
    assert told in refused.value.detail


def test_what_was_seen_is_cut_short() -> None:
    with pytest.raises(RejectError) as refused:
        decode("trajtab", run("r", call("a", input_tokens="9" * 500)))
    assert refused.value.detail.endswith(', which is "' + "9" * 59 + "…")


def test_secrets_in_it_are_masked(tmp_path) -> None:
    lake = landed(tmp_path, run("good"), run("r", call("a", input_tokens="sk-" + "a1" * 20)))
    (batch,) = lake.batches()
    detail = pl.read_parquet(batch.file("rejects"))["detail"].item()
    assert "input_tokens" in detail
    assert "a1a1" not in detail


def test_a_number_that_no_column_holds_is_named(tmp_path) -> None:
    lake = landed(tmp_path, run("good"), run("r", call("a", turn_index=-1)), run("b", trial=2**40))
    (batch,) = lake.batches()
    told = pl.read_parquet(batch.file("rejects"))[["line", "reason", "detail"]].rows()
    assert told == [
        (2, "number_out_of_range", "turn_index: a number its column cannot hold"),
        (3, "number_out_of_range", "trial: a number its column cannot hold"),
    ]


def test_strict_landing_says_it(tmp_path, capsys) -> None:
    source = write(tmp_path / "runs.jsonl", [run("r", {"kind": "walk"})])
    assert trajtab("land", source, "--lake", tmp_path / "lake", "--strict") == 2
    assert f"valid are {KINDS}" in " ".join(capsys.readouterr().err.split())


class _Inner(Noting):
    of: dict[str, Literal["a", "b"]] | None = None
    one: Literal["x", 1] | None = None
    inner: list[_Inner] | None = None


class _Outer(Noting):
    items: list[_Inner | str]


_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from(["a", "x", "walk"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["items", "of", "one", "inner", "z"]), inner, max_size=3)
    ),
    max_leaves=12,
)


@given(_values)
def test_whatever_stands_there_is_refused_and_never_fails(value: Any) -> None:
    data = json.dumps({"items": value}).encode()
    reasons = set()
    for one in (decoder(_Outer), msgspec.json.Decoder(_Outer).decode):
        try:
            decoding(one, data)
        except RejectError as error:
            reasons.add(error.reason)
    assert reasons <= {"bad_value", "wrong_type", "missing_field", "not_an_object"}


def test_places_in_dictionaries_have_no_name() -> None:
    with pytest.raises(RejectError) as refused:
        decoding(decoder(_Outer), b'{"items": [{"of": {"k": "c"}}]}')
    assert refused.value.detail.endswith("; valid are a, b")
