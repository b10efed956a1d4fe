"""Message lists land, whichever vendor's or framework's shape they have."""

from __future__ import annotations

import json

import pytest

from pipeline.landing import formats
from pipeline.landing.chats.chat import prompt_hash
from pipeline.landing.model import RejectError
from pipeline.landing.records.reader import look
from tests.reading import (
    SAMPLES,
    args,
    calls,
    claimed,
    decode,
    expectation,
    kinds,
    labels,
    read,
    sniff,
)

ASKED = {"role": "user", "content": "Hi"}
CALL = {"type": "function_call", "call_id": "c1", "name": "f", "arguments": '{"a": 1.0}'}


def test_no_real_file_of_another_format_is_claimed(real_data):
    assert claimed("messages", real_data("atif").parent) == set()


def test_chats_in_openai_roles_are_left_to_their_own_format():
    record = {"messages": [ASKED, {"role": "assistant", "content": "Hello"}]}
    assert sniff("messages", record) is None
    assert sniff("openai_chat", record)


def test_the_sample_records_show_three_vendors():
    anthropic, agentevals, nothing, response = read(
        "messages", SAMPLES / "messages/records.jsonl"
    ).runs
    assert kinds(anthropic) == [
        *("message", "message", "llm_call", "tool_call", "tool_call", "final"),
    ]
    assert [(c.call_id, c.output, c.is_error) for c in calls(anthropic)] == [
        ("t1", "no such city", True),
        ("t2", "Fjord Inn", False),
    ]
    # 20 new and 80 cached tokens were read.
    assert (anthropic.steps[2].input_tokens, anthropic.steps[2].output_tokens) == (100, 30)
    assert (anthropic.model, anthropic.final_output) == ("aurora-large", "Fjord Inn is free.")
    assert expectation(agentevals) == [[("find_hotel", '{"city":"Oslo"}', None)]]
    assert [(args(c), c.output) for c in calls(agentevals)] == [('{"city":"Oslo"}', "Fjord Inn")]
    assert expectation(nothing) == [[]]
    assert kinds(response) == ["message", "message", "llm_call", "tool_call", "tool_call"]
    assert {step.response_index for step in response.steps[2:]} == {0}
    assert (response.steps[2].content, response.steps[2].input_tokens) == ("I look.", 50)


def test_a_file_that_is_one_list_is_one_run():
    run = read("messages", SAMPLES / "messages/langgraph.json").run
    assert kinds(run) == ["message", *["llm_call", "tool_call"] * 2, "final"]
    assert [(c.output, c.is_error) for c in calls(run)] == [
        ("Error: busy", True),
        ("Fjord Inn", False),
    ]
    assert (run.steps[1].input_tokens, run.model, run.references) == (40, "aurora-mini", None)


@pytest.mark.parametrize("indent", [None, 1])
def test_lists_of_lists_are_many_runs(tmp_path, indent):
    chats = [[ASKED, CALL], [ASKED, {"type": "ai", "content": "Hello"}]]
    path = tmp_path / "chats.json"
    path.write_text(json.dumps(chats, indent=indent))
    assert [kinds(run) for run in read("messages", path).runs] == [
        ["message", "llm_call", "tool_call"],
        ["message", "final"],
    ]


def test_items_of_one_response_are_one_response():
    other = {**CALL, "call_id": "c2"}
    results = [
        {"type": "function_call_output", "call_id": name, "output": name} for name in ("c2", "c1")
    ]
    run = decode("messages", [ASKED, CALL, other, *results, CALL]).run
    assert [step.response_index for step in run.steps] == [None, 0, 0, 0, 1, 1]
    assert [call.output for call in calls(run)] == ["c1", "c2", None]
    assert args(calls(run)[0]) == '{"a":1.0}'


@pytest.mark.parametrize(
    ("told", "is_error"),
    [
        ({}, None),
        ({"status": "failed"}, True),
        ({"is_error": True}, True),
        ({"is_error": False}, False),
    ],
)
@pytest.mark.parametrize("kind", ["function", "custom_tool", "local_shell", "unheard_of"])
def test_an_output_of_a_response_tells_of_its_failure_as_any_result(kind, told, is_error):
    output = {"type": f"{kind}_call_output", "call_id": "c1", "output": "x", **told}
    (call,) = calls(decode("messages", [ASKED, CALL, output]).run)
    assert (call.output, call.is_error) == ("x", is_error)


def _words(*parts, **more):
    return {"type": "message", "role": "assistant", "content": list(parts), **more}


def test_items_of_one_response_tell_in_all_what_each_tells():
    words = [{"type": "output_text", "text": text} for text in "ab"]
    refused = {"type": "refusal", "refusal": "No."}
    thought = {"type": "reasoning", "summary": [], "odd": 1}
    search = {"type": "web_search_call", "id": "w", "action": {"query": "x"}}
    used = [{"prompt_tokens": 3}, {"prompt_tokens": 4}]
    one = _words(words[0], usage=used[0], strange=2)
    run = decode(
        "messages", [ASKED, thought, one, _words(words[1], refused, usage=used[1]), CALL]
    ).run
    assert kinds(run) == ["message", "llm_call", "tool_call"]
    step = run.steps[1]
    assert (step.content, step.input_tokens) == ("a\nb", 3)
    assert labels(step) == {"odd": 1, "strange": 2, "refusal": "No."}
    late = decode("messages", [ASKED, _words(refused), _words(usage=used[1]), search]).run
    assert kinds(late) == ["message", "llm_call", "tool_call"]
    assert (late.steps[1].content, late.steps[1].input_tokens) == (None, 4)
    assert labels(late.steps[1]) == {"refusal": "No."}


def test_a_message_beside_items_is_a_response_of_its_own():
    plain = {"role": "assistant", "content": "b"}
    for chat in ([ASKED, CALL, plain], [ASKED, plain, CALL]):
        assert (
            kinds(decode("messages", chat).run).count("llm_call")
            + kinds(decode("messages", chat).run).count("final")
            == 2
        )


def test_moments_of_messages():
    at = "2026-05-04T10:00:0{}Z"
    chat = [
        {**ASKED, "timestamp": at.format(1)},
        {
            "role": "assistant",
            "content": "a",
            "created_at": at.format(2),
            "usage": {"prompt_tokens": 3},
        },
        {
            **ASKED,
            "timestamp": at.format(3),
            "created_at": at.format(4),
            "usage": {"prompt_tokens": 9},
        },
    ]
    run = decode("messages", chat).run
    assert [(step.started_at, step.input_tokens) for step in run.steps] == [
        (at.format(1), None),
        (at.format(2), 3),
        (at.format(3), None),
    ]


def test_results_without_ids_answer_by_name():
    asked = {"role": "model", "parts": [{"functionCall": {"name": n, "args": {}}} for n in "fg"]}
    told = [{"functionResponse": {"name": n, "response": {"result": n}}} for n in "gf"]
    run = decode("messages", {"contents": [ASKED, asked, {"role": "user", "parts": told}]}).run
    assert [call.output for call in calls(run)] == [{"result": "f"}, {"result": "g"}]


def test_who_is_not_named_spoke_as_the_user_unless_there_are_calls():
    called = {"content": [{"type": "tool_use", "id": "c", "name": "f", "input": {}}]}
    run = decode("messages", [{"content": "Hi"}, called]).run
    assert kinds(run) == ["message", "llm_call", "tool_call"]


def test_what_is_not_known_of_an_item_without_a_message_is_not_lost():
    thought = {"type": "reasoning", "summary": [], "odd": 1}
    run = decode("messages", [{**ASKED, "mood": "calm"}, thought]).run
    assert [labels(step) for step in run.steps] == [{"mood": "calm", "odd": 1}]


@pytest.mark.parametrize(
    ("usage", "read"),
    [
        ({"prompt_tokens": 0, "input_tokens": 7}, 7),
        ({"prompt_tokens": 0}, 0),
        ({"prompt_tokens": True, "output_tokens": 1}, None),
        ({"prompt_tokens": "12"}, 12),
        ({"prompt_tokens": "\u0661\u0662"}, None),
        ({"prompt_tokens": "12 tokens"}, None),
        ({"prompt_tokens": "9" * 20}, None),
        ({"prompt_tokens": 3.0}, 3),
        ({"prompt_tokens": 3.5}, None),
        ({"input_tokens": 3, "cache_read_input_tokens": "x"}, 3),
        ({}, None),
    ],
)
def test_counts_of_tokens_are_whole_numbers_however_written(usage, read):
    (step,) = decode("messages", [{"role": "assistant", "content": "Hi", "usage": usage}]).run.steps
    assert step.input_tokens == read


def test_tokens_of_the_record_are_the_last_responses_that_tells_none():
    def read(*said, **record):
        chat = [ASKED, *({"role": "assistant", "content": "a", **one} for one in said), ASKED]
        run = decode("messages", {"messages": chat, **record}).run
        return [(step.input_tokens, step.output_tokens) for step in run.steps[1:-1]]

    whole = {"usage": {"input_tokens": 9, "output_tokens": 1}}
    own = {"usage": {"input_tokens": 3, "output_tokens": 2}}
    assert read({}, {}, **whole) == [(None, None), (9, 1)]
    assert read({}, own, **whole) == [(None, None), (3, 2)]
    assert read({"usage": {"output_tokens": 2}}, **whole) == [(9, 1)]
    assert read(own) == [(3, 2)]
    assert decode("messages", {"messages": [ASKED], **whole}).run.steps[0].input_tokens is None


def test_items_with_ids_of_their_own_are_joined_by_call_id():
    answer = {"type": "function_call_output", "id": "fco_1", "call_id": "c1", "output": "found"}
    run = decode("messages", [ASKED, {**CALL, "id": "fc_1", "call_id": "c1"}, answer]).run
    assert kinds(run) == ["message", "llm_call", "tool_call"]
    assert [(call.call_id, call.output) for call in calls(run)] == [("c1", "found")]


def test_a_state_of_langgraph_holds_messages():
    state = {"values": {"messages": [{"type": "ai", "content": "Hello"}]}, "next": []}
    assert sniff("messages", state)
    assert decode("messages", state).run.final_output == "Hello"


def test_a_custom_call_is_free_text():
    call = {"type": "custom_tool_call", "call_id": "c1", "name": "f", "input": "ls -l"}
    output = {"type": "custom_tool_call_output", "call_id": "c1", "output": "a.txt"}
    (made,) = calls(decode("messages", [call, output]).run)
    assert (args(made), made.output) == ("ls -l", "a.txt")
    nested = {"id": "c1", "type": "custom", "custom": {"name": "f", "input": "ls -l"}}
    result = {"role": "tool", "tool_call_id": "c1", "content": "a.txt"}
    record = decode("messages", [{"role": "assistant", "tool_calls": [nested]}, result]).run
    (made,) = calls(record)
    assert (made.tool_name, args(made), made.output, made.labels) == ("f", "ls -l", "a.txt", None)


def test_a_serialized_langchain_message_is_read():
    path = ["langchain", "schema", "messages", "AIMessage"]
    tool = {"name": "f", "args": {"a": 1}, "id": "c1"}
    message = {"lc": 1, "id": path, "kwargs": {"content": "", "tool_calls": [tool]}}
    assert sniff("messages", {"messages": [message, {"type": "tool", "content": "x"}]})
    (call,) = calls(decode("messages", {"messages": [message]}).run)
    assert (call.tool_name, args(call)) == ("f", '{"a":1}')


def test_a_result_without_a_call_is_kept():
    run = decode("messages", [{"type": "tool", "content": "lost", "tool_call_id": "c9"}]).run
    assert [(s.kind, s.content, s.labels) for s in run.steps] == [
        ("message", "lost", {"orphan_result": True})
    ]


@pytest.mark.parametrize("record", [{"messages": "Hi"}, ["Hi"], {"no": "messages"}])
def test_what_is_no_list_of_messages_is_refused(record):
    with pytest.raises(RejectError, match="wrong_type"):
        decode("messages", record)


@pytest.mark.parametrize(
    "item",
    [
        CALL,
        {"type": "function_call_output", "call_id": "c1", "output": "x"},
        {"type": "reasoning", "summary": []},
        {"type": "web_search_call", "id": "w", "action": {}},
        {"type": "ai", "content": "Hello"},
        {"lc": 1, "id": ["messages", "AIMessage"], "kwargs": {"content": "Hello"}},
        {"role": "model", "parts": [{"text": "Hello"}]},
        {"role": "assistant", "content": [{"type": "tool_use", "name": "f", "input": {}}]},
    ],
)
def test_what_makes_a_list_one_of_messages_is_enough_by_itself(item):
    plain = {"type": "ai", "content": "Hello"} if "kwargs" in item else ASKED
    assert sniff("messages", {"messages": [item, plain, plain]})
    assert sniff("messages", {"messages": [plain, item, plain]})


@pytest.mark.parametrize(
    "item",
    [
        {"type": "phone_call_output"},
        {"type": "ai"},
        {"kwargs": {"content": "x"}},
        {"id": ["messages", "AIMessage"]},
        {"role": "user"},
        {"role": "robot", "content": "x"},
        3,
    ],
)
def test_what_is_no_message_makes_no_list_of_them(item):
    assert sniff("messages", {"messages": [CALL, item, CALL]}) is None
    assert sniff("messages", {"messages": [item]}) is None
    assert sniff("messages", {"messages": [CALL, 3]}) is None
    assert sniff("messages", {"messages": [CALL, {"cut": "off"}]})  # as a file's head is


def test_outputs_beside_a_reference_are_messages():
    said = [ASKED, {"role": "assistant", "content": "Hello"}]
    for record in (
        {"outputs": said},
        {"outputs": {"messages": said}},
        {"messages": said, "reference_outputs": said},
        {"messages": said, "reference_outputs": {"messages": said}},
        {"object": "response", "output": said[1:]},
    ):
        assert sniff("messages", record)
        assert formats.get("messages").sniff(look(json.dumps([record]).encode()))
        assert decode("messages", record).run.final_output == "Hello"
    assert sniff("messages", {"messages": said, "reference_outputs": None}) is None


def test_what_is_told_of_the_record_is_of_the_run():
    said = [{"role": "system", "content": "Be nice."}, ASKED, CALL]
    record = {"messages": said, "task_id": 7, "thread_id": "t", "metadata": {"team": "x"}}
    run = decode("messages", record).run
    assert (run.source_id, run.task_id, labels(run)) == ("t", "7", {"team": "x"})
    assert run.prompt_hash == prompt_hash("Be nice.")
    assert decode("messages", {**record, "created": 1}).run.started_at is None
    run = decode("messages", {**record, "id": "r", "task_id": "", "metadata": None}).run
    assert (run.source_id, run.task_id, labels(run)) == ("r", None, {})
    assert decode("messages", {**record, "id": [], "task_id": {}}).run.task_id is None


def test_the_records_model_counts_before_its_messages():
    def said(**metadata):
        return {"type": "ai", "content": "Hi", "response_metadata": metadata}

    def model(*messages, **record):
        return decode("messages", {"messages": [ASKED, *messages], **record}).run.model

    assert model(said(model_name="a"), model="b") == "b"
    assert model(said(), said(model="a"), said(model_name="c")) == "a"
    assert model(said(model_name="a", model="c")) == "a"
    assert model(said(model_name=3)) is None


@pytest.mark.parametrize("name", ["messages", "outputs", "values", "reference_outputs"])
def test_what_stands_beside_held_messages_is_not_lost(name):
    record = {"messages": [ASKED, CALL]} if name == "reference_outputs" else {}
    run = decode("messages", {**record, name: {"messages": [ASKED, CALL], "odd": 1}}).run
    assert labels(run) == {f"{name}.odd": 1}


@pytest.mark.parametrize(
    "record",
    [
        {"object": "response", "output": "x"},
        {"output": [{"type": "message", "role": "assistant", "content": "x"}]},
        {"type": "message", "role": "user", "content": "x", "usage": {}},
        {"type": "text", "role": "assistant", "content": "x", "usage": {}},
        {"type": "message", "role": "assistant", "content": "x"},
        {"type": "message", "role": "assistant", "usage": {}},
    ],
)
def test_what_is_like_a_response_is_none(record):
    assert sniff("messages", record) is None


@pytest.mark.parametrize("asked", ["Hi", [ASKED]])
def test_a_response_may_hold_what_was_asked(asked):
    record = {"object": "response", "input": asked, "instructions": "Be nice.", "output": [CALL]}
    assert sniff("messages", record)
    run = decode("messages", record).run
    assert [(step.actor, step.content) for step in run.steps[:2]] == [
        ("system", "Be nice."),
        ("user", "Hi"),
    ]
    assert kinds(run) == ["message", "message", "llm_call", "tool_call"]
    for nothing in (None, 3):
        run = decode("messages", {**record, "input": nothing, "instructions": nothing}).run
        assert kinds(run) == ["llm_call", "tool_call"]


def test_a_list_of_one_message_is_one():
    assert formats.get("messages").sniff(look(json.dumps([CALL]).encode()))
    assert formats.get("messages").sniff(look(json.dumps([CALL, 3]).encode())) is None


@pytest.mark.parametrize("system", ["Be nice.", [{"type": "text", "text": "Be nice."}]])
def test_a_system_prompt_stands_beside_messages(system):
    run = decode("messages", {"messages": [ASKED, CALL], "system": system}).run
    assert [(step.actor, step.content) for step in run.steps[:2]] == [
        ("system", "Be nice."),
        ("user", "Hi"),
    ]


def test_how_many_answers_there_were_is_a_label_whatever_else_is_told():
    """The label was lost where nothing was told of tokens."""
    choices = [{"message": {"role": "assistant", "content": text}} for text in "ab"]
    (step,) = decode("messages", {"object": "chat.completion", "choices": choices}).run.steps
    assert (step.content, step.labels) == ("a", {"choices": 2})


def test_a_saved_response_has_one_message():
    saved = {
        "type": "message",
        "role": "assistant",
        "content": "Hello",
        "usage": {"input_tokens": 3},
    }
    (step,) = decode("messages", saved).run.steps
    assert (step.kind, step.content, step.input_tokens) == ("final", "Hello", 3)


def test_a_system_prompt_beside_what_is_no_list_is_refused():
    with pytest.raises(RejectError, match="wrong_type"):
        decode("messages", {"messages": "Hi", "system": "Be nice."})


@pytest.mark.parametrize("odd", [[], {}, 3])
def test_odd_types_are_refused_or_read_but_never_break(odd):
    assert sniff("messages", {"messages": [{"type": odd, "role": odd, "content": "x"}]}) is None
    block = {"type": "tool_use", "id": odd, "name": "f", "input": {}}
    messages = [{"role": "assistant", "content": [block]}]
    (made,) = calls(decode("messages", messages).run)
    assert (made.tool_name, made.call_id) == ("f", "3" if odd == 3 else None)


def test_it_is_tried_after_the_formats_that_are_more_particular():
    names = formats.names()
    assert names.index("messages") > max(map(names.index, ("recorder", "openai_chat", "atif")))


def test_a_serialized_message_tells_all_that_a_plain_one_does():
    """`langchain_core.load.dumpd` puts a message into `kwargs`: tokens, model and all."""
    tool = {"name": "f", "args": {}, "id": "c1", "type": "tool_call"}
    answer = {
        "content": "",
        "type": "ai",
        "tool_calls": [tool],
        "usage_metadata": {"input_tokens": 7, "output_tokens": 2, "total_tokens": 9},
        "response_metadata": {"model_name": "model-x"},
        "mood": "calm",
    }
    result = {"content": "no", "type": "tool", "tool_call_id": "c1", "status": "error"}
    plain = [{"content": "Hi", "type": "human"}, answer, result]
    path = ["langchain", "schema", "messages", "Message"]
    serialized = [{"lc": 1, "type": "constructor", "id": path, "kwargs": one} for one in plain]
    for messages in (plain, serialized):
        run = decode("messages", {"messages": messages}).run
        _, response, call = run.steps
        assert (response.input_tokens, response.output_tokens, run.model) == (7, 2, "model-x")
        assert (labels(response), call.is_error) == ({"mood": "calm"}, True)


@pytest.mark.parametrize(("name", "asked"), [("messages", []), ("openai_chat", [ASKED])])
def test_a_text_that_citations_cut_is_one_text(name, asked):
    cited = {"type": "text", "text": "it is dry", "citations": [{"type": "char_location"}]}
    said = [{"type": "text", "text": "I read that "}, cited, {"type": "text", "text": "."}]
    call = {"type": "tool_use", "id": "t", "name": "f", "input": {}}
    apart = [{"type": "text", "text": "Dry."}, {"type": "text", "text": "Go."}]
    for content, told in ((said, "I read that it is dry."), (apart, "Dry.\nGo.")):
        message = {"role": "assistant", "content": content}
        run = decode(name, {"messages": [*asked, message]}).run
        assert run.final_output == told
        more = [*asked, {"role": "assistant", "content": [*content, call]}]
        assert [step.content for step in decode("messages", {"messages": more}).run.steps][
            len(asked)
        ] == told
