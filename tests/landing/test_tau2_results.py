"""tau2-bench results land: whose expected actions count, what is an error, whose tokens they are."""

from __future__ import annotations

import json
import pickle
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from pipeline.landing.formats.tau2_results import FORMAT
from pipeline.landing.model import RejectError, Run, Task
from pipeline.landing.records.reader import Source, look
from pipeline.landing.values.canonical import Keyer

PERMUTED = "tau2_results/toolorchestra_airline_gpt-5_1trial.json"
AIRLINE = "tau2_results/gpt-4.1_airline_default_gpt-4.1_1trials.json"
WITHOUT_RUNS = "tau2_fork_es/salud_mendoza_rag_demo_1.json"
REAL = [
    AIRLINE,
    "tau2_results/gpt-4.1_retail_defautl_gpt-4.1_1trials.json",
    "tau2_results/gpt-4.1_telecom_no-user_gpt-4.1_1trials.json",
    PERMUTED,
    "tau2_fork_es/ecommerce_calle_resultados_final_.json",
    "tau2_fork_es/resultado_filtro_gastelo_11.json",
    "tau2_fork_es/resultados_sanita_irigoin.json",
    "tau2_fork_es/simulacion_estaciondeservicio_Rivera.json",
    (
        "tau2_fork_es/2026-04-04T19_21_40.388902_fishtrader_garbich_llm_agent_gemma-3-27b-it"
        "_user_simulator_gemma-3-12b-it.json"
    ),
    WITHOUT_RUNS,
]
SAMPLE = Path(__file__).parents[2] / "data_samples/tau2_results/hotel_concierge.json"


def _decoded(path: Path) -> tuple[list[Run], list[Task]]:
    source = Source(path, path.name)
    context = pickle.loads(pickle.dumps(FORMAT.prepare(source)))  # noqa: S301 - as workers get it
    items = [x for piece in FORMAT.pieces(source) for x in FORMAT.decode(piece, context)]
    return [x for x in items if isinstance(x, Run)], [x for x in items if isinstance(x, Task)]


def _action(name: str, **arguments: Any) -> dict[str, Any]:
    return {"action_id": f"a_{name}", "name": name, "arguments": arguments, "compare_args": None}


def _task(task_id: str, actions: Any) -> dict[str, Any]:
    scenario = {"persona": None, "instructions": {"reason_for_call": "Ask."}}
    return {"id": task_id, "user_scenario": scenario, "evaluation_criteria": {"actions": actions}}


def _simulation(task_id: str, checked: Any, **changes: Any) -> dict[str, Any]:
    checks = None if checked is None else [{"action": action} for action in checked]
    return {
        "id": f"run-{task_id}",
        "task_id": task_id,
        "trial": 0,
        "termination_reason": "user_stop",
        "reward_info": {"reward": 1.0, "action_checks": checks},
        "messages": [],
    } | changes


def _file(tmp_path: Path, tasks: list[Any], simulations: list[Any], **more: Any) -> Path:
    info = {
        "git_commit": "c0ffee",
        "agent_info": {"implementation": "llm_agent", "llm": "model-a"},
        "user_info": {"implementation": "user_simulator", "llm": "model-u"},
        "environment_info": {"domain_name": "hotel"},
    }
    path = tmp_path / "results.json"
    whole = {"info": info, "tasks": tasks, "simulations": simulations} | more
    path.write_text(json.dumps(whole, indent=1))
    return path


def _one(tmp_path: Path, **changes: Any) -> Run:
    (run,), _ = _decoded(_file(tmp_path, [], [_simulation("0", None, **changes)]))
    return run


def _names(run: Run) -> list[list[str]] | None:
    if run.references is None:
        return None
    return [[call.tool_name for call in calls] for calls in run.references.alternatives]


def _calls(run: Run) -> list[Any]:
    return [step for step in run.steps if step.kind == "tool_call"]


def _f1(run: Run) -> float:
    """2·tp / (n + m) over canonical calls, 1 where both are empty."""
    key, expected_key = Keyer(), Keyer(expected=True)
    assert run.references is not None
    expected = [
        expected_key(e.tool_name, e.tool_args).call_key for e in run.references.alternatives[0]
    ]
    actual = [key(step.tool_name, step.tool_args).call_key for step in _calls(run)]
    n, m = len(expected), len(actual)
    return 2 * (Counter(expected) & Counter(actual)).total() / (n + m) if n + m else 1.0


@pytest.mark.parametrize("name", REAL)
def test_figures_of_the_real_files(name, real_data, expected_figures):
    figures = expected_figures[name]
    runs, _ = _decoded(real_data(name))
    steps = [step for run in runs for step in run.steps]
    calls = [step for step in steps if step.kind == "tool_call"]
    assert len(runs) == figures["runs"]
    assert len(calls) == figures["tool_calls"]
    assert sum(bool(call.is_error) for call in calls) == figures["tool_errors"]
    assert sum(bool(run.success) for run in runs) == figures.get("success", 0)
    # The published figures add up all that was spent: the agent's tokens and the simulated user's.
    assert sum(step.input_tokens or 0 for step in steps) == figures.get("tokens_in", 0)
    assert sum(step.output_tokens or 0 for step in steps) == figures.get("tokens_out", 0)
    assert all(call.output is not None for call in calls)
    assert {name for step in steps for name in step.labels or ()} <= {"errors"}
    assert not any(item.unmapped for item in (*runs, *steps))


@pytest.mark.parametrize("name", REAL[:-1])
def test_mean_f1_of_the_real_files(name, real_data, expected_figures):
    figures = expected_figures[name]
    scores = figures["scores_action_checks" if name == PERMUTED else "scores"]["mean_all_runs"]
    runs = [run for run in _decoded(real_data(name))[0] if _names(run)]
    assert len(runs) == scores["n"]
    assert sum(len(calls) for run in runs for calls in _names(run) or ()) == scores["sum_n_exp"]
    assert sum(map(_f1, runs)) / len(runs) == pytest.approx(scores["f1_args"], abs=1e-12)


def test_file_whose_task_ids_are_permuted_is_scored_by_what_was_checked(real_data):
    runs, tasks = _decoded(real_data(PERMUTED))
    own = [run for run in runs if _names(run)]
    assert (len(runs), len(own)) == (50, 43)
    assert sum(map(_f1, own)) / len(own) == pytest.approx(0.41274, abs=1e-5)
    assert tasks == []
    assert {run.started_at for run in runs} == {"2025-01-01T00:00:00.000000"}  # as it is written


def test_tokens_of_the_agent_stand_on_decisions_and_the_users_on_messages(real_data):
    runs, _ = _decoded(real_data(AIRLINE))
    spent: Counter[str | None] = Counter()
    for step in (step for run in runs for step in run.steps):
        spent[step.kind == "message", step.actor] += step.input_tokens or 0
    # Sums of usage.prompt_tokens over the file's assistant and user messages.
    assert spent[False, "agent"] == 994_898
    assert spent[True, "user"] == 119_046


def test_error_flag_counts_and_text_does_not(tmp_path):
    calls = [{"id": i, "name": "book", "arguments": {}, "requestor": "assistant"} for i in "abcd"]
    results = [
        {"role": "tool", "id": "a", "content": "Error: full", "error": True},
        {"role": "tool", "id": "b", "content": "Error: full", "error": False},
        {"role": "tool", "id": "c", "content": "Error: full"},
    ]
    messages = [{"role": "assistant", "content": None, "tool_calls": calls}, *results]
    run = _one(tmp_path, messages=messages)
    assert [call.is_error for call in _calls(run)] == [True, False, None, None]
    assert [call.output for call in _calls(run)] == ["Error: full"] * 3 + [None]
    assert {call.response_index for call in _calls(run)} == {0}


def test_run_says_who_ran(tmp_path):
    run = _one(tmp_path, start_time="2026-01-01T00:00:00", end_time="2026-01-01T00:01:00", seed=5)
    assert (run.run_id, run.task_id, run.trial, run.suite) == ("run-0", "0", 0, "hotel")
    assert (run.agent, run.agent_version, run.model) == ("llm_agent", "c0ffee", "model-a")
    assert (run.started_at, run.ended_at) == ("2026-01-01T00:00:00", "2026-01-01T00:01:00")
    assert run.labels == {"termination_reason": "user_stop", "seed": 5, "user_model": "model-u"}
    assert run.prompt_hash is None


def test_null_actions_are_no_reference_and_an_empty_list_expects_no_call(tmp_path):
    tasks = [_task("0", None), _task("1", []), _task("2", [_action("book")])]
    runs, landed = _decoded(_file(tmp_path, tasks, [_simulation(i, None) for i in "012"]))
    assert [_names(run) for run in runs] == [None, [[]], [["book"]]]
    assert [task.references is None for task in landed] == [True, False, False]
    assert [task.reference_complete for task in landed] == [False] * 3
    assert {(task.suite, json.dumps(task.prompt)) for task in landed} == {
        ("hotel", '{"reason_for_call": "Ask."}')
    }


def test_file_without_a_scenario_prompts_with_its_ticket(tmp_path):
    task = _task("0", []) | {"user_scenario": {}, "ticket": "It is broken."}
    _, (landed,) = _decoded(_file(tmp_path, [task], []))
    assert landed.prompt == "It is broken."


def test_one_contradiction_means_the_whole_file_is_not_joined(tmp_path):
    tasks = [_task(i, [_action("book", seat=int(i))]) for i in "012"]
    agrees = _simulation("0", [_action("book", seat=0)])
    contradicts = _simulation("1", [_action("book", seat=2)])
    silent = _simulation("2", None)
    runs, landed = _decoded(_file(tmp_path, tasks, [agrees, silent, contradicts]))
    assert [_names(run) for run in runs] == [[["book"]], [], [["book"]]]
    ((call,),) = runs[2].references.alternatives
    assert json.loads(bytes(call.tool_args)) == {"seat": 2}
    assert landed == []


def test_number_spelling_is_no_contradiction_but_order_is(tmp_path):
    tasks = [_task("0", [_action("a", n=1), _action("b")])]
    same = [_action("a", n=1.0), _action("b")]
    assert _decoded(_file(tmp_path, tasks, [_simulation("0", same)]))[1] != []
    assert _decoded(_file(tmp_path, tasks, [_simulation("0", same[::-1])]))[1] == []


def test_run_of_an_unlisted_task_has_what_was_checked(tmp_path):
    runs, _ = _decoded(_file(tmp_path, [], [_simulation("9", [_action("book")])]))
    assert [_names(run) for run in runs] == [[["book"]]]


def test_compare_args_are_kept_where_there_are_any(tmp_path):
    plain, narrow, none = _action("a"), _action("b", x=1), _action("c")
    narrow["compare_args"], none["compare_args"], none["action_id"] = ["x"], [], None
    tasks = [_task("0", [plain, narrow, none]), _task("1", [plain])]
    runs, landed = _decoded(
        _file(tmp_path, tasks, [_simulation("0", None), _simulation("1", None)])
    )
    kept = {"a_b": ["x"], "2": []}
    assert [run.labels.get("compare_args") for run in runs] == [kept, None]
    assert [task.labels for task in landed] == [{"compare_args": kept}, {}]


@pytest.mark.parametrize(
    ("reason", "status", "completed"),
    [
        ("user_stop", "ok", True),
        ("agent_stop", "ok", True),
        ("max_steps", "ok", False),
        ("too_many_errors", "ok", False),
        ("timeout", "ok", False),
        ("infrastructure_error", "error", False),
        ("user_error", "error", False),
        ("something_new", "ok", None),
        (None, "ok", None),
    ],
)
def test_only_infrastructure_is_an_error(tmp_path, reason, status, completed):
    run = _one(tmp_path, termination_reason=reason)
    assert (run.status, run.completed) == (status, completed)


@pytest.mark.parametrize("reason", ["something_new", None])
def test_run_in_which_nothing_ended_is_incomplete(tmp_path, reason):
    run = _one(tmp_path, termination_reason=reason, reward_info=None)
    assert (run.status, run.success, run.reward) == ("incomplete", None, None)


@pytest.mark.parametrize(("reward", "success"), [(1.0, True), (0.5, False), (None, None)])
def test_success_is_a_full_reward(tmp_path, reward, success):
    assert _one(tmp_path, reward_info={"reward": reward}).success is success


def test_file_without_runs_lands_its_tasks(real_data):
    runs, (task,) = _decoded(real_data(WITHOUT_RUNS))
    assert runs == []
    assert task.task_id == "0"
    ((call,),) = task.references.alternatives
    assert call.tool_name == "buscar_protocolo_rag"


def test_simulations_may_stand_before_tasks_and_pieces_keep_the_files_order(tmp_path):
    path = _file(tmp_path, [], [])
    whole = json.loads(path.read_text())
    whole["tasks"], whole["simulations"] = [_task("0", [])], [_simulation("0", None)]
    path.write_text(json.dumps(dict(sorted(whole.items()))))
    found = list(FORMAT.pieces(Source(path, "")))
    assert [piece.ordinal for piece in found] == [0, 1]
    assert [json.loads(piece.data)["id"] for piece in found] == ["run-0", "0"]
    assert FORMAT.sniff(Source(path, "").head) is not None
    runs, tasks = _decoded(path)
    assert (_names(runs[0]), len(tasks)) == ([[]], 1)


def test_damaged_element_is_refused_and_the_others_land(tmp_path):
    tasks = [_task("0", []), {"user_scenario": {}}]
    path = _file(tmp_path, tasks, [_simulation("0", None), {"id": "x"}])
    source = Source(path, "")
    context = FORMAT.prepare(source)
    landed, refused = [], []
    for piece in FORMAT.pieces(source):
        try:
            landed += FORMAT.decode(piece, context)
        except RejectError as error:
            refused.append(str(error))
    assert [type(item).__name__ for item in landed] == ["Task", "Run"]
    assert [text.split(":")[0] for text in refused] == ["missing_field"] * 2
    assert "messages" in refused[1]


def test_damaged_info_leaves_the_runs(tmp_path):
    path = _file(tmp_path, [_task("0", [])], [_simulation("0", None)], info={"agent_info": 3})
    (run,), _ = _decoded(path)
    assert (run.agent, run.model, run.suite) == (None, None, None)


def test_claims_the_real_files_of_its_own_and_no_other(real_data):
    files = [path for path in real_data(".").rglob("*") if path.is_file()]
    claimed = [path.parent.name for path in files if FORMAT.sniff(Source(path, "").head)]
    assert Counter(claimed) == {"tau2_results": 4, "tau2_fork_es": 6}


def test_sample_shows_an_error_a_retry_user_calls_and_an_empty_reference():
    runs, tasks = _decoded(SAMPLE)
    assert FORMAT.sniff(look(SAMPLE.read_bytes())) is not None
    assert len(tasks) == 4
    assert [run.status for run in runs] == ["ok", "ok", "ok", "ok", "error"]
    assert [_names(run) for run in runs] == [
        [["get_guest", "book_room"]],
        [[]],
        [["restart_lock", "open_ticket"]],
        [["get_guest", "book_room"]],
        [[]],
    ]
    assert [call.is_error for call in _calls(runs[0])] == [False, True, False]
    assert [call.response_index for call in _calls(runs[0])] == [1, 1, 2]
    assert [call.actor for call in _calls(runs[2])] == ["user", "agent"]
    assert runs[2].labels["compare_args"] == {"2_1": ["room"]}
    # By hand: 2·2/(2+3) (90 = 90.0), both empty, 2·1/(2+2) (another text), 2·1/(2+2).
    assert [_f1(run) for run in runs] == [0.8, 1.0, 0.5, 0.5, 1.0]
