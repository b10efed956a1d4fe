"""What tracers say and no vocabulary reads becomes labels: of the step, of the run, once."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from making import runs_of, steps_of
from reading import SAMPLES
from tracing import agent, chat, lines, pairs, request, span, tool, user

from pipeline.landing.land import land
from pipeline.landing.traces.unread import unread

if TYPE_CHECKING:
    from pathlib import Path

SPANS = [
    agent("desk", id="00000000000000aa", tenant="acme"),
    chat(1, "Hi", [user("Go")], id="00000000000000c1", parent="00000000000000aa", gen_ai__request__temperature=0.5, note="x" * 5000),
    tool("f", 2, {"x": 1}, id="00000000000000f1", parent="00000000000000aa", retries=2),
    span("GET", 3, id="00000000000000e1", parent="00000000000000aa", http__url="http://a", shard=7),
]  # fmt: skip


def labels_of(lake: Path) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """Return the labels of the one run, and of its steps by kind."""
    (run,) = runs_of(lake)["labels"].to_list()
    steps = steps_of(lake).select("kind", "labels").rows()
    return json.loads(run or "{}"), {kind: json.loads(text or "{}") for kind, text in steps}


def landed(tmp_path: Path, *records: Any) -> Path:
    land([lines(tmp_path / "log.jsonl", *records)], tmp_path / "lake")
    return tmp_path / "lake"


def test_attributes_of_spans_and_resources(tmp_path: Path) -> None:
    told = request(*SPANS, service__name="desk", deployment__environment="prod", host__name="h")
    run, steps = labels_of(landed(tmp_path, told))
    assert run == {
        "service": "desk",
        "resource.deployment.environment": "prod",
        "spans.tenant": "acme",
        "spans.shard": 7,
    }
    own = {
        name: value for name, value in steps["llm_call"].items() if name not in {"span_id", "model"}
    }
    assert own == {"gen_ai.request.temperature": 0.5, "note": "[5002 bytes, not kept]"}
    assert steps["tool_call"].items() >= {"retries": 2}.items()
    assert "Go" not in json.dumps([run, steps])


@pytest.mark.parametrize("indent", [None, 1])
def test_what_stands_around_spans(tmp_path: Path, indent: int | None) -> None:
    """Of exports a line, and of a long document: an unknown member is told once."""
    told = deepcopy(request(*SPANS))
    told["resourceSpans"][0]["zone"] = "eu"
    told["resourceSpans"][0]["scopeSpans"][0]["library"] = {"name": "l"}
    told["resourceSpans"][0]["resource"]["ref"] = "r"
    told["resourceSpans"][0]["scopeSpans"][0]["spans"][1]["priority"] = 3
    path = tmp_path / "log.json"
    path.write_text(json.dumps(told, indent=indent))
    report = land([path], tmp_path / "lake")
    run, steps = labels_of(tmp_path / "lake")
    wanted = {
        "resource.zone": "eu",
        "resource.scopeSpans.library": {"name": "l"},
        "resource.ref": "r",
    }
    assert run.items() >= wanted.items()
    assert steps["llm_call"]["priority"] == 3
    assert report.unmapped["otlp"].keys() >= {*wanted, "priority"}
    plain = tmp_path / "plain"
    plain.mkdir()
    columns = ["kind", "tool_name", "tool_args", "content", "started_at"]
    found, without = (steps_of(lake).select(columns) for lake in (tmp_path / "lake", landed(plain, request(*SPANS))))  # fmt: skip
    assert found.equals(without)


def test_what_evaluations_made_of_a_run(tmp_path: Path) -> None:
    record = {
        "traceId": SPANS[0]["traceId"], "spanId": SPANS[0]["spanId"], "timeUnixNano": "1",
        "attributes": pairs({"event.name": "gen_ai.evaluation.result", "gen_ai.evaluation.name": "relevance", "gen_ai.evaluation.score.value": 0.5}),
    }  # fmt: skip
    logs = {"resourceLogs": [{"resource": {}, "scopeLogs": [{"logRecords": [record]}]}]}
    run, _ = labels_of(landed(tmp_path, request(*SPANS), logs))
    assert run["score.relevance"] == 0.5


def test_jaegers_exports(tmp_path: Path) -> None:
    document = json.loads((SAMPLES / "jaeger" / "helpdesk.json").read_text())
    document["cluster"] = "a"
    document["data"][0]["zone"] = "eu"
    path = tmp_path / "log.json"
    path.write_text(json.dumps(document))
    land([path], tmp_path / "lake")
    told = [json.loads(text) for text in runs_of(tmp_path / "lake")["labels"]]
    assert all(labels["cluster"] == "a" for labels in told)
    assert [labels.get("zone") for labels in told].count("eu") == 1
    path.write_text(json.dumps(document) + json.dumps(document).replace("0", "1"))
    land([path], tmp_path / "two")
    assert all("cluster" in text for text in runs_of(tmp_path / "two")["labels"])


def test_langfuses_observations_and_pages(tmp_path: Path) -> None:
    said = {"role": "assistant", "content": "Hi", "mood": "calm"}
    observation = {
        "id": "o", "traceId": "t", "type": "GENERATION", "name": "chat", "startTime": "2026-01-01T08:00:00Z",
        "promptName": "greet", "latency": 1.5, "input": [{"role": "user", "content": "Go"}], "output": said,
        "usageDetails": {"input": 3, "output": 1, "reasoning": 2}, "metadata": {"tier": "gold", "attributes": {"shard": 7, "gen_ai.prompt": "Go"}},
    }  # fmt: skip
    page = {"data": [{"id": "t", "name": "a", "timestamp": "2026-01-01T08:00:00Z", "observations": [observation], "region": "eu", "metadata": {"team": "x"}}], "meta": {}, "cursor": "c"}  # fmt: skip
    run, steps = labels_of(landed(tmp_path, page))
    assert run == {"team": "x", "region": "eu", "cursor": "c"}
    told = {k: v for k, v in steps["final"].items() if k not in {"span_id", "model"}}
    assert told == {
        "promptName": "greet",
        "usageDetails.reasoning": 2,
        "metadata.tier": "gold",
        "shard": 7,
        "output.mood": "calm",
    }


def test_langsmiths_runs(tmp_path: Path) -> None:
    def told(number: int, kind: str, **more: Any) -> dict[str, Any]:
        parent = None if number == 1 else "r1"
        return {"id": f"r{number}", "trace_id": "r1", "parent_run_id": parent, "run_type": kind, "name": "x", "start_time": "2026-01-01T08:00:00", "end_time": "2026-01-01T08:00:01", **more}  # fmt: skip

    message = {"lc": 1, "type": "constructor", "id": ["AIMessage"], "kwargs": {"content": "Hi", "mood": "calm"}}  # fmt: skip
    run, steps = labels_of(
        landed(
            tmp_path,
            told(1, "chain", inputs={"question": "Go"}, extra={"metadata": {"tier": "gold"}}),
            told(
                2,
                "llm",
                region="eu",
                inputs={"messages": [[message]], "cache": "on"},
                outputs={"generations": [[{"message": message, "safety": 1}]]},
                extra={
                    "metadata": {"shard": 7, "ls_provider": "p"},
                    "queue": "q",
                    "runtime": {"os": "x"},
                },
            ),
        )
    )
    assert run == {"tier": "gold"}
    told_of = {k: v for k, v in steps["final"].items() if k not in {"span_id", "model"}}
    assert told_of == {
        "region": "eu",
        "metadata.shard": 7,
        "extra.queue": "q",
        "inputs.cache": "on",
        "inputs.messages.mood": "calm",
        "outputs.generations.safety": 1,
        "outputs.generations.message.mood": "calm",
    }


def test_phoenixs_columns(tmp_path: Path) -> None:
    source = SAMPLES / "phoenix" / "invoice_desk.parquet"
    rows = pl.read_parquet(source)
    path = tmp_path / "spans.parquet"
    rows.with_columns(
        pl.lit("eu").alias("region"), pl.lit(0.5).alias("attributes.llm.temperature")
    ).write_parquet(path)
    land([path], tmp_path / "lake")
    land([source], tmp_path / "plain")
    steps = steps_of(tmp_path / "lake").filter(pl.col("kind") != "message")
    assert all('"region":"eu"' in text for text in steps["labels"])
    assert all('"llm.temperature":0.5' in text for text in steps["labels"])
    columns = ["kind", "tool_name", "content", "output"]
    plain = steps_of(tmp_path / "plain").select(columns)
    assert steps_of(tmp_path / "lake").select(columns).equals(plain)


def test_names_of_attributes() -> None:
    """What is left out is left out with all its parts; nothing else that begins alike."""
    given = {"gen_ai.prompt.0.role": 1, "gen_ai.prompts": 2, "http": 3, "https.on": 4, "user.id": 5}
    assert unread({**given, "user.id.kind": 6, "none": None}).keys() == {
        "gen_ai.prompts",
        "https.on",
        "user.id.kind",
    }


def test_a_document_of_otlp_and_an_empty_export(tmp_path: Path) -> None:
    path = tmp_path / "log.json"
    path.write_text(json.dumps({**request(*SPANS), "cluster": "a"}, indent=1))
    land([path], tmp_path / "lake")
    run, _ = labels_of(tmp_path / "lake")
    assert run["cluster"] == "a"
    empty = tmp_path / "empty"
    empty.mkdir()
    assert land([lines(empty / "log.jsonl", {"resourceSpans": []}, request(*SPANS))], empty / "lake").rejects == {}  # fmt: skip
