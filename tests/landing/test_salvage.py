"""Of a document of many records, those that cannot land are refused, each where it stands."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from making import runs_of

from pipeline.errors import InputError, RejectedError
from pipeline.lake import Lake
from pipeline.landing.land import land
from pipeline.landing.model import Damage, RejectError
from pipeline.landing.records.reader import Piece
from pipeline.landing.records.salvage import of_array, salvaged

if TYPE_CHECKING:
    from pathlib import Path

TURN = {
    "user_content": {"parts": [{"text": "q"}]},
    "final_response": {"parts": [{"text": "a"}]},
    "intermediate_data": {"tool_uses": [{"name": "f", "args": {"a": 1.0}}]},
}


def _case(name: Any) -> dict[str, Any]:
    return {"eval_id": name, "conversation": [TURN]}


def _result(name: Any, **more: Any) -> dict[str, Any]:
    turns = [{"actual_invocation": TURN, "expected_invocation": TURN}]
    made = {"eval_id": name, "session_id": f"s-{name}", "final_eval_status": 1}
    return made | {"eval_metric_result_per_invocation": turns} | more


def _query(*details: tuple[str, str]) -> dict[str, Any]:
    said = [{"role": role, "message": message, "next": []} for role, message in details]
    return {"query": "q", "available_tools": [], "answer": {"answer_details": said}}


def _legacy(name: str, query: Any) -> dict[str, Any]:
    return {"name": name, "data": [{"query": query, "expected_tool_use": []}]}


DOCUMENTS = {
    "adk_evalset": {"eval_set_id": "s", "eval_cases": [_case("a"), _case(3), _case("b")]},
    "adk_evalset_camel": {"evalSetId": "s", "evalCases": [_case("a"), _case(3), _case("b")]},
    "adk_evalset_result": {
        "eval_set_id": "s",
        "eval_case_results": [_result("a"), _result("x", final_eval_status={}), _result("b")],
    },
    "adk_eval_legacy": [_legacy("a", "q"), _legacy("x", 3), _legacy("b", "q")],
    "adk_eval_legacy_null": [_legacy("a", "q"), None, _legacy("b", "q")],
    "toolbench_tooleval": {
        "a": _query(("assistant", "Hi")),
        "x": _query(("tool", "names no tool")),
        "b": _query(("assistant", "Hi")),
    },
}


def _written(tmp_path: Path, document: Any) -> Path:
    path = tmp_path / "log.json"
    path.write_text(json.dumps(document, indent=1))
    return path


def _tasks(lake: Path) -> list[str]:
    files = [one.file("tasks") for one in Lake.open(lake).tasks()]
    return sorted(pl.concat([pl.read_parquet(file) for file in files])["task_id"])


def _rejects(lake: Path) -> pl.DataFrame:
    files = [one.file("rejects") for one in Lake.open(lake).batches() if one.rows("rejects")]
    return pl.concat([pl.read_parquet(file) for file in files])


@pytest.mark.parametrize("name", DOCUMENTS)
def test_the_good_records_land(name: str, tmp_path: Path) -> None:
    path, lake = _written(tmp_path, DOCUMENTS[name]), tmp_path / "lake"
    report = land([path], lake, workers=1)
    assert report.rejects.total() == 1
    assert _tasks(lake) == ["a", "b"]
    ran = [] if name.startswith("adk_eval") and "result" not in name else ["a", "b"]
    found = runs_of(lake)["task_id"].to_list() if ran else []
    assert sorted(found) == ran
    assert report.runs == len(ran)
    (reject,) = _rejects(lake).rows(named=True)
    text, at = path.read_text(), reject["byte_offset"]
    refused, _ = json.JSONDecoder().raw_decode(text[at:])
    assert refused == _second(DOCUMENTS[name])
    assert reject["line"] == text.count("\n", 0, at) + 1


def _second(document: Any) -> Any:
    """Return the second record: of a list, of the list an object holds, or of the object."""
    held = document.values() if isinstance(document, dict) else [document]
    lists = [value for value in held if isinstance(value, list)]
    return lists[0][1] if lists else document["x"]


@pytest.mark.parametrize("name", DOCUMENTS)
def test_strict_stops_there(name: str, tmp_path: Path) -> None:
    with pytest.raises(RejectedError, match=r"log\.json"):
        land([_written(tmp_path, DOCUMENTS[name])], tmp_path / "lake", workers=1, strict=True)


@pytest.mark.parametrize(
    ("error", "reason"), [(ZeroDivisionError("x"), "unreadable"), (RecursionError(), "too_deep")]
)
def test_what_no_format_foresaw_costs_its_record_alone(error: Exception, reason: str) -> None:
    def decode(data: bytes) -> list[int]:
        records = json.loads(data)
        if None in records:
            raise error
        return [*records]

    found = salvaged(Piece(b"[1,null,2]", 1, 0), of_array, decode)
    assert found == [1, 2, Damage(1, 3, reason, found[-1].detail, b"null")]


@pytest.mark.parametrize("error", [MemoryError(), InputError("no fault of the record")])
def test_what_is_no_fault_of_a_record_is_raised(error: Exception) -> None:
    def decode(_data: bytes) -> list[int]:
        raise error

    with pytest.raises(type(error)):
        salvaged(Piece(b"[1,2]", 1, 0), of_array, decode)


def test_a_document_without_a_good_record_is_one_reject(tmp_path: Path) -> None:
    path = _written(tmp_path, {"eval_set_id": [], "eval_cases": [_case("a"), _case("b")]})
    report = land([path], tmp_path / "lake", workers=1)
    assert report.rejects == {"wrong_type": 1}


def test_records_that_tell_of_each_other_still_do(tmp_path: Path) -> None:
    """Two results of one case are its trials 0 and 1, whatever is refused between them."""
    bad = _result("x", final_eval_status={})
    again = _result("a") | {"session_id": "other"}
    document = {"eval_set_id": "s", "eval_case_results": [_result("a"), bad, again]}
    land([_written(tmp_path, document)], tmp_path / "lake", workers=1)
    assert sorted(runs_of(tmp_path / "lake")["trial"]) == [0, 1]


def test_one_bad_record_among_many_costs_a_few_decodings_of_what_they_share() -> None:
    """1,000 records: 2 for each of 10 halvings, and the document, its beside, and the good ones."""
    decoded = []

    def decode(data: bytes) -> list[int]:
        decoded.append(data)
        records = json.loads(data)["records"]
        if None in records:
            raise RejectError("wrong_type", "null")
        return [record["n"] for record in records]

    records = [{"n": n} for n in range(1000)]
    document = json.dumps({"records": [*records[:700], None, *records[700:]], "beside": "x"})
    found = salvaged(Piece(document.encode(), 1, 0), lambda one: of_array(one, "records"), decode)
    assert found[:-1] == list(range(1000))
    assert isinstance(found[-1], Damage)
    assert len(decoded) <= 24
