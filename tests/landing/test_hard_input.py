"""Input no writer should write: it lands exactly, or is one reject that says where and why."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import polars as pl
import pytest
from making import call, run, runs_of, steps_of
from reading import SAMPLES

from pipeline.errors import RejectedError, UnrecognisedError
from pipeline.lake import Lake
from pipeline.landing.batch import chunks
from pipeline.landing.land import land
from pipeline.landing.model import REASONS

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

GOOD = json.dumps(run("good", call("a"))).encode()
LAST = json.dumps(run("last", call("b"))).encode()


def rejects_of(lake: Path) -> list[tuple[str, int, int, str]]:
    files = [batch.file("rejects") for batch in Lake.open(lake).batches() if batch.rows("rejects")]
    told = "source_path", "line", "byte_offset", "reason"
    return [row for file in files for row in pl.read_parquet(file).select(told).rows()]


def landed(tmp_path: Path, data: bytes, name: str = "log.jsonl") -> Path:
    tmp_path.mkdir(exist_ok=True)
    (tmp_path / name).write_bytes(data)
    land([tmp_path / name], tmp_path / "lake", workers=1)
    return tmp_path / "lake"


def ids(lake: Path) -> list[str]:
    return runs_of(lake)["run_id"].to_list()


REFUSED = {
    "NaN": (b'{"run_id":"x","reward":NaN,"steps":[]}', "nan_or_infinity"),
    "Infinity": (b'{"run_id":"x","final_state":[Infinity],"steps":[]}', "nan_or_infinity"),
    "-Infinity": (b'{"run_id":"x","final_state":-Infinity,"steps":[]}', "nan_or_infinity"),
    "1e999": (b'{"run_id":"x","reward":1e999,"steps":[]}', "number_out_of_range"),
    "lone high surrogate": (b'{"run_id":"x\\ud83d","steps":[]}', "lone_surrogate"),
    "lone low surrogate": (b'{"run_id":"x\\ude00","steps":[]}', "lone_surrogate"),
    "surrogate in UTF-8": (b'{"run_id":"\xed\xa0\x80","steps":[]}', "invalid_utf8"),
    "NUL in a string": (b'{"run_id":"x\0","steps":[]}', "control_character"),
    "NUL for text": (b"\0\0\0\0", "not_json"),
    "100,000 deep": (b'{"steps":[],"final_state":' + b"[" * 100_000, "too_deep"),
    "text after": (b'{"run_id":"x","steps":[]} and more', "trailing_data"),
    "half a second": (b'{"run_id":"x"}', "missing_field"),
}


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.parametrize("end", [b"\n", b"\r\n"], ids=["LF", "CRLF"])
def test_refused_alone(tmp_path: Path, name: str, end: bytes) -> None:
    line, reason = REFUSED[name]
    lake = landed(tmp_path, end.join([GOOD, line, LAST, b""]))
    assert ids(lake) == ["good", "last"]
    where = (str(tmp_path / "log.jsonl"), 2, len(GOOD) + len(end), reason)
    assert rejects_of(lake) == [where]
    assert reason in REASONS
    with pytest.raises(RejectedError, match=rf"log\.jsonl:2: {reason}: "):
        land([tmp_path / "log.jsonl"], tmp_path / "strict", strict=True)


CUT = {
    "a member cut off": b'{"run_id":"x","steps":[]',
    "an array cut off": b'[{"run_id":"x"},{"steps"',
}
LATIN = {"Latin-1": b'{"run_id":"x","agent":"\xe9","steps":[]}'}


@pytest.mark.parametrize("line", [*(line for line, _ in REFUSED.values()), *CUT.values(), *LATIN.values()], ids=[*REFUSED, *CUT, *LATIN])  # fmt: skip
def test_a_first_line_refused_alone(tmp_path: Path, line: bytes) -> None:
    """A file is not taken for one damaged document because its first line is damaged."""
    lake = landed(tmp_path, b"\n".join([line, GOOD, LAST, b""]))
    assert ids(lake) == ["good", "last"]
    assert [row[1:3] for row in rejects_of(lake)] == [(1, 0)]


def test_each_line_in_another_encoding_is_refused_by_itself(tmp_path: Path) -> None:
    lines = [line.replace(b'"steps"', b'"agent":"\xe9","steps"') for line in (GOOD, LAST)]
    lake = landed(tmp_path, b"\n".join([*lines, b""]))
    assert [row[1::2] for row in rejects_of(lake)] == [(1, "invalid_utf8"), (2, "invalid_utf8")]


@pytest.mark.parametrize("cut", [1, 5, len(LAST) - 1])
def test_a_last_line_cut_off(tmp_path: Path, cut: int) -> None:
    lake = landed(tmp_path, GOOD + b"\n" + LAST[:cut])
    assert ids(lake) == ["good"]
    assert [row[1:] for row in rejects_of(lake)] == [(2, len(GOOD) + 1, "truncated")]


def test_an_expected_argument_no_double_can_hold_costs_no_run(tmp_path: Path) -> None:
    """It lands like an actual one, in one list of calls and in several."""
    calls = b'[{"tool_name":"f","tool_args":{"x":1e400}}]'
    line = b'{"run_id":"%b","steps":[],"expected":%b}'
    lake = landed(
        tmp_path, b"\n".join([line % (b"a", calls), line % (b"b", b" [ %b , [] ]" % calls)])
    )
    assert ids(lake) == ["a", "b"]
    assert rejects_of(lake) == []


def args_of(lake: Path) -> str:
    return str(steps_of(lake)["tool_args"].item())


def called(text: str) -> bytes:
    step = b'{"kind":"tool_call","tool_name":"a","tool_args":%b}' % text.encode()
    return b'{"run_id":"x","steps":[%b]}' % step


@pytest.mark.parametrize("number", [2**64, 2**64 + 1, -(2**63) - 1, 2**53 + 1, 10**400 + 7])
def test_integers_of_any_length_land_exactly(tmp_path: Path, number: int) -> None:
    text = f'{{"n":{number}}}'
    assert args_of(landed(tmp_path, called(text))) == text


def test_the_last_of_equal_keys_wins(tmp_path: Path) -> None:
    line = called('{"k":1,"k":{"a":1,"a":2}}').replace(b'"x"', b'"w","run_id":"x"')
    lake = landed(tmp_path, line)
    assert ids(lake) == ["x"]
    assert args_of(lake) == '{"k":{"a":2}}'


def test_a_thousand_deep_lands_or_is_refused(tmp_path: Path) -> None:
    """How deep is read depends on the interpreter's stack: never a crash, never a loss."""
    deep = '{"k":' + "[" * 1000 + "]" * 1000 + "}"
    lake = landed(tmp_path, b"\n".join([GOOD, called(deep)]))
    if rejects_of(lake):
        assert [row[1:] for row in rejects_of(lake)] == [(2, len(GOOD) + 1, "too_deep")]
        assert ids(lake) == ["good"]
    else:
        assert deep in steps_of(lake)["tool_args"].to_list()


@pytest.mark.parametrize("text", ["a\u0000b", "\ud83d\ude00", "\u2028\u2029\x85\x0b\x0c", "\ufeff"])
def test_escaped_text_lands_exactly(tmp_path: Path, text: str) -> None:
    text = text.encode("utf-16", "surrogatepass").decode("utf-16")
    for escaped in (True, False) if text.isprintable() else (True,):
        step = {"kind": "final", "content": text}
        line = json.dumps(run(f"x{escaped}", step), ensure_ascii=escaped)
        lake = landed(tmp_path, line.encode(), f"{escaped}.jsonl")
        assert set(steps_of(lake)["content"]) == {text}


def test_separators_of_other_alphabets_end_no_line(tmp_path: Path) -> None:
    """U+2028 and U+0085 stand raw inside strings; only a line feed ends a line."""
    text = "one\u2028two\x85three"
    line = json.dumps(run("x", {"kind": "final", "content": text}), ensure_ascii=False)
    lake = landed(tmp_path, GOOD + b"\n" + line.encode() + b"\n" + LAST)
    assert ids(lake) == ["good", "last", "x"]
    assert steps_of(lake).filter(run_id="x")["content"].to_list() == [text]


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"], ids=["bare", "BOM"])
@pytest.mark.parametrize("end", [b"\n", b"\r\n"], ids=["LF", "CRLF"])
def test_offsets_count_every_byte(tmp_path: Path, mark: bytes, end: bytes) -> None:
    lake = landed(tmp_path, mark + GOOD + end + end + b"  oops" + end)
    begin = len(mark) + len(GOOD) + 2 * len(end) + 2
    assert ids(lake) == ["good"]
    assert [row[1:] for row in rejects_of(lake)] == [(3, begin, "not_json")]


WIDE = ["utf-16", "utf-16-be", "utf-16-le", "utf-32", "utf-32-be", "utf-32-le"]


@pytest.mark.parametrize("encoding", WIDE)
@pytest.mark.parametrize("end", ["\n", "\r\n"], ids=["LF", "CRLF"])
def test_wider_encodings_land_as_utf_8_does(tmp_path: Path, encoding: str, end: str) -> None:
    """Over the edges of blocks, too: characters of two and of four bytes, of one unit and of two."""
    text = "caf\u00e9 \u4f60 \U0001f600 " * 9000
    line = json.dumps(run("x", {"kind": "final", "content": text}), ensure_ascii=False)
    written = end.join([GOOD.decode(), line, "oops", LAST.decode()])
    narrow = landed(tmp_path, written.encode(), "utf-8.jsonl")
    wide = landed(tmp_path, written.encode(encoding), f"{encoding}.jsonl")
    assert ids(wide) == ["good", "last", "x"]
    assert steps_of(wide).filter(run_id="x")["content"].item() == text
    assert [row[1:] for row in rejects_of(wide)] == [row[1:] for row in rejects_of(narrow)]


@pytest.mark.parametrize(
    ("encoding", "broken"),
    [
        ("utf-16-le", b"\x00\xd8"),  # the first of a pair, and no second
        ("utf-16-be", b"\xdc\x00"),  # the second of none
        ("utf-32-le", b"\x00\x00\x11\x00"),  # beyond the last character
    ],
)
def test_what_is_no_character_costs_its_record_alone(
    tmp_path: Path, encoding: str, broken: bytes
) -> None:
    begin, end = (
        '{"run_id":"x","steps":[],"final_output":"'.encode(encoding),
        '"}\n'.encode(encoding),
    )
    lines = [(line.decode() + "\n").encode(encoding) for line in (GOOD, LAST)]
    lake = landed(tmp_path, lines[0] + begin + broken + end + lines[1])
    assert ids(lake) == ["good", "last"]
    assert [row[1:] for row in rejects_of(lake)] == [(2, len(GOOD) + 1, "invalid_utf8")]


def test_wide_text_that_ends_inside_a_character_costs_its_last_record(tmp_path: Path) -> None:
    text = (GOOD + b"\n" + LAST).decode().encode("utf-16")
    lake = landed(tmp_path, text[:-1])
    assert ids(lake) == ["good"]
    assert [row[1:] for row in rejects_of(lake)] == [(2, len(GOOD) + 1, "invalid_utf8")]


def test_a_long_line_lands_exactly(tmp_path: Path) -> None:
    text = "0123456789abcdef" * (20 << 16)  # 20 MB
    line = json.dumps(run("long", {"kind": "final", "content": text}))
    lake = landed(tmp_path, GOOD + b"\n" + line.encode() + b"\n" + LAST)
    assert ids(lake) == ["good", "last", "long"]
    assert steps_of(lake).filter(run_id="long")["content"].item() == text


@pytest.mark.slow
def test_a_line_of_100_mb_comes_first(tmp_path: Path) -> None:
    text = "x" * 100_000_000
    line = json.dumps(run("long", {"kind": "final", "content": text}))
    lake = landed(tmp_path, line.encode() + b"\n" + LAST)
    assert ids(lake) == ["last", "long"]
    assert steps_of(lake).filter(run_id="long")["content"].str.len_bytes().item() == 100_000_000


def test_a_long_line_that_is_broken_is_one_reject(tmp_path: Path) -> None:
    line = b'{"run_id":"x","steps":[],"final_output":"' + b"x" * (20 << 20)
    lake = landed(tmp_path, GOOD + b"\n" + line + b"\n" + LAST)
    assert ids(lake) == ["good", "last"]
    assert [row[1:] for row in rejects_of(lake)] == [(2, len(GOOD) + 1, "truncated")]


@pytest.mark.parametrize("between", [b"", b" "])
def test_two_values_on_one_line_both_land(tmp_path: Path, between: bytes) -> None:
    lake = landed(tmp_path, GOOD + between + LAST + b"\n" + GOOD.replace(b"good", b"next") + b"\n")
    assert ids(lake) == ["good", "last", "next"]
    assert rejects_of(lake) == []


CHAT = b'{"messages":[{"role":"user","content":"}{"},{"role":"assistant","content":"ho"}]}'


@pytest.mark.parametrize("batch", [2, 1 << 16])
def test_glued_values_are_counted_as_often_as_they_occur(
    tmp_path: Path, batch: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where some of them land in another batch."""
    monkeypatch.setattr(chunks, "MOST_RECORDS", batch)
    other = CHAT.replace(b"ho", b"hi")
    log = [CHAT, other, CHAT + CHAT, CHAT + b" " + CHAT, CHAT, CHAT.replace(b"ho", b"hm")]
    lake = landed(tmp_path, b"\n".join(log))
    assert runs_of(lake)["run_id"].n_unique() == runs_of(lake).height == 8
    assert set(steps_of(lake)["content"]) == {"}{", "ho", "hi", "hm"}


def test_a_printed_document_may_begin_behind_a_value(tmp_path: Path) -> None:
    lake = landed(tmp_path, CHAT + b"\n" + CHAT + json.dumps(json.loads(CHAT), indent=1).encode())
    assert sorted(runs_of(lake)["source_line"]) == [1, 2, 2]
    assert rejects_of(lake) == []


def test_a_half_value_glued_to_a_whole_one(tmp_path: Path) -> None:
    lake = landed(tmp_path, GOOD + LAST[:20] + b"\n" + LAST + b"\n")
    assert ids(lake) == ["good", "last"]
    assert [row[1:] for row in rejects_of(lake)] == [(1, len(GOOD), "truncated")]


def test_names_say_nothing_of_content(tmp_path: Path) -> None:
    """JSON lines called .json; one indented document, and one array, called .jsonl."""
    landed(tmp_path, GOOD + b"\n" + LAST, "lines.json")
    document = json.dumps(run("document", call("a")), indent=2).encode()
    landed(tmp_path, document, "document.jsonl")
    array = json.dumps([run("one"), run("two")], indent=2).encode()
    lake = landed(tmp_path, array, "array.jsonl")
    assert ids(lake) == ["document", "good", "last", "one", "two"]
    assert rejects_of(lake) == []


@pytest.mark.parametrize("ends", ["\n", "\r\n\r\n", ""])
def test_documents_printed_one_after_the_other(tmp_path: Path, ends: str) -> None:
    """As `jq` and exporters to a console print them: none is lost, and a cut one alone."""
    texts = [json.dumps(json.loads(line), indent=2) for line in (GOOD, LAST)]
    assert ids(landed(tmp_path, ends.join(texts).encode())) == ["good", "last"]
    lake = landed(tmp_path / "new", "\n".join([texts[0][:-20], texts[1]]).encode())
    assert ids(lake) == ["last"]
    assert [row[1:] for row in rejects_of(lake)] == [(1, 0, "truncated")]


def test_arrays_printed_one_after_the_other(tmp_path: Path) -> None:
    text = "\n".join(json.dumps([json.loads(line)], indent=2) for line in (GOOD, LAST))
    assert ids(landed(tmp_path, text.encode())) == ["good", "last"]


def test_a_file_that_is_one_json_string(tmp_path: Path, real_data: Callable[[str], Path]) -> None:
    """As one framework wrote its evaluation results: the document, spelled as a JSON string."""
    files = sorted(real_data("adk_evalset_result").rglob("*.json"))
    plain = next(file for file in files if file.read_bytes().lstrip()[:1] == b"{")
    document = json.dumps(plain.read_text())
    lake = landed(tmp_path, document.encode(), "result.json")
    land([plain], tmp_path / "plain")
    assert ids(lake)
    told = ["task_id", "status", "n_rows"]
    assert runs_of(lake).select(told).equals(runs_of(tmp_path / "plain").select(told))


@pytest.mark.parametrize("text", ["{}\n{}", "[{}, {}]"], ids=["lines", "array"])
@pytest.mark.parametrize("times", [1, 2])
def test_any_log_may_be_spelled_as_a_json_string(tmp_path: Path, text: str, times: int) -> None:
    data = text.replace("{}", "%s") % (GOOD.decode(), LAST.decode())
    for _ in range(times):
        data = json.dumps(data)
    lake = landed(tmp_path, b"\xef\xbb\xbf" + data.encode() + b"\n", "log.json")
    assert ids(lake) == ["good", "last"]


def test_a_string_that_is_cut_off_is_no_log(tmp_path: Path) -> None:
    with pytest.raises(UnrecognisedError, match=r"log\.json: "):
        landed(tmp_path, json.dumps(GOOD.decode())[:-5].encode(), "log.json")


def test_bytes_that_are_no_text_are_no_log(tmp_path: Path) -> None:
    (tmp_path / "log.bin").write_bytes(bytes(range(256)) * 100)
    with pytest.raises(UnrecognisedError, match=r"log\.bin: line 1 is no JSON"):
        land([tmp_path / "log.bin"], tmp_path / "lake")


def test_batches_of_a_tracer_one_per_line(tmp_path: Path) -> None:
    def batch(name: str) -> str:
        trace = {"object": "trace", "id": f"trace_{name}", "workflow_name": name}
        data = {"type": "function", "name": "f", "input": "{}", "output": "ok"}
        span = {"object": "trace.span", "id": f"span_{name}", "trace_id": trace["id"], "span_data": data}  # fmt: skip
        return json.dumps({"data": [trace, span]})

    assert len(ids(landed(tmp_path, "\n".join([batch("a"), batch("b")]).encode()))) == 2


def test_a_long_first_line_hides_no_other(tmp_path: Path) -> None:
    """The head of the file shows its first line alone."""

    def export(name: str, note: str) -> str:
        tags = [{"key": "gen_ai.operation.name", "value": "chat"}, {"key": "note", "value": note}]
        span = {"traceID": name * 32, "spanID": name * 16, "operationName": "chat", "startTime": 1, "duration": 1, "tags": tags}  # fmt: skip
        return json.dumps({"data": [{"traceID": name * 32, "spans": [span]}]})

    assert (
        len(ids(landed(tmp_path, f"{export('a', 'x' * 300_000)}\n{export('b', '')}".encode()))) == 2
    )


@pytest.mark.parametrize("ends", ["", "\n"])
@pytest.mark.parametrize("bad", [b"{bad}", b'{"run_id": "x\0"}', b'{"run_id": "\\q"}', b"NaN"])
def test_an_array_is_recognised_though_an_element_is_damaged(
    tmp_path: Path, bad: bytes, ends: str
) -> None:
    lake = landed(
        tmp_path, b"[" + (b"," + ends.encode()).join([GOOD, bad, LAST]) + b"]", "log.json"
    )
    assert ids(lake) == ["good", "last"]
    assert len(rejects_of(lake)) == 1


def test_a_document_is_recognised_though_an_element_is_damaged(tmp_path: Path) -> None:
    text = (SAMPLES / "tau2_results/hotel_concierge.json").read_text()
    assert text.count('"termination_reason": "user_stop"') > 1
    damaged = text.replace(
        '"termination_reason": "user_stop"', '"termination_reason": user_stop', 1
    )
    (tmp_path / "whole.json").write_text(text)
    (tmp_path / "damaged.json").write_text(damaged)
    whole, less = (
        land([tmp_path / n], tmp_path / f"{n}.lake") for n in ("whole.json", "damaged.json")
    )
    assert (less.runs, less.rejects.total()) == (whole.runs - 1, 1)


def test_old_line_ends_and_commas_behind_lines(tmp_path: Path) -> None:
    assert ids(landed(tmp_path / "cr", GOOD + b"\r" + LAST + b"\r")) == ["good", "last"]
    lake = landed(tmp_path / "commas", GOOD + b",\n" + LAST + b",\n" + GOOD.replace(b"good", b"x"))
    assert ids(lake) == ["x"]
    assert [row[1::2] for row in rejects_of(lake)] == [(1, "trailing_data"), (2, "trailing_data")]
