"""What embedding and reranking models used is in a run's sums, whoever traced them."""

from __future__ import annotations

import json
from itertools import permutations
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from making import runs_of, scores_of, steps_of
from tracing import chat, request, span, tool, user

from pipeline.landing.land import land
from pipeline.scoring import score

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

AT = "2026-01-01T08:00:0{}.000000Z"
ASKS = {"role": "assistant", "content": "Done"}
Told = tuple[str, str, int | None, float | None, str | None]


def _flat(number: int, name: str, parent: int | None, **attributes: Any) -> dict[str, Any]:
    """Return a span as OpenTelemetry's SDK prints it."""
    return {
        "name": name,
        "context": {"trace_id": "0x" + "a" * 32, "span_id": f"0x{number:016x}"},
        "parent_id": f"0x{parent:016x}" if parent else None,
        "start_time": AT.format(number),
        "end_time": AT.format(number + 1),
        "attributes": {key.replace("__", "."): value for key, value in attributes.items()},
    }


def _genai() -> list[dict[str, Any]]:
    used = {"gen_ai__operation__name": "embeddings", "gen_ai__request__model": "e"}
    found = span("embeddings e", 1, parent="a" * 16, gen_ai__usage__input_tokens=7, **used)
    says = chat(4, "Done", [user("Hi")], gen_ai__usage__input_tokens=10)
    return [request(tool("find", 0, {"q": 1}, id="a" * 16, lasts=3), found, says)]


def _jaeger() -> list[dict[str, Any]]:
    def made(number: int, parent: str, **tags: Any) -> dict[str, Any]:
        told = [
            {"key": key.replace("__", "."), "type": "string", "value": value}
            for key, value in tags.items()
        ]
        return {
            "traceID": "t", "spanID": f"s{number}", "operationName": "x", "tags": told,
            "references": [{"refType": "CHILD_OF", "spanID": parent}] if parent else [],
            "startTime": 1_767_254_400_000_000 + number * 1_000_000, "duration": 500_000,
        }  # fmt: skip

    name = "gen_ai__operation__name"
    spans = [
        made(0, "", **{name: "execute_tool"}, gen_ai__tool__name="find"),
        made(1, "s0", llm__request__type="embedding", gen_ai__response__model="e",
             llm__usage__total_tokens=7),
        made(2, "", **{name: "chat"}, gen_ai__usage__input_tokens=10,
             gen_ai__completion__0__content="Done"),
    ]  # fmt: skip
    return [{"data": [{"traceID": "t", "spans": spans, "processes": {}}]}]


def _openinference() -> list[dict[str, Any]]:
    kind = "openinference__span__kind"
    return [
        _flat(1, "find", None, **{kind: "TOOL"}, tool__name="find"),
        _flat(2, "Embeddings", 1, **{kind: "EMBEDDING"}, embedding__model_name="e",
              llm__token_count__total=7),
        _flat(4, "m", None, **{kind: "LLM"}, output__value="Done",
              llm__token_count__prompt=10),
    ]  # fmt: skip


def _langfuse() -> list[dict[str, Any]]:
    def seen(number: int, kind: str, parent: str | None = None, **more: Any) -> dict[str, Any]:
        return {
            "id": f"o{number}", "traceId": "t", "type": kind, "name": "find",
            "parentObservationId": parent, "startTime": AT.format(number),
            "endTime": AT.format(number + 1), **more,
        }  # fmt: skip

    observations = [
        seen(1, "TOOL", input={"q": 1}, output="found"),
        seen(2, "EMBEDDING", "o1", model="e", usageDetails={"input": 7, "total": 7}),
        seen(3, "GENERATION", output=ASKS, usageDetails={"input": 10, "output": 0, "total": 10}),
    ]
    return [{"trace": {"id": "t", "name": "app"}, "observations": observations}]


def _langsmith() -> list[dict[str, Any]]:
    def told(number: int, kind: str, parent: str | None, **more: Any) -> dict[str, Any]:
        return {
            "id": f"r{number}", "trace_id": "r1", "parent_run_id": parent, "run_type": kind,
            "name": "find", "start_time": AT.format(number), "end_time": AT.format(number + 1),
            "status": "success", "inputs": {}, **more,
        }  # fmt: skip

    return [
        told(1, "tool", None, outputs={"output": "found"}),
        told(2, "embedding", "r1", prompt_tokens=7, extra={"invocation_params": {"model": "e"}}),
        told(3, "llm", "r1", prompt_tokens=10, outputs={"messages": [ASKS]}),
    ]


def told(lake: Path) -> list[Told]:
    columns = ("kind", "actor", "input_tokens", "cost_usd", "labels")
    rows = steps_of(lake).sort("step_index").select(columns).rows()
    return [(*row[:4], json.loads(row[4]).get("model")) for row in rows if row[1] != "user"]


def landed(tmp_path: Path, *records: Any) -> Path:
    path = tmp_path / "log.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    land([path], tmp_path / "lake", workers=1)
    return tmp_path / "lake"


@pytest.mark.parametrize("spelled", [_genai, _jaeger, _openinference, _langfuse, _langsmith])
def test_an_embedding_beneath_a_tool(
    tmp_path: Path, spelled: Callable[[], list[dict[str, Any]]]
) -> None:
    """Seven tokens of the embedding and ten of the response: seventeen, in three rows."""
    lake = landed(tmp_path, *spelled())
    assert [row[:3] for row in told(lake)] == [
        ("tool_call", "agent", None),
        ("message", "embedding", 7),
        ("final", "agent", 10),
    ]
    assert told(lake)[1][4] == "e"
    assert steps_of(lake).filter(pl.col("actor") == "embedding")["parent_step"].to_list() == [0]
    score(lake)
    assert scores_of(lake)["input_tokens"].to_list() == [17]
    assert scores_of(lake)["n_steps"].to_list() == [2]


def test_phoenix(tmp_path: Path) -> None:
    def row(number: int, kind: str, **more: Any) -> dict[str, Any]:
        return {
            "name": "x", "span_kind": kind, "parent_id": None, "status_code": "OK",
            "start_time": AT.format(number), "end_time": AT.format(number + 1),
            "context.trace_id": "t", "context.span_id": f"s{number}",
            **{f"attributes.{key.replace('__', '.')}": value for key, value in more.items()},
        }  # fmt: skip

    rows = [
        row(1, "EMBEDDING", llm__token_count__prompt=7, llm__cost__total=0.25),
        row(2, "RERANKER", reranker__model_name="r", llm__cost__total=0.5),
        row(3, "LLM", output__value="Done", llm__token_count__prompt=10, llm__cost__total=1.0),
    ]
    path = tmp_path / "s.parquet"
    pl.DataFrame(rows, infer_schema_length=None).write_parquet(path)
    land([path], tmp_path / "lake", workers=1)
    assert told(tmp_path / "lake") == [
        ("message", "embedding", 7, 0.25, None),
        ("message", "reranker", None, 0.5, "r"),
        ("final", "agent", 10, 1.0, None),
    ]


def test_vercels_embedding_is_told_by_two_spans_and_counts_once(tmp_path: Path) -> None:
    def embeds(number: int, name: str, parent: int | None) -> dict[str, Any]:
        used = {"ai__usage__tokens": 7, "ai__model__id": "e"}
        return _flat(number, name, parent, ai__operationId=name, **used)

    lake = landed(
        tmp_path,
        embeds(1, "ai.embedMany", None),
        embeds(2, "ai.embedMany.doEmbed", 1),
        _flat(4, "chat", None, gen_ai__operation__name="chat", gen_ai__completion="Done"),
    )
    assert [row[:3] for row in told(lake)] == [
        ("message", "embedding", 7),
        ("final", "agent", None),
    ]


def test_one_that_used_nothing_is_no_row(tmp_path: Path) -> None:
    kind = "openinference__span__kind"
    lake = landed(
        tmp_path,
        _flat(1, "e", None, **{kind: "EMBEDDING"}),
        _flat(2, "m", None, **{kind: "LLM"}, output__value="Done"),
    )
    assert [row[0] for row in told(lake)] == ["final"]


def test_embeddings_alone_are_no_run(tmp_path: Path) -> None:
    kind = "openinference__span__kind"
    lake = landed(tmp_path, _flat(1, "e", None, **{kind: "EMBEDDING"}, llm__token_count__prompt=7))
    assert runs_of(lake).height == 0


def test_parts_that_land_apart_count_as_those_that_land_together(tmp_path: Path) -> None:
    (whole,) = _genai()
    spans = whole["resourceSpans"][0]["scopeSpans"][0]["spans"]
    again = span(
        "embeddings e", 2, parent="a" * 16, gen_ai__operation__name="embeddings",
        gen_ai__usage__input_tokens=5,
    )  # fmt: skip
    for name, parts in (
        ("whole", [[*spans, again]]),
        ("apart", [[spans[2], again], [spans[0], spans[1]]]),
    ):
        for number, part in enumerate(parts):
            path = tmp_path / f"{name}{number}.json"
            path.write_text(json.dumps(request(*part)))
            land([path], tmp_path / name, workers=1)
    assert [row[2] for row in told(tmp_path / "apart")] == [None, 7, 5, 10]
    assert told(tmp_path / "apart") == told(tmp_path / "whole")


def _embeds(number: int, name: str, parent: int | None, **used: Any) -> dict[str, Any]:
    """Return a span of Vercel's SDK: `ai.embed` around `ai.embed.doEmbed` tells the same."""
    return _flat(number, name, parent, ai__operationId=name, ai__model__id="e", **used)


def _says(number: int, parent: int | None = None, **used: Any) -> dict[str, Any]:
    return _flat(number, "m", parent, openinference__span__kind="LLM", output__value="Done", **used)


def _ranks(number: int, parent: int | None = None, **used: Any) -> dict[str, Any]:
    return _flat(number, "r", parent, openinference__span__kind="RERANKER", **used)


SEVEN = {"ai__usage__tokens": 7}
PROMPT = {"llm__token_count__prompt": 40}
LLM = {**PROMPT, "llm__token_count__completion": 3}
EMBED = _embeds(1, "ai.embed", 8, **SEVEN)
DO_EMBED = _embeds(2, "ai.embed.doEmbed", 1, **SEVEN)
AGENT = _flat(8, "desk", None, gen_ai__operation__name="invoke_agent")
EMBEDDED = [("message", "embedding", 7), ("final", "agent", None)]


def apart(lake: Path, *parts: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    """Land each part as a file, one after the other; return kind, actor, tokens read."""
    for number, part in enumerate(parts):
        path = lake.parent / f"{lake.name}{number}.jsonl"
        path.write_text("".join(json.dumps(record) + "\n" for record in part))
        land([path], lake, workers=1)
    return [row[:3] for row in told(lake)]


@pytest.mark.parametrize(
    "parts",
    [
        [[DO_EMBED, _says(4)], [EMBED, AGENT]],
        [[EMBED, AGENT, _says(4)], [DO_EMBED, _says(4)]],
        [[EMBED, DO_EMBED, _says(4)], [EMBED, AGENT, _says(4)]],
        [[DO_EMBED, _says(4)], [EMBED, AGENT, _says(4)], [EMBED, _says(4)]],
        [[DO_EMBED, _says(4)], [_embeds(1, "ai.embed", 8), AGENT]],
    ],
)
def test_an_embedding_told_by_spans_in_two_parts_counts_once(
    tmp_path: Path, parts: list[list[dict[str, Any]]]
) -> None:
    """Seven tokens, which the span above tells again."""
    assert apart(tmp_path / "whole", [one for part in parts for one in part]) == EMBEDDED
    assert apart(tmp_path / "apart", *parts) == EMBEDDED


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_three_spans_of_an_embedding_in_three_parts(tmp_path: Path, order: tuple[int, ...]) -> None:
    """The innermost takes the cost that only the outermost tells: 7 tokens for 0.25."""
    spans = [
        _embeds(1, "ai.embedMany", None, **SEVEN, gen_ai__usage__cost=0.25),
        _embeds(2, "ai.embedMany.doEmbed", 1, **SEVEN),
        _flat(3, "e", 2, gen_ai__operation__name="embeddings", gen_ai__usage__input_tokens=7),
    ]
    apart(tmp_path / "lake", *([spans[at], _says(5)] for at in order))
    assert told(tmp_path / "lake") == [
        ("message", "embedding", 7, 0.25, "e"),
        ("final", "agent", None, None, None),
    ]


@pytest.mark.parametrize("inner", [LLM, {}])
@pytest.mark.parametrize("cost", [{}, {"llm__cost__total": 0.5}])
def test_a_model_that_ranks_counts_once(
    tmp_path: Path, inner: dict[str, int], cost: dict[str, float]
) -> None:
    """The ranker's 40 tokens are the model's; a cost that both tell is one, too."""
    spans = [_ranks(1, **PROMPT, **cost), _says(2, 1, **inner, **cost)]
    for name, parts in (("whole", [spans]), ("apart", [spans[1:], [spans[0], _says(4)]])):
        read = [row for row in apart(tmp_path / name, *parts) if row[2] is not None]
        assert [row[2] for row in read] == [40]
        costs = [row[3] for row in told(tmp_path / name) if row[3] is not None]
        assert costs == list(cost.values())


def test_a_cost_that_only_the_ranker_tells_stays(tmp_path: Path) -> None:
    spans = [_ranks(1, **PROMPT, llm__cost__total=0.5), _says(2, 1, **LLM)]
    for name, parts in (("whole", [spans]), ("apart", [spans[1:], [spans[0], _says(2, 1, **LLM)]])):
        apart(tmp_path / name, *parts)
        assert [row[:4] for row in told(tmp_path / name)] == [
            ("message", "reranker", None, 0.5),
            ("final", "agent", 40, None),
        ]


def test_an_encoders_time_that_is_none_is_kept(tmp_path: Path) -> None:
    record = {**_ranks(1, **PROMPT), "end_time": "soon"}
    lake = landed(tmp_path, record, _says(2))
    labels = steps_of(lake).filter(pl.col("actor") == "reranker")["labels"].to_list()
    assert [json.loads(one)["unread.ended_at"] for one in labels] == ["soon"]


COST = {"llm__cost__total": 0.5}
RANKED = [
    # A ranker's usage, what spans inside it tell, and what is counted of it: (tokens, cost).
    ([{**PROMPT, **COST}, {}], [{**PROMPT, **COST}], [(40, 0.5)]),
    ([{**PROMPT, **COST}, {}], [PROMPT], [(40, None), (None, 0.5)]),
    ([{**PROMPT, **COST}, {}], [COST], [(40, 0.5)]),
    ([{**PROMPT, **COST}, {}], [], [(40, 0.5)]),
    ([PROMPT, {}], [{}], [(40, None)]),
    ([PROMPT, {}, {}], [], [(40, None)]),
    ([PROMPT, {"llm__token_count__prompt": 7}], [{}], [(7, None)]),
]
"""The usage of a ranker and of those inside it, of models beside these, and all that counts."""


@pytest.mark.parametrize(("rankers", "models", "counted"), RANKED)
def test_a_ranker_around_another_and_a_model_counts_once(
    tmp_path: Path,
    rankers: list[dict[str, Any]],
    models: list[dict[str, Any]],
    counted: list[tuple[Any, ...]],
) -> None:
    outer, *inner = rankers
    spans = [_ranks(1, **outer)]
    spans += [_ranks(number, 1, **used) for number, used in enumerate(inner, 2)]
    spans += [_says(number, 1, **used) for number, used in enumerate(models, 4)]
    end = _says(6)
    apart(tmp_path / "whole", [*spans, end])
    apart(tmp_path / "apart", [*spans[: len(rankers)], end], [*spans[len(rankers) :], end])
    for name in ("whole", "apart"):
        used = [row[2:4] for row in told(tmp_path / name) if row[2:4] != (None, None)]
        assert sorted(used, key=str) == sorted(counted, key=str)


@pytest.mark.parametrize(
    "names", [({}, {"reranker__model_name": "r"}), ({"reranker__model_name": "r"}, {})]
)
@pytest.mark.parametrize("telling", [0, 1])
def test_a_ranker_in_another_names_the_model(tmp_path: Path, names: Any, telling: int) -> None:
    used = [PROMPT if number == telling else {} for number in range(2)]
    spans = [_ranks(1, **used[0], **names[0]), _ranks(2, 1, **used[1], **names[1]), _says(3)]
    apart(tmp_path / "lake", spans)
    assert told(tmp_path / "lake")[0] == ("message", "reranker", 40, None, "r")


def _usage(lake: Path) -> list[tuple[Any, ...]]:
    return [row[1:4] for row in told(lake) if row[2:4] != (None, None)]


@pytest.mark.parametrize("together", [False, True])
@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_two_rankers_around_a_model(
    tmp_path: Path, order: tuple[int, ...], *, together: bool
) -> None:
    """The tokens are the model's, the cost is the outermost's, whichever lands first."""
    spans = [_ranks(1, **PROMPT, **COST), _ranks(2, 1, **PROMPT), _says(3, 2, **LLM)]
    if together:
        spans = [{**one, "start_time": AT.format(1)} for one in spans]
    apart(tmp_path / "lake", *([spans[at], _says(5)] for at in order))
    counted = sorted(_usage(tmp_path / "lake"))
    assert counted == [("agent", 40, None), ("reranker", None, 0.5)]


USED = {"llm__token_count__prompt": 7}
BELOW = [
    # The last model that tells nothing; one that tells; two encoders; one of another number.
    ([_says(2, 1), _says(3, 1)], [("agent", 40)]),
    ([_says(2, 1, **USED), _says(3, 1)], [("agent", 7)]),
    ([_ranks(2, 1, **USED), _ranks(3, 1, **USED)], [("reranker", 7), ("reranker", 7)]),
    ([_ranks(2, 1, **USED)], [("reranker", 7)]),
]


@pytest.mark.parametrize(("below", "counted"), BELOW)
def test_a_ranker_apart_from_what_is_inside_it(
    tmp_path: Path, below: list[dict[str, Any]], counted: list[tuple[Any, ...]]
) -> None:
    outer, end = _ranks(1, **PROMPT, reranker__model_name="r"), _says(6)
    apart(tmp_path / "whole", [outer, *below, end])
    apart(tmp_path / "apart", [outer, end], [*below, end])
    for name in ("whole", "apart"):
        assert [row[:2] for row in _usage(tmp_path / name)] == counted
    assert told(tmp_path / "apart") == told(tmp_path / "whole")


def test_two_encoders_inside_each_other_count_once(tmp_path: Path) -> None:
    spans = [_ranks(1, 2, **USED), _ranks(2, 1, **USED)]
    apart(tmp_path / "whole", [*spans, _says(4)])
    apart(tmp_path / "apart", [spans[0], _says(4)], [spans[1], _says(4)])
    assert _usage(tmp_path / "whole") == _usage(tmp_path / "apart") == [("reranker", 7, None)]


@pytest.mark.parametrize(("name", "actor"), [("desk", "agent"), ("reranker", "reranker")])
def test_an_embedding_inside_a_models_span(tmp_path: Path, name: str, actor: str) -> None:
    """Neither what a user said nor an agent that is called a reranker is one."""
    agents = [
        _flat(1, "a", None, gen_ai__operation__name="invoke_agent", gen_ai__agent__name="desk"),
        _flat(2, "a", 1, gen_ai__operation__name="invoke_agent", gen_ai__agent__name=name),
    ]
    asked = [{"role": "user", "content": "Hi"}]
    model = _says(3, 2, input__value=json.dumps({"messages": asked}))
    used = _embeds(4, "ai.embed", 3, **SEVEN)
    apart(tmp_path / "lake", [*agents, model], [used, _says(6)])
    assert [row[:2] for row in told(tmp_path / "lake")] == [
        ("llm_call", actor), ("message", "embedding"), ("final", "agent")
    ]  # fmt: skip
