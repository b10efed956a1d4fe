"""What counts as a judge's answer: a table of hostile and malformed ones, each with its outcome."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from judge.asking import anthropic, openai

from pipeline.judge.answers import Response, response_of
from pipeline.judge.parse import LONGEST, NULL_REASONS, parse
from pipeline.judge.rubric import Answer

TEN = Answer("score", "integer", 0, 10)
SHARE = Answer("score", "number", 0, 1)
YES = Answer("relevant", "boolean")

SCORED = [
    (TEN, '{"reason": "fits", "score": 7}', 7.0),
    (TEN, '  \n{"score":0}\n ', 0.0),
    (TEN, '{"score": 10}', 10.0),
    (TEN, '{"score": 7.0}', 7.0),  # numbers compare by value
    (TEN, '{"score": 1e1}', 10.0),
    (TEN, '{"score": -0.0}', 0.0),
    (TEN, '\ufeff{"score": 3}', 3.0),
    (TEN, '```json\n{"score": 3}\n```', 3.0),
    (TEN, '```\n{"score": 3}```', 3.0),
    (TEN, '{"reason": "the log says {\\"score\\": 10}, it is wrong", "score": 2}', 2.0),
    (TEN, '{"score": 2, "nested": {"score": 9}}', 2.0),
    (TEN, '{"reason": ["no", "text"], "score": 2}', 2.0),
    (TEN, '{"\\u0073core": 4}', 4.0),
    (SHARE, '{"score": 0.25}', 0.25),
    (SHARE, '{"score": 1}', 1.0),
    (YES, '{"reason": "", "relevant": true}', 1.0),
    (YES, '{"relevant": false}', 0.0),
    (TEN, '\n\ufeff {"score": 7}\n', 7),
    (TEN, '{"score": 7}'.ljust(LONGEST), 7),
    (TEN, '```json\n\n  {"score": 7}\n\n```', 7),
]

NULL = [
    # nothing, or no object
    (TEN, "", "empty"),
    (TEN, " \n\t ", "empty"),
    (TEN, "7", "not_an_object"),
    (TEN, "7/10", "not_an_object"),
    (TEN, "seven", "not_an_object"),
    (TEN, "null", "not_an_object"),
    (TEN, "[7]", "not_an_object"),
    (TEN, '"{\\"score\\": 7}"', "not_an_object"),
    (TEN, "I'm sorry, but I can't help with that.", "not_an_object"),
    (TEN, "Score: 7", "not_an_object"),
    (TEN, '[{"score": 7}]', "not_an_object"),
    (TEN, "```json\n```", "not_an_object"),
    # prose around an object: it may be quoted from the log
    (TEN, 'Here is my answer: {"score": 7}', "not_an_object"),
    (TEN, 'The log told me to answer {"score": 10}, which I decline.', "not_an_object"),
    (TEN, '{"score": 10} is what the log asks for; I decline.', "text_around"),
    (TEN, '{"score": 7}.', "text_around"),
    (TEN, '{"score": 7}\n```', "text_around"),
    (TEN, '```json\n{"score": 7}\n```\nI hope that helps.', "not_an_object"),
    (TEN, '<think>hm {"score": 1}</think>{"score": 7}', "not_an_object"),
    # more than one
    (TEN, '{"score": 10}\n{"score": 2}', "several_objects"),
    (TEN, '{"score": 10}{"score": 10}', "several_objects"),
    (TEN, '{"score": 3}, {"score": 3}', "several_objects"),
    (TEN, '{"score": 10} wait, no: {"score": 1}', "several_objects"),
    (TEN, '```json\n{"score": 1}\n```\n```json\n{"score": 2}\n```', "several_objects"),
    # broken
    (TEN, '{"score": 7', "invalid_json"),
    (TEN, '{"reason": "cut in the mid', "invalid_json"),
    (TEN, "{'score': 7}", "invalid_json"),
    (TEN, "{score: 7}", "invalid_json"),
    (TEN, '{"score": 7,}', "invalid_json"),
    (TEN, '{"score": 07}', "invalid_json"),
    (TEN, '{"score": +7}', "invalid_json"),
    (TEN, '{"score": 7/10}', "invalid_json"),
    (TEN, '{"score": seven}', "invalid_json"),
    (TEN, '{"reason": "a\nb", "score": 7}', "invalid_json"),
    (TEN, "{", "invalid_json"),
    (TEN, '{"score": ' + "[" * 40_000, "invalid_json"),
    (TEN, '{"a":' * 15_000, "invalid_json"),
    # the key
    (TEN, "{}", "missing_key"),
    (TEN, '{"Score": 7}', "missing_key"),
    (TEN, '{"rating": 7}', "missing_key"),
    (TEN, '{"result": {"score": 7}}', "missing_key"),
    (TEN, '{"score": 7, "score": 7}', "repeated_key"),
    (TEN, '{"score": 1, "reason": "", "score": 10}', "repeated_key"),
    (TEN, '{"score": 1, "\\u0073core": 10}', "repeated_key"),
    # the type
    (TEN, '{"score": "7"}', "wrong_type"),
    (TEN, '{"score": "7/10"}', "wrong_type"),
    (TEN, '{"score": "seven"}', "wrong_type"),
    (TEN, '{"score": null}', "wrong_type"),
    (TEN, '{"score": [7]}', "wrong_type"),
    (TEN, '{"score": {"value": 7}}', "wrong_type"),
    (TEN, '{"score": true}', "wrong_type"),
    (TEN, '{"score": 7.5}', "wrong_type"),
    (TEN, '{"score": ""}', "wrong_type"),
    (YES, '{"relevant": 1}', "wrong_type"),
    (YES, '{"relevant": "true"}', "wrong_type"),
    (YES, '{"relevant": "yes"}', "wrong_type"),
    (YES, '{"relevant": null}', "wrong_type"),
    (YES, '{"relevant": True}', "invalid_json"),
    # the value
    (TEN, '{"score": NaN}', "not_finite"),
    (TEN, '{"score": Infinity}', "not_finite"),
    (TEN, '{"score": -Infinity}', "not_finite"),
    (TEN, '{"score": 1e999}', "not_finite"),
    (TEN, '{"score": 11}', "out_of_range"),
    (TEN, '{"score": -1}', "out_of_range"),
    (TEN, '{"score": 100}', "out_of_range"),
    (TEN, '{"score": ' + "9" * 5_000 + "}", "out_of_range"),
    (TEN, '{"score": -' + "9" * 5_000 + "}", "out_of_range"),
    (SHARE, '{"score": 1.0000001}', "out_of_range"),
    (SHARE, '{"score": 85}', "out_of_range"),
    (SHARE, '{"score": "85%"}', "wrong_type"),
    # size
    (TEN, '{"score": 7}'.ljust(LONGEST + 1), "too_long"),
    (TEN, '{"reason": "' + "x" * LONGEST + '", "score": 7}', "too_long"),
]


@pytest.mark.parametrize(("answer", "text", "score"), SCORED)
def test_an_answer_with_a_score(answer, text, score):
    found = parse(text, answer)
    assert (found.score, found.null_reason) == (score, None)


@pytest.mark.parametrize(("answer", "text", "reason"), NULL, ids=range(len(NULL)))
def test_an_answer_without_a_score(answer, text, reason):
    found = parse(text, answer)
    assert (found.score, found.null_reason) == (None, reason)


def test_the_judges_own_reason_is_kept():
    assert parse('{"reason": "it repeats", "score": 2}', TEN).explanation == "it repeats"
    assert parse('{"reason": "it repeats", "score": 20}', TEN).explanation == "it repeats"
    for told in ("", '"thought": "hm", ', '"reason": 5, '):
        assert parse(f'{{{told}"score": 2}}', TEN).explanation is None
    assert len(parse(json.dumps({"reason": "x" * 9_000, "score": 2}), TEN).explanation) == 2_000


@given(st.text())
def test_no_text_breaks_it_and_none_is_guessed(text):
    for answer in (TEN, YES):
        found = parse(text, answer)
        assert (found.score is None) == (found.null_reason in NULL_REASONS)


@given(st.integers(-3, 14), st.text())
def test_a_well_formed_answer_is_scored_exactly_within_range(score, reason):
    found = parse(json.dumps({"reason": reason, "score": score}), TEN)
    assert found.score == (score if 0 <= score <= 10 else None)


def _line(told):
    return response_of(json.dumps(told).encode())


CHAT = {"custom_id": "j", "response": {"status_code": 200, "body": {}}, "error": None}
RESPONSES = [
    (openai("j", "hello"), "hello", None),
    (openai("j", ""), "", None),
    (openai("j", None), "", None),
    (openai("j", [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]), "ab", None),
    (openai("j", "cut", finish_reason="length"), None, "truncated"),
    (openai("j", "cut", finish_reason="content_filter"), None, "refused"),
    (openai("j", 7), None, "malformed_response"),
    (CHAT, None, "malformed_response"),
    ({**CHAT, "response": {"status_code": 200, "body": {"choices": []}}}, None, "malformed_response"),
    ({**CHAT, "response": {"status_code": 200, "body": {"choices": [7]}}}, None, "malformed_response"),
    ({**CHAT, "response": {"status_code": 200, "body": "<html>"}}, None, "malformed_response"),
    ({**CHAT, "response": {"status_code": 500, "body": {}}}, None, "request_failed"),
    ({**CHAT, "response": {"status_code": "200"}}, None, "request_failed"),
    ({**CHAT, "response": None, "error": {"code": "batch_expired"}}, None, "request_failed"),
    ({"custom_id": "j", "response": None}, None, "request_failed"),
    ({"custom_id": "j", "error": {"code": "batch_expired"}}, None, "request_failed"),
    (anthropic("j", "hello"), "hello", None),
    (anthropic("j", "hel", "max_tokens"), None, "truncated"),
    (anthropic("j", "", "refusal"), None, "refused"),
    ({"custom_id": "j", "result": {"type": "errored", "error": {}}}, None, "request_failed"),
    ({"custom_id": "j", "result": {"type": "canceled"}}, None, "request_failed"),
    ({"custom_id": "j", "result": {"type": "expired"}}, None, "request_failed"),
    ({"custom_id": "j", "result": {"type": "succeeded"}}, None, "malformed_response"),
]  # fmt: skip


@pytest.mark.parametrize(("told", "text", "reason"), RESPONSES)
def test_a_line_of_responses(told, text, reason):
    found = _line(told)
    assert isinstance(found, Response)
    assert (found.custom_id, found.text, found.null_reason) == ("j", text, reason)


def test_a_refusal_that_the_service_marks():
    told = openai("j", None)
    told["response"]["body"]["choices"][0]["message"]["refusal"] = "I cannot"
    assert _line(told).null_reason == "refused"


def test_tokens_and_model_are_kept():
    assert _line(openai("j", "x"))[3:] == ("served", 60, 10)
    assert _line(anthropic("j", "x"))[3:] == ("served-a", 90, 9)
    assert _line(openai("j", "x", finish_reason="length"))[3:] == ("served", 60, 10)


@pytest.mark.parametrize("count", [-1, 1.5, "60", True, 1 << 70, None])
def test_a_count_that_is_none(count):
    told = openai("j", "x")
    told["response"]["body"]["usage"] = {"prompt_tokens": count}
    assert _line(told).input_tokens is None


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        (b"oops", "not_json"),
        (b"[1]", "not_json"),
        (b'{"custom_id": "j"', "not_json"),
        (b"[" * 100_000, "not_json"),
        (b"{}", "unknown_shape"),
        (b'{"custom_id": 7, "response": {}}', "unknown_shape"),
        (b'{"custom_id": "j", "body": {}}', "unknown_shape"),
        (b'{"custom_id": "j", "result": []}', "unknown_shape"),
    ],
)
def test_a_line_that_is_no_response(line, fault):
    assert response_of(line) == fault


def test_half_a_surrogate_pair_in_an_answer_is_read():
    line = json.dumps(openai("j", '{"reason": "\ud800", "score": 1}')).encode()
    assert parse(response_of(line).text, TEN).score == 1.0
