"""ToolBench lands: the path taken of a search, and calls that Python printed and cut off."""

from __future__ import annotations

import json

import pytest
from making import runs_of

from pipeline.landing.land import land
from pipeline.landing.model import RejectError
from tests.reading import SAMPLES, args, calls, claimed, decode, kinds, labels, read, sniff

ANSWER = SAMPLES / "toolbench_answer/hotel_DFS.json"
EVAL = SAMPLES / "toolbench_tooleval/aurora_CoT.json"


def test_the_figures_of_the_real_answers_come_out(real_data, expected_figures):
    for path in sorted(real_data("toolbench_answer").iterdir()):
        figures = expected_figures[f"toolbench_answer/{path.name}"]
        run = read("toolbench_answer", path).run
        assert run.success is bool(figures["success"]), path.name
        assert len(calls(run)) == figures["tool_calls"]
        assert len({call.tool_name for call in calls(run)}) == figures["distinct_tools"]
        assert sum(call.is_error or False for call in calls(run)) == figures["tool_errors"]
        # The file tells one total of tokens read and written: a label, not tokens of a step.
        assert run.labels["total_tokens"] == figures["tokens_total"]
        for name in ("tree_action_nodes", "tree_pruned_nodes"):
            assert run.labels.get(name) == figures["oddities"].get(name)


def test_the_figures_of_the_real_evaluation_come_out(real_data, expected_figures):
    (path,) = real_data("toolbench_tooleval").iterdir()
    figures = expected_figures[f"toolbench_tooleval/{path.name}"]
    found = read("toolbench_tooleval", path)
    made = [call for run in found.runs for call in calls(run)]
    assert len(found.runs) == figures["runs"] == len(found.tasks)
    assert len({run.task_id for run in found.runs}) == figures["distinct_cases"]
    assert len(made) == figures["tool_calls"]
    assert len({call.tool_name for call in made}) == figures["distinct_tools"]
    assert sum(call.is_error or False for call in made) == figures["tool_errors"]
    lost = sum(args(call) == "not_captured" for call in made)
    # The independent count lost 74 more, whose arguments do end before the text is cut off:
    # all that are read here are whole JSON objects.
    assert lost == figures["oddities"]["args_null"] - 74
    assert all(args(call)[0] == "{" for call in made if args(call) != "not_captured")


@pytest.mark.parametrize("name", ["toolbench_answer", "toolbench_tooleval"])
def test_only_its_own_files_are_claimed(name, real_data):
    root = real_data(name).parent
    assert claimed(name, root) == {str(p.relative_to(root)) for p in root.glob(f"{name}/*")}


def test_the_longest_chat_is_the_run():
    run = read("toolbench_answer", ANSWER).run
    assert [(c.tool_name, args(c), c.is_error) for c in calls(run)] == [
        ("hotels_for_trips", '{"city":"Oslo"}', True),
        ("hotels_for_trips", '{"city":"Oslo"}', False),
        ("Finish", '{"final_answer":"Fjord Inn","return_type":"give_answer"}', None),
    ]
    assert (run.success, run.completed, run.final_output) == (True, True, "Fjord Inn")
    assert (run.labels["tree_action_nodes"], run.labels["tree_pruned_nodes"]) == (4, 1)


def test_giving_up_is_told():
    generation = {
        "finish_type": "give_up",
        "final_answer": '{"return_type": "give_up_and_restart"}',
    }
    generation["train_messages"] = [[{"role": "assistant", "content": "I give up."}]]
    record = {"win": False, "tree": {}, "answer_generation": generation}
    run = decode("toolbench_answer", record).run
    assert (run.success, run.completed, run.final_output) == (False, False, None)


@pytest.mark.parametrize(
    ("told", "right"),
    [
        ({"final_answer": 0}, "0"),
        ('{"final_answer": 0}', "0"),
        ({"final_answer": ""}, None),
        ({}, None),
    ],
)
def test_an_answer_may_be_any_value(tmp_path, told, right):
    generation = {"final_answer": told, "finish_type": "give_answer", "train_messages": []}
    record = {"win": True, "tree": {"tree": {}}, "answer_generation": generation}
    path = tmp_path / "1_a.json"
    path.write_text(json.dumps(record))
    land([path], tmp_path / "lake", workers=1)
    assert runs_of(tmp_path / "lake")["final_output"].to_list() == [right]


def _node(kind, description, **more):
    return {"node_type": kind, "description": description, "pruned": False, **more}


def test_an_attempt_without_an_answer_is_told_by_its_nodes():
    """A chain that gave up, or went on too long, has no chat: of two attempts the last counts."""
    failed, worked = '{"error": "no quota", "response": ""}', '{"error": "", "response": "3"}'
    chain = [
        _node("Thought", "Look first."),
        _node("Action", "find"),
        _node("Action Input", '{"city": "Oslo"}', observation=failed),
        _node("Action", "book"),
        _node("Action Input", "", observation=worked),
        _node("Thought", "Stuck.", pruned=True),
    ]
    record = {
        "win": False,
        "try_count": 2,
        "trys": [{"chain": chain[:3], "win": False}, {"chain": chain, "win": False}],
        "answer_generation": {"valid_data": False, "final_answer": "", "train_messages": []},
    }
    run = decode("toolbench_answer", record).run
    assert kinds(run) == ["llm_call", "tool_call", "llm_call", "tool_call", "final"]
    assert [(c.tool_name, args(c), c.is_error) for c in calls(run)] == [
        ("find", '{"city":"Oslo"}', True),
        ("book", "{}", False),
    ]
    assert [step.content for step in run.steps if step.kind != "tool_call"] == [
        "Look first.",
        None,
        "Stuck.",
    ]
    assert (run.success, run.labels["try_count"], run.final_output) == (False, 2, None)


def test_thoughts_that_follow_each_other_are_responses_each():
    chain = [
        _node("Thought", "a"),
        _node("Thought", "b"),
        _node("Action", "find"),
        _node("Unheard Of", "{}"),
        _node("Action Input", "{}", observation="x"),
        _node("Thought", "c"),
        _node("Thought", "d"),
    ]
    tries = [{"chain": [_node("Thought", name)]} for name in "xy"]
    record = {"win": False, "trys": [*tries, {"chain": chain}], "answer_generation": {}}
    run = decode("toolbench_answer", record).run
    assert [(step.kind, step.content) for step in run.steps] == [
        ("llm_call", "a"),
        ("llm_call", "b"),
        ("tool_call", None),
        ("llm_call", "c"),
        ("final", "d"),
    ]


def test_what_is_told_of_a_search():
    generation = {"finish_type": "give_answer", "query_count": 3, "total_tokens": 7}
    record = {"win": True, "tree": {}, "answer_generation": generation, "odd": 1}
    assert labels(decode("toolbench_answer", {**record, "forward_args": {"a": 1}}).run) == {
        **generation,
        "forward_args": {"a": 1},
        "odd": 1,
    }
    assert labels(decode("toolbench_answer", {"win": True, "answer_generation": {}}).run) == {}


@pytest.mark.parametrize(
    ("finish", "chat", "completed"),
    [
        ("give_answer", [[{"role": "assistant", "content": "a"}]], True),
        ("give_up", [[{"role": "assistant", "content": "a"}]], False),
        (None, [[{"role": "assistant", "content": "a"}]], None),
        ("give_answer", [], None),
    ],
)
def test_a_run_is_completed_where_it_gave_an_answer(finish, chat, completed):
    generation = {"finish_type": finish, "train_messages": chat}
    record = {"win": True, "trys": [], "answer_generation": generation}
    assert decode("toolbench_answer", record).run.completed is completed


def test_the_chat_counts_before_the_nodes():
    generation = {"train_messages": [[{"role": "assistant", "content": "a"}]]}
    record = {"win": True, "trys": [{"chain": [_node("Thought", "b")]}]}
    run = decode("toolbench_answer", {**record, "answer_generation": generation}).run
    assert [step.content for step in run.steps] == ["a"]


def test_a_search_is_told_by_what_it_won_and_one_of_its_parts():
    for name in ("tree", "trys", "answer_generation"):
        assert sniff("toolbench_answer", {"win": True, name: {}})
        assert sniff("toolbench_answer", {name: {}}) is None
    assert sniff("toolbench_answer", {"win": True, "x": 1}) is None


def test_calls_that_were_cut_off_keep_what_is_left():
    first, second = read("toolbench_tooleval", EVAL).runs
    assert [(c.tool_name, args(c), c.output) for c in calls(first)] == [
        ("hotels_for_trips", '{"city":"Oslo"}', None),
        ("hotels_for_trips", "not_captured", None),
        ("Finish", '{"return_type":"give_answer"}', None),
    ]
    assert kinds(first) == ["message", "tool_call", "llm_call", "tool_call", "tool_call"]
    assert [step.response_index for step in first.steps] == [None, 0, 1, 1, 2]
    assert (first.final_output, first.agent) == ("Fjord Inn", "aurora_CoT")
    assert [call.is_error for call in calls(second)] == [True]
    assert (kinds(second)[-1], second.final_output) == ("final", "I cannot find out.")


def test_queries_are_tasks_with_their_tools():
    task = read("toolbench_tooleval", EVAL).tasks[0]
    assert (task.task_id, task.prompt) == ("7001", "Find a hotel in Oslo.")
    assert [tool.name for tool in task.tools] == ["hotels_for_trips"]


def _detail(role, message, *after):
    return {"role": role, "message": message, "next": list(after)}


def _answered(*details, **more):
    record = {"answer": {"answer_details": list(details), **more}, "odd": 1}
    return decode("toolbench_tooleval", {"1": record})


def test_what_follows_comes_before_what_stands_beside():
    def call(name, *after):
        return _detail("tool", f"{{'name': '{name}', 'arg", *after)

    found = _answered(call("a", call("b", call("c")), call("d")), call("e"))
    assert [made.tool_name for made in calls(found.run)] == ["a", "b", "c", "d", "e"]


@pytest.mark.parametrize(
    "given",
    [
        {"name": "f", "arguments": '{"a": 1}', "response": '{"error": "", "response": "3"}'},
        {"name": "f", "arguments": {"a": 1}, "response": {"error": "", "response": "3"}},
    ],
)
@pytest.mark.parametrize("whole", [str, dict, json.dumps])
def test_a_message_that_was_not_cut_off_tells_all(given, whole):
    (call,) = calls(_answered(_detail("tool", whole(given))).run)
    assert (call.tool_name, args(call), call.output) == ("f", '{"a":1}', given["response"])
    assert (call.is_error, call.actor, call.turn_index) == (False, "agent", 0)


def test_a_response_that_says_nothing_of_errors_is_no_signal():
    (call,) = calls(_answered(_detail("tool", {"name": "f", "response": {"a": 1}})).run)
    assert (call.output, call.is_error) == ({"a": 1}, None)


def test_arguments_that_are_not_told_are_not_captured():
    (call,) = calls(_answered(_detail("tool", {"name": "f"})).run)
    assert args(call) == "not_captured"


@pytest.mark.parametrize("message", [{"name": 3}, {}, 3, None])
def test_a_message_of_another_shape_is_refused(message):
    with pytest.raises(RejectError, match="names no tool"):
        _answered(_detail("tool", message))


def test_what_is_told_of_a_query():
    found = _answered(_detail("assistant", "Hi"), method="m", total_steps=2)
    run = found.run
    assert (run.source_id, run.task_id, run.agent, run.final_output) == ("1", "1", "m", "Hi")
    assert labels(run) == {"total_steps": 2, "odd": 1}
    assert [(step.kind, step.actor) for step in run.steps] == [("final", "agent")]
    assert (found.task.prompt, found.task.tools) == (None, None)
    assert labels(_answered().run) == {"odd": 1}
    silent = _answered(_detail("user", "Hi"), _detail("user", ""), final_answer="").run
    assert (kinds(silent), silent.final_output) == (["message"], None)
    assert [(step.actor, step.content) for step in silent.steps] == [("user", "Hi")]
    assert _answered(_detail("user", "Hi"), final_answer="So {").run.final_output == "So {"


def test_sniff():
    assert sniff("toolbench_tooleval", {"1": {"answer": {"answer_details": []}}})
    for other in ({}, {"1": {"answer": {}}}, {"1": {"answer": None}}, {"1": 3}, [1]):
        assert sniff("toolbench_tooleval", other) is None


def test_a_call_without_a_name_is_refused():
    node = {"role": "tool", "message": "{'nam", "next": []}
    with pytest.raises(RejectError, match="names no tool"):
        decode("toolbench_tooleval", {"1": {"answer": {"answer_details": [node]}}})


@pytest.mark.parametrize(
    ("printed", "right"),
    [
        ("""'{"city": "Oslo"}'""", '{"city":"Oslo"}'),
        (r"""'{"city": "Troms\xf8"}'""", '{"city":"Tromsø"}'),
        (r"""'{"city": "it\'s"}'""", '{"city":"it\'s"}'),
        (r"""'\x'""", r"\x"),  # an escape that is none
        (r"""'\d'""", r"\d"),
        ("""'a\nb'""", "a\nb"),
        ("""'a\0b'""", "a\0b"),
        (r"""'\ud800'""", r"\ud800"),
    ],
)
def test_a_text_that_python_would_not_have_printed_so_is_taken_as_it_stands(printed, right):
    """One such text lost all queries of its file."""
    node = {"role": "tool", "message": f"{{'name': 'f', 'arguments': {printed}, 'res", "next": []}
    run = decode("toolbench_tooleval", {"1": {"answer": {"answer_details": [node]}}}).run
    assert [(call.tool_name, args(call)) for call in calls(run)] == [("f", right)]
