"""Parts of one trace that land apart are one run: across files, landings, and re-exports."""

from __future__ import annotations

import json
from itertools import permutations
from random import Random
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from making import runs_of, scores_of, steps_of
from tracing import TRACE, agent, asks, chat, lines, request, result, span, tool, user

from pipeline.lake import Lake
from pipeline.landing.again import trace_merge
from pipeline.landing.land import land
from pipeline.landing.traces.union import united
from pipeline.scoring import score

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from pipeline.landing.report import LandReport

USAGE = {"gen_ai__usage__input_tokens": 30, "gen_ai__usage__output_tokens": 3}
STEPS = (
    "kind", "actor", "turn_index", "response_index", "parent_step", "tool_name", "tool_args",
    "args_status", "call_id", "call_key", "output", "is_error", "content", "input_tokens",
    "output_tokens", "started_at", "duration_ms",
)  # fmt: skip
RUNS = ("run_id", "agent", "model", "status", "final_output", "started_at", "ended_at", "n_rows")


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    return tmp_path / "lake"


def land_parts(lake: Path, *parts: Sequence[dict[str, Any]]) -> LandReport:
    """Land each part as a file of its own, one landing after the other."""
    report = None
    for number, part in enumerate(parts):
        name = f"{number}-{abs(hash(json.dumps(part)))}.jsonl"
        report = land([lines(lake.parent / name, request(*part))], lake, workers=1)
    assert report is not None
    return report


def told(lake: Path) -> tuple[list[Any], list[Any]]:
    return runs_of(lake).select(RUNS).rows(), steps_of(lake).select(STEPS).rows()


WHOLE = [
    chat(1, [asks("f", "1", x=1)], [user("Go")], parent="00000000000000aa", **USAGE),
    tool("f", 3, {"x": 1}, parent="00000000000000aa", gen_ai__tool__call__result="r"),
    chat(5, "And?", [user("Go"), result("r", "1")], parent="00000000000000aa", **USAGE),
    chat(7, [asks("g", "2")], [user("Go"), user("On")], parent="00000000000000aa", **USAGE),
    tool("g", 9, {}, parent="00000000000000aa", failed=True, gen_ai__tool__call__result="no"),
    chat(11, "Done", [user("Go"), user("On")], parent="00000000000000aa", **USAGE),
    agent("desk", 0, id="00000000000000aa", gen_ai__usage__input_tokens=120),
]


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("cut", range(1, len(WHOLE)))
def test_two_landings_are_as_good_as_one(tmp_path: Path, cut: int, *, turned: bool) -> None:
    land_parts(tmp_path / "whole", WHOLE)
    parts = [WHOLE[:cut], WHOLE[cut:]]
    land_parts(tmp_path / "apart", *(parts[::-1] if turned else parts))
    assert told(tmp_path / "apart") == told(tmp_path / "whole")


@pytest.mark.parametrize("seed", range(6))
def test_many_parts_in_any_order(tmp_path: Path, seed: int) -> None:
    land_parts(tmp_path / "whole", WHOLE)
    spans = Random(seed).sample(WHOLE, len(WHOLE))  # noqa: S311
    land_parts(tmp_path / "apart", spans[:2], spans[2:4], spans[4:5], spans[5:])
    assert told(tmp_path / "apart") == told(tmp_path / "whole")


def test_files_of_one_landing(tmp_path: Path, lake: Path) -> None:
    files = [
        lines(tmp_path / f"{name}.jsonl", request(*part))
        for name, part in (("a", WHOLE[:3]), ("b", WHOLE[3:]))
    ]
    report = land(files, lake)
    land_parts(tmp_path / "whole", WHOLE)
    assert told(lake) == told(tmp_path / "whole")
    assert report.unresolved == {}
    assert runs_of(lake)["labels"].to_list() == [None]


@pytest.mark.parametrize("seed", range(6))
def test_every_span_in_a_file_of_its_own(tmp_path: Path, lake: Path, seed: int) -> None:
    """All of one landing, and some of which the lake has an earlier part."""
    spans = Random(seed).sample(WHOLE, len(WHOLE))  # noqa: S311
    files = [
        lines(tmp_path / f"part-{number}.jsonl", request(one)) for number, one in enumerate(spans)
    ]
    land_parts(tmp_path / "whole", WHOLE)
    for number, begun in enumerate((0, 3)):
        if begun:
            land(files[:begun], lake / f"{number}", workers=1)
        report = land(files[begun:], lake / f"{number}", workers=1)
        assert (report.runs, report.replaced) == (1, bool(begun))
        assert told(lake / f"{number}") == told(tmp_path / "whole")


@pytest.mark.parametrize("count", [20, 80])
def test_the_parts_of_a_trace_are_read_and_united_once(
    tmp_path: Path, lake: Path, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    """Of a trace over many files each step is looked at once, not once for each file."""
    given: list[int] = []
    monkeypatch.setattr(
        trace_merge,
        "united",
        lambda parts: given.append(sum(map(len, parts))) or united(parts),  # type: ignore[func-returns-value]  # None is false
    )
    files = [
        lines(tmp_path / f"{at:03}.jsonl", request(chat(2 * at), tool("f", 2 * at + 1, {"x": at})))
        for at in range(count)
    ]
    land(files[1:], lake, workers=1)
    land(files[:1], lake, workers=1)
    assert given == [2 * (count - 1), 2 * count]
    assert steps_of(lake).height == 2 * count


def test_many_requests_find_their_spans_by_id_and_by_name(lake: Path) -> None:
    """Ids come first; spans and requests without one are taken by name, in their order."""
    ids = ["1", "2", None, "4", None]
    asked = [
        chat(10 * at, [asks("f", one or "", x=at)], id=f"{at + 1:016x}")
        for at, one in enumerate(ids)
    ]
    ran = [
        tool("f", 10 * at + 1, {"x": at}, **({"gen_ai__tool__call__id": one} if one else {}))
        for at, one in [(3, "4"), (1, None), (0, "1"), (2, None), (4, None)]
    ]
    land_parts(lake, asked, ran)
    calls = steps_of(lake).filter(kind="tool_call")
    by = [json.loads(labels)["asked_by"] for labels in calls["labels"]]
    # Requests in their order: 1 and 4 go by id, 2 and those without one by name, as spans begin.
    assert dict(zip(calls["tool_args"], by, strict=True)) == {
        '{"x":0}': f"{1:016x}", '{"x":1}': f"{2:016x}", '{"x":2}': f"{3:016x}",
        '{"x":3}': f"{4:016x}", '{"x":4}': f"{5:016x}",
    }  # fmt: skip


def test_the_manifest_says_what_was_replaced(lake: Path) -> None:
    land_parts(lake, WHOLE[:3])
    (old,) = [batch.name for batch in Lake.open(lake).batches()]
    report = land_parts(lake, WHOLE[3:])
    (new,) = [batch for batch in Lake.open(lake).batches() if batch.name != old]
    assert new.manifest["replaces"] == [[old, 0]]
    assert (report.runs, report.replaced, report.duplicates) == (1, 1, 0)


def test_landing_a_part_again_changes_nothing(lake: Path) -> None:
    land_parts(lake, WHOLE[:3], WHOLE[3:])
    before = told(lake)
    assert land_parts(lake, WHOLE[:3]).already == 1
    again = land_parts(lake, [*WHOLE[:3], span("GET /", 3)])  # the same steps, other bytes
    assert (again.runs, again.duplicates) == (0, 1)
    assert told(lake) == before


def test_a_whole_re_export_replaces_its_parts(tmp_path: Path, lake: Path) -> None:
    land_parts(lake, WHOLE[:4], WHOLE[4:5], WHOLE)
    land_parts(tmp_path / "whole", WHOLE)
    assert told(lake) == told(tmp_path / "whole")


def test_a_finished_span_beats_its_unfinished_log(tmp_path: Path) -> None:
    finished = tool("f", 3, id="00000000000000bb", gen_ai__tool__call__result="r")
    open_ = tool("f", 3, id="00000000000000bb", lasts=None)
    for name, order in (("a", [finished, open_]), ("b", [open_, finished])):
        land_parts(tmp_path / name, [order[0], chat(1)], [order[1], chat(5)])
        steps = steps_of(tmp_path / name).filter(kind="tool_call")
        assert steps.select("output", "duration_ms").rows() == [("r", 1000.0)]


def test_a_span_around_a_response_that_landed_before_it_counts_no_tokens(lake: Path) -> None:
    """Children end first: the framework's span follows the client's in a later file."""
    inner = chat(1, "Hi", id="00000000000000cc", parent="00000000000000bb", **USAGE)
    middle = chat(1, "Hi", id="00000000000000bb", parent="00000000000000aa", **USAGE)
    outer = chat(1, "Hi", [user("Go")], id="00000000000000aa", **USAGE)
    land_parts(lake, [inner], [outer], [middle])
    steps = steps_of(lake)
    assert steps["input_tokens"].sum() == 30
    assert steps["kind"].to_list() == ["message", "final"]


@pytest.mark.parametrize("turned", [False, True])
def test_a_span_around_a_response_in_one_part_alone_and_in_another_with_it(
    lake: Path, *, turned: bool
) -> None:
    """Two exports overlap: the window of one ends after the outer span began."""
    outer = chat(1, "Hi", [user("Go")], id="00000000000000bb", **USAGE)
    inner = chat(1.1, "Hi", [user("Go")], parent="00000000000000bb", **USAGE)
    parts = [[outer], [outer, inner]]
    land_parts(lake, *(parts[::-1] if turned else parts))
    steps = steps_of(lake).filter(pl.col("kind") != "message")
    assert steps.select("kind", "content", "input_tokens").rows() == [("final", "Hi", 30)]


def test_calls_of_responses_give_way_to_the_spans_of_the_tools(lake: Path) -> None:
    land_parts(lake, [chat(1, [asks("f", "1", x=1), asks("g", "2")])])
    assert steps_of(lake)["tool_name"].drop_nulls().to_list() == ["f", "g"]
    land_parts(lake, [tool("f", 3, gen_ai__tool__call__id="1")])
    steps = steps_of(lake)
    calls = steps.filter(kind="tool_call").select("tool_name", "tool_args", "response_index")
    assert calls.rows() == [("f", '{"x":1}', 0)]
    assert json.loads(steps["labels"][0])["not_run"] == [{"name": "g", "id": "2", "args": {}}]
    land_parts(lake, [tool("g", 4)])
    assert steps_of(lake).filter(kind="tool_call")["response_index"].to_list() == [0, 0]
    assert "not_run" not in json.loads(steps_of(lake)["labels"][0])


def test_an_agents_own_answer_gives_way_to_its_models(lake: Path) -> None:
    said = [{"role": "assistant", "parts": [{"type": "text", "content": "Done"}]}]
    root = agent("a", 0, id="00000000000000aa", gen_ai__output__messages=said, **USAGE)
    land_parts(lake, [root], [chat(1, "Done", parent="00000000000000aa", **USAGE)])
    assert steps_of(lake)["input_tokens"].to_list() == [30]


def test_parts_under_other_labels_stay_apart(tmp_path: Path, lake: Path) -> None:
    land([lines(tmp_path / "a.jsonl", request(*WHOLE[:3]))], lake)
    land([lines(tmp_path / "b.jsonl", request(*WHOLE[3:]))], lake, labels={"arm": "b"})
    assert runs_of(lake)["run_id"].to_list() == [TRACE, TRACE]


def test_other_runs_of_the_batch_are_untouched(lake: Path) -> None:
    others = [tool("h", 1, trace=f"{at:032x}") for at in (1, 2)]
    land_parts(lake, [others[0], *WHOLE[:3]], [*WHOLE[3:], others[1]])
    assert runs_of(lake)["n_rows"].to_list() == [1, 1, 8]
    assert steps_of(lake).filter(pl.col("tool_name") == "h").height == 2
    score(lake)
    assert scores_of(lake)["n_calls"].to_list() == [1, 1, 2]


@pytest.mark.parametrize("seed", range(4))
def test_a_real_trace_in_parts(tmp_path: Path, real_data: Callable[[str], Path], seed: int) -> None:
    """A server's, an agent's and a model's spans, in the order in which they ended."""
    document = json.loads(real_data("otel_otlp_json/tempo_export_with_batches.json").read_text())
    spans = [
        one
        for batch in document["batches"]
        for scope in batch["instrumentationLibrarySpans"]
        for one in scope["spans"]
    ]
    spans.sort(key=lambda one: one["endTimeUnixNano"])
    land_parts(tmp_path / "whole", spans)
    first, second = sorted(Random(seed).sample(range(1, len(spans)), 2))  # noqa: S311
    land_parts(tmp_path / "apart", spans[:first], spans[first:second], spans[second:])
    assert told(tmp_path / "apart") == told(tmp_path / "whole")


A, B, C = "00000000000000aa", "00000000000000bb", "00000000000000cc"
ONE, TWO = "0000000000000001", "0000000000000002"
SAYS = [{"role": "assistant", "parts": [{"type": "text", "content": "Hi"}]}]


def _bare(at: float, **more: Any) -> dict[str, Any]:
    """Return a model's span that tells neither its model nor its words."""
    return span("POST", at, lasts=0.5, gen_ai__operation__name="chat", **more)


def _timeless(made: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in made.items() if name != "startTimeUnixNano"}


APART = {
    "the words, the model and the cost of a span around": (
        chat(1, "Hi", [user("Go")], id=B, gen_ai__usage__cost=0.5), _bare(1.2, parent=B, **USAGE)
    ),
    "calls that both ask for": (
        chat(1, [asks("f", "1", x=1)], [user("Go")], id=B),
        chat(1.2, [asks("f", "1", x=1)], [user("Go")], lasts=0.5, parent=B),
    ),
    "calls that only the span around asks for": (
        chat(1, [asks("f", "1", x=1)], [user("Go")], id=B), _bare(1.2, parent=B)
    ),
    "a call that did not run": (
        chat(1, [asks("f", "1", x=1)], id=B), _bare(1.2, parent=B), tool("g", 3, parent=B)
    ),
    "two agents that answered": (
        agent("r", 0, lasts=1, gen_ai__output__messages=SAYS, **USAGE),
        agent("s", 2, lasts=1, gen_ai__output__messages=SAYS, **USAGE),
    ),
    "an agent that answered, and a tool": (
        agent("r", 0, lasts=9, gen_ai__output__messages=SAYS, **USAGE), tool("f", 3)
    ),
    "a tool without a time": (
        chat(5, "y"), chat(1, [asks("f")], id=A), _timeless(tool("f", parent=A)), chat(3, "x")
    ),
    "a circle": (chat(1, "a", id=A, parent=B, **USAGE), chat(2, "b", id=B, parent=A, **USAGE)),
}  # fmt: skip
"""Spans of one trace, of which any may land apart."""


def all_told(lake: Path) -> tuple[list[Any], list[Any]]:
    """Return what is told, with labels that do not tell where other spans stand."""
    names = ("span_id", "model", "not_run")
    runs, steps = told(lake)
    labels = [json.loads(labels) for labels in steps_of(lake)["labels"]]
    return runs, [
        *zip(steps, [[one.get(n) for n in names] for one in labels], strict=True),
        *steps_of(lake).select("error", "cost_usd").rows(),
    ]


@pytest.mark.parametrize("name", APART)
def test_spans_apart_are_as_good_as_together(tmp_path: Path, name: str) -> None:
    spans = APART[name]
    land_parts(tmp_path / "whole", spans)
    land_parts(tmp_path / "apart", spans[:1], spans[1:])
    assert all_told(tmp_path / "apart") == all_told(tmp_path / "whole")


def test_of_two_spans_inside_each_other_one_counts(lake: Path) -> None:
    land_parts(lake, APART["a circle"])
    assert steps_of(lake).select("content", "input_tokens").rows() == [("a", 30)]


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_three_spans_of_a_response_in_three_parts(
    tmp_path: Path, lake: Path, order: tuple[int, ...]
) -> None:
    spans = [
        chat(1, "Hi", [user("Go")], id=A, lasts=3, gen_ai__usage__cost=0.5, **USAGE),
        chat(1.1, "Hi", [user("Go")], id=B, parent=A, lasts=2, **USAGE),
        chat(1.2, "Hi", [user("Go")], id=C, parent=B, **USAGE),
    ]
    land_parts(tmp_path / "whole", spans)
    land_parts(lake, *([spans[at]] for at in order))
    assert all_told(lake) == all_told(tmp_path / "whole")


@pytest.mark.parametrize("parts", ["bc a", "c b bt", "c b a bt"])
def test_spans_of_a_response_that_land_together_or_again(lake: Path, parts: str) -> None:
    made = {
        "a": chat(1, "Hi", id=A, lasts=3, **USAGE),
        "b": chat(1.1, "Hi", id=B, parent=A, lasts=2, **USAGE),
        "c": chat(1.2, "Hi", id=C, parent=B, **USAGE),
        "t": tool("f", 9),
    }
    land_parts(lake, *([made[name] for name in part] for part in parts.split()))
    assert steps_of(lake)["input_tokens"].sum() == 30


def test_what_began_at_once_is_in_the_order_of_the_part_that_knows_both(lake: Path) -> None:
    asked, ran = chat(1, "x", id=ONE), tool("f", 1, id=TWO)
    land_parts(lake, [ran], [asked, ran])
    assert steps_of(lake)["kind"].to_list() == ["llm_call", "tool_call"]


def test_words_after_which_a_tool_ran_are_no_output(tmp_path: Path) -> None:
    for name, parts in (("whole", [[0, 1]]), ("apart", [[0], [1]])):
        spans = [chat(1, "Let me see"), tool("f", 2)]
        land_parts(tmp_path / name, *([spans[at] for at in part] for part in parts))
        assert runs_of(tmp_path / name)["final_output"].to_list() == [None]


def test_a_span_is_as_the_part_knows_it_that_knows_more(lake: Path) -> None:
    spans = [
        agent("desk", 0, id=A), agent("sub", 1, id=B, parent=A, lasts=9),
        tool("f", 2, id=C, parent=B), chat(3, "x", parent=B), chat(4, "y", parent=A),
    ]  # fmt: skip
    land_parts(lake, spans, [spans[2], tool("h", 20)])
    assert steps_of(lake)["actor"].to_list() == ["sub", "sub", "agent", "agent"]


def test_an_agents_own_answer_gives_way_to_a_model_below_another_agent(lake: Path) -> None:
    root = agent("a", 0, id=A, gen_ai__output__messages=SAYS, **USAGE)
    land_parts(lake, [root], [agent("b", 1, id=B, parent=A, lasts=9), chat(2, "Hi", parent=B)])
    assert steps_of(lake)["kind"].to_list() == ["final"]
    assert steps_of(lake)["input_tokens"].to_list() == [None]


def test_the_run_is_what_its_parts_tell(tmp_path: Path) -> None:
    """The first part to begin counts most; labels add up; a failure of any part stays."""
    first = [agent("a", 0, lasts=1, user__id="u"), chat(0.5, "Hi")]
    second = [
        agent("b", 3, lasts=1, id=A, failed=True, session__id="t", task_id="t1", user__id="v"),
        chat(3.5, "Ho", parent=A),
    ]
    for name, parts in (("a", [first, second]), ("b", [second, first])):
        land_parts(tmp_path / name, *parts)
        (row,) = runs_of(tmp_path / name).to_dicts()
        assert (row["agent"], row["task_id"], row["status"]) == ("a", "t1", "error")
        assert json.loads(row["labels"]) == {"user_id": "u", "session_id": "t"}
        assert row["final_output"] == "Ho"


def test_the_last_word_is_the_final_steps(lake: Path) -> None:
    """What a nested agent says later is none."""
    inner = agent("sub", 3, id=B, parent=A, lasts=2)
    land_parts(lake, [agent("desk", 0, id=A), chat(1, "Done", parent=A), inner], [
        agent("desk", 0, id=A), inner, chat(4, "Sub", parent=B),
    ])  # fmt: skip
    assert runs_of(lake)["final_output"].to_list() == ["Done"]


@pytest.mark.parametrize("turned", [False, True])
def test_a_part_without_times_tells_after_the_others(lake: Path, *, turned: bool) -> None:
    timed = [chat(1, "x"), agent("a", 0)]
    timeless = [_timeless(tool("f")), _timeless(agent("b"))]
    land_parts(lake, *([timeless, timed] if turned else [timed, timeless]))
    assert runs_of(lake)["agent"].to_list() == ["a"]


def test_a_run_of_several_parts_stands_where_the_last_one_does_that_tells_of_it(
    tmp_path: Path, lake: Path
) -> None:
    other = chat(1, "x", trace="f" * 32)
    finished, begun = tool("f", 3, id=B), tool("f", 3, id=B, lasts=None)
    paths = [
        lines(tmp_path / f"{name}.jsonl", *(request(one) for one in spans))
        for name, spans in (
            ("a", [finished]), ("b", [other, chat(1)]), ("c", [begun, agent("a", 0, failed=True)])
        )
    ]  # fmt: skip
    land(paths[:1], lake, workers=1)
    land(paths[1:], lake, workers=1)
    (row,) = runs_of(lake).filter(run_id=TRACE).to_dicts()
    assert (row["source_path"].rsplit("/", 1)[-1], row["source_line"]) == ("b.jsonl", 2)
    assert row["status"] == "error"


def test_several_runs_of_a_batch_that_had_earlier_parts(tmp_path: Path, lake: Path) -> None:
    traces = [f"{at:032x}" for at in range(5)]
    early = [tool("f", 1, {"of": at}, trace=traces[at]) for at in (1, 3, 4)]
    late = [tool("g", 2, {"of": at}, trace=trace) for at, trace in enumerate(traces)]
    land_parts(lake, early, late)
    land_parts(tmp_path / "whole", [*early, *late])
    assert told(lake) == told(tmp_path / "whole")
