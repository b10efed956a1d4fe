"""Claude Code sessions land: responses put together, tokens once, faults told from refusals."""

from __future__ import annotations

import pytest
from landing.claude_lines import UUID, agent, decoded, result, text, use, user
from reading import args, kinds
from sessions import tokens, told

REFUSED = "The user doesn't want to proceed with this tool use. The tool use was rejected."


def test_message_call_result_and_answer():
    run = decoded(
        user("Hi", "1", timestamp="2026-05-04T09:00:00Z", version="2.1", cwd="/x", gitBranch="b"),
        agent(text("I look."), message_id="m1", uuid="2"),
        agent(use("c", x=1), message_id="m1", uuid="3"),
        user([result("c")], "4"),
        agent(text("Done."), message_id="m2", uuid="5", timestamp="2026-05-04T09:00:05Z"),
    ).run
    assert told(run, "kind", "actor", "response_index", "turn_index") == [
        ("message", "user", None, 0),
        ("llm_call", "agent", 0, 0),
        ("tool_call", "agent", 0, 0),
        ("final", "agent", 1, 0),
    ]
    call = run.steps[2]
    assert (call.tool_name, args(call), call.output, call.is_error) == (
        "Read",
        '{"x":1}',
        "ok",
        False,
    )
    assert (run.run_id, run.source_id, run.final_output) == (UUID, None, "Done.")
    assert (run.agent, run.agent_version, run.model) == ("claude-code", "2.1", "claude")
    assert (run.started_at, run.ended_at) == ("2026-05-04T09:00:00Z", "2026-05-04T09:00:05Z")
    assert (run.labels, run.status, run.success) == ({"cwd": "/x", "git_branch": "b"}, "ok", None)


def test_lines_of_one_response_are_one_step_and_its_tokens_count_once():
    """Each line repeats the usage; the last one has the whole of it. Cached input was read too."""
    early = {"input_tokens": 3, "cache_creation_input_tokens": 100, "output_tokens": 1}
    whole = {**early, "cache_read_input_tokens": 20, "output_tokens": 50}
    run = decoded(
        agent({"type": "thinking", "thinking": "Hm."}, uuid="1", usage=early),
        agent(text("First."), uuid="2", usage=early),
        agent(use("c1"), uuid="3", usage=early),
        user([result("c1")], "4"),
        agent(use("c2"), uuid="5", usage=whole),
        agent(text("More."), message_id="m2", uuid="6", usage=early),
    ).run
    assert kinds(run) == ["llm_call", "tool_call", "tool_call", "final"]
    assert tokens(run) == (123 + 103, 50 + 1)
    step = run.steps[0]
    assert step.content == "First."
    assert step.labels == {
        "thoughts": "Hm.",
        "cache_creation_input_tokens": 100,
        "cache_read_input_tokens": 20,
    }
    assert [s.response_index for s in run.steps] == [0, 0, 0, 1]


def test_responses_without_an_id_are_each_their_own():
    run = decoded(
        agent(text("a"), message_id=None, uuid="1", usage={"output_tokens": 1}),
        agent(text("b"), message_id=None, uuid="2", usage={"output_tokens": 2}),
    ).run
    assert (kinds(run), tokens(run)) == (["llm_call", "final"], (0, 3))


@pytest.mark.parametrize(
    ("content", "is_error", "labels"),
    [
        ("no such file", True, None),
        (REFUSED, False, {"rejected": True}),
        ("User rejected tool use", False, {"rejected": True}),
        ("[Request interrupted by user for tool use]", False, {"rejected": True}),
        ("Sibling tool call errored", False, {"cancelled": True}),
        (
            "<tool_use_error>Sibling tool call errored</tool_use_error>",
            False,
            {"cancelled": True},
        ),
        ("<tool_use_error>InputValidationError</tool_use_error>", True, None),
        ([text(REFUSED)], False, {"rejected": True}),
        (None, True, None),
    ],
)
def test_what_never_ran_did_not_fail(content, is_error, labels):
    """A tool's faults are counted, refusals and cancellations are labelled.

    Of 87 results marked is_error in 31 published sessions, 18 are a user's refusal and 16 fell
    with a parallel call: 53 are errors of a tool.
    """
    (call,) = decoded(
        agent(use("c"), uuid="1"), user([result("c", content, is_error=True)], "2")
    ).calls
    assert (call.is_error, call.labels, call.error) == (is_error, labels, None)


@pytest.mark.parametrize("more", [{}, {"is_error": False}, {"is_error": None}])
def test_a_result_that_does_not_say_so_is_no_error(more):
    (call,) = decoded(agent(use("c"), uuid="1"), user([result("c", REFUSED, **more)], "2")).calls
    assert (call.is_error, call.labels) == (False, None)


def test_output_is_the_text_of_its_parts():
    parts = [text("a"), {"type": "image", "source": {}}, text("b")]
    picture = [{"type": "image", "source": {}}]
    read = decoded(
        agent(use("c1"), use("c2"), uuid="1"),
        user([result("c1", parts)], "2"),
        user([result("c2", picture)], "3"),
    )
    assert [(call.output, call.is_error) for call in read.calls] == [("a\nb", False), (None, False)]
    assert read.run.status == "ok"


def test_a_server_tools_result_stands_in_the_response():
    found = [{"type": "web_search_result", "url": "https://example.org"}]
    search = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"q": "x"}}
    result = {"type": "web_search_tool_result", "tool_use_id": "s", "content": found}
    run = decoded(agent(search, result, text("Found."), uuid="1")).run
    assert told(run, "kind", "tool_name", "output") == [
        ("llm_call", None, None),
        ("tool_call", "web_search", found),
    ]


def test_call_without_a_result_leaves_the_run_open():
    read = decoded(user("Hi", "1"), agent(use("c1"), use("c2"), uuid="2"))
    assert [(call.is_error, call.output) for call in read.calls] == [(None, None)] * 2
    assert read.run.status == "incomplete"
    answered = decoded(agent(use("c"), uuid="1"), user([result("c")], "2"))
    assert answered.run.status == "ok"


def test_result_without_a_call_stays_as_a_message():
    (step,) = decoded(user([result("gone", "late")], "1")).run.steps
    assert (step.kind, step.actor, step.content, step.call_id) == (
        "message",
        "tool",
        "late",
        "gone",
    )
    assert step.labels == {"orphan_result": True}


def test_a_result_logged_before_its_call_waits_for_it_if_the_chain_says_so():
    read = decoded(
        user("Hi", "1"),
        user([result("c")], "3", parent="2"),
        agent(use("c"), uuid="2", parentUuid="1"),
    )
    assert kinds(read.run) == ["message", "llm_call", "tool_call"]
    assert [call.output for call in read.calls] == ["ok"]


def test_times_that_run_backwards_leave_the_order_alone():
    run = decoded(
        user("a", "1", timestamp="2026-05-04T09:00:09Z"),
        user("b", "2", "1", timestamp="2026-05-04T09:00:01Z"),
    ).run
    assert [step.content for step in run.steps] == ["a", "b"]
    assert (run.started_at, run.ended_at) == ("2026-05-04T09:00:01Z", "2026-05-04T09:00:09Z")


def test_only_a_users_own_words_open_a_turn():
    run = decoded(
        user("a", "1"),
        user("Caveat", "2", isMeta=True),
        user([text("b")], "3"),
        user("[Request interrupted by user]", "4"),
        user("Summary of what came before", "5", isCompactSummary=True),
        user([{"type": "image", "source": {}}], "6"),
        user(["c"], "7"),
    ).run
    assert told(run, "actor", "turn_index", "content") == [
        ("user", 0, "a"),
        ("system", 0, "Caveat"),
        ("user", 1, "b"),
        ("user", 1, "[Request interrupted by user]"),
        ("system", 1, "Summary of what came before"),
        ("user", 2, None),
        ("user", 3, "c"),
    ]


def test_an_interruption_at_the_end_cuts_the_run_off():
    assert decoded(agent(text("a")), user("[Request interrupted by user]")).run.status == (
        "incomplete"
    )


def test_texts_the_program_wrote_are_no_responses():
    failed = agent(text("API Error: 529"), message_id="x", uuid="2", model="<synthetic>", usage={})
    notice = agent(text("No response requested."), message_id="y", uuid="3", model="<synthetic>")
    run = decoded(user("Hi", "1"), failed).run
    assert told(run, "kind", "actor", "error")[1] == ("message", "system", "API Error: 529")
    assert (run.status, run.model, run.final_output) == ("error", None, None)
    assert decoded(user("Hi", "1"), failed, agent(text("ok"), uuid="4")).run.status == "ok"
    assert decoded(agent(text("ok")), notice).run.status == "ok"


def test_first_version_and_model_name_the_run():
    """A longer export of the session must still be the same run."""
    run = decoded(
        agent(text("a"), message_id="1", uuid="1", version="2.0"),
        agent(text("b"), message_id="2", uuid="2", version="2.1", model="other"),
    ).run
    assert (run.agent_version, run.model) == ("2.0", "claude")
    assert run.labels == {"models": ["claude", "other"]}


def test_cost_is_kept_where_old_versions_log_it():
    run = decoded(
        agent(text("a"), uuid="1", costUSD=0.5), agent(use("c"), uuid="2", costUSD=0.5)
    ).run
    assert told(run, "cost_usd") == [(0.5,), (None,)]


def test_what_no_line_tells_first():
    """Lines before the first that names its session are that session's, too."""
    bare = {**user("Hi", "1"), "sessionId": None}
    run = decoded(bare, agent(text("Ho"), uuid="2", cwd="/x")).run
    assert [step.content for step in run.steps] == ["Hi", "Ho"]
    assert (run.run_id, run.labels) == (UUID, {"cwd": "/x"})
    alone = decoded({**bare, "cwd": "/x"}).run
    assert (alone.run_id, alone.source_id) == (None, None)


def test_two_sub_agents_without_ids_in_a_file_of_their_own():
    run = decoded(
        user("Go", "1", isSidechain=True), agent(text("A"), uuid="2", isSidechain=True)
    ).run
    assert run.run_id == f"{UUID}/sidechain"


def test_what_claude_code_says_for_the_model_opens_no_turn():
    made = agent(text("API Error"), uuid="2", model="<synthetic>", isApiErrorMessage=True)
    run = decoded(user("Hi", "1"), made).run
    assert told(run, "actor", "turn_index", "error") == [
        ("user", 0, None), ("system", 0, "API Error")
    ]  # fmt: skip


@pytest.mark.parametrize("apart", [False, True])
def test_a_text_that_citations_cut_is_one_text(apart):
    cited = {**text("it is dry"), "citations": [{"type": "web_search_result_location"}]}
    pieces = [text("I read that "), cited, text(".")]
    lines = [[piece] for piece in pieces] if apart else [pieces]
    run = decoded(*(agent(*line, message_id="m1", uuid=str(n)) for n, line in enumerate(lines))).run
    assert kinds(run) == ["final"]
    assert run.final_output == "I read that it is dry."
