"""Answers against reference answers: tokens of any script, counts, the best reference."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracle.response import response_metrics, words

from pipeline.lake import Lake
from pipeline.landing.land import land
from pipeline.metrics.response import metrics
from pipeline.scoring import score
from pipeline.scoring.response import COLUMNS, overlap, response_columns
from pipeline.scoring.tokens import _stemmer, tokens

if TYPE_CHECKING:
    from pathlib import Path

SCHEMA = {"final_output": pl.String, "reference_outputs": pl.List(pl.String)}


def scored(*rows: tuple[str | None, list[str] | None]) -> list[dict[str, Any]]:
    return response_columns(pl.DataFrame(rows, schema=SCHEMA, orient="row")).to_dicts()


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("", []),
        (" \t\n…!?", []),
        ("Hello, World!", ["hello", "world"]),
        ("don't e-mail foo_bar", ["don", "t", "e", "mail", "foo", "bar"]),
        ("sky flying bus", ["sky", "fli", "bus"]),  # 3 letters: as they are
        ("relational databases generously", ["relat", "databas", "gener"]),
        ("dying news skies", ["die", "news", "sky"]),  # nltk's own table of irregular forms
        ("naïve flights", ["naïve", "flight"]),  # not pure ASCII: no stem
        ("cafe\u0301", ["café"]),  # NFKC composes
        ("½ cup, ②", ["1", "2", "cup", "2"]),  # and decomposes: 1, fraction slash, 2
        ("\uff21\uff22\uff23 x²", ["abc", "x2"]),  # full width
        ("3.5 €42", ["3", "5", "42"]),
        ("привет, МИР", ["привет", "мир"]),
        ("मौसम है", ["मौसम", "है"]),  # marks belong to their word
        ("abc世界def", ["abc", "世", "界", "def"]),
        ("東京タワー", ["東", "京", "タ", "ワ", "ー"]),
        ("ｶﾞ", ["ガ"]),  # half width
        ("こんにちは", ["こ", "ん", "に", "ち", "は"]),
        ("안녕 hi", ["안", "녕", "hi"]),
        ("สวัสดี", ["ส", "วั", "ส", "ดี"]),
        ("ສະບາຍດີ", ["ສ", "ະ", "ບ", "າ", "ຍ", "ດີ"]),
        ("ខ្មែរ", ["ខ្", "មែ", "រ"]),
        ("မြန်မာ", ["မြ", "န်", "မာ"]),
        ("abcวัน", ["abc", "วั", "น"]),
        ("👍 ok", ["ok"]),
    ],
)
def test_tokens(text, right):
    assert tokens(text) == right


@given(st.text())
def test_tokens_of_any_text(text):
    assert tokens(text) == words(text)


def test_pairs_of_google_adk(real_cases):
    """google-adk 2.13 `response_match_score`, with the recall that it clips."""
    lines = real_cases("rouge.jsonl").read_text(encoding="utf-8").splitlines()
    cases = [json.loads(line) for line in lines]
    found = scored(*[(case["actual"], [case["expected"]]) for case in cases])
    for case, row in zip(cases, found, strict=True):
        right = case["results"]
        assert row["rouge1_f1"] == pytest.approx(right["adk.response_match_score"], abs=1e-9)
        n = overlap(case["actual"], case["expected"])
        clipped = n.n_common / max(1, n.n_reference), n.n_common / max(1, n.n_answer)
        assert clipped == (right["adk.rouge1.recall"], right["adk.rouge1.precision"]), case
        assert row["rouge1_recall"] >= clipped[0]
        assert row["response_exact"] == (case["actual"] == case["expected"])


@pytest.mark.parametrize(
    ("answer", "references", "recall", "f1", "exact"),
    [
        ("The booked flights", ["booking a flight"], 2 / 3, 4 / 6, 0),
        ("no", ["no no no"], 1, 2 / 4, 0),  # recall is not clipped, f1 is: 2·1 / (3 + 1)
        ("no no no", ["no"], 1, 2 / 4, 0),
        ("東京", ["東京タワー"], 2 / 5, 4 / 7, 0),
        ("สวัสดี", ["สวัสดีครับ"], 4 / 7, 8 / 11, 0),
        ("42", ["42"], 1, 1, 1),
        ("42 ", ["42"], 1, 1, 0),
        ("cafe\u0301", ["café"], 1, 1, 0),  # equal after NFKC, not byte for byte
        ("", [""], 1, 0, 1),
        ("", ["yes"], 0, 0, 0),
        ("yes", [""], 1, 0, 0),
        ("!", ["?"], 1, 0, 0),  # no token on either side
        ("b", ["a", "b", "b c"], 1, 1, 1),
        (
            "a b c d",
            ["a x", "a b c d e f g h i j"],
            1 / 2,
            8 / 14,
            0,
        ),  # each metric its best: 1/2 > 4/10, 2/6 < 8/14
    ],
)
def test_by_hand(answer, references, recall, f1, exact):
    (row,) = scored((answer, references))
    assert row == pytest.approx({"rouge1_recall": recall, "rouge1_f1": f1, "response_exact": exact})


pieces = st.sampled_from(
    ["run", "Runs", "running", "skies", "x1", "naïve", "cafe\u0301", "no-one", "½", "мир", "है",
     "世", "界", "タ", "ﾀ", "안", "ก", "ดี", "ນ", "ခ", "ខ្", " ", ", ", "_", "\u0301", "👍"]
)  # fmt: skip
texts = st.lists(pieces | st.just(" "), max_size=12).map("".join)
rows = st.tuples(st.none() | texts, st.none() | st.lists(texts, max_size=3))


@given(st.lists(rows, max_size=12))
def test_equals_the_oracle(runs):
    found = scored(*runs)
    assert len(found) == len(runs)
    for row, (answer, references) in zip(found, runs, strict=True):
        assert row == pytest.approx(response_metrics(answer, references), abs=1e-12)


@given(texts, texts)
def test_laws(answer, reference):
    """Bounded; exact answers are found whole; f1 is symmetric and never above the recall's 1."""
    forth, back, same = scored((answer, [reference]), (reference, [answer]), (answer, [answer]))
    assert all(0 <= value <= 1 for row in (forth, back, same) for value in row.values())
    assert forth["rouge1_f1"] == back["rouge1_f1"]
    assert (same["rouge1_recall"], same["response_exact"]) == (1, 1)
    assert same["rouge1_f1"] == (1 if tokens(answer) else 0)


# Through the front door.

CALL = {"kind": "tool_call", "tool_name": "look", "tool_args": {"q": 1}}
UNCAPTURED = {"kind": "tool_call", "tool_name": "look"}


def said(text: str | None) -> dict[str, Any]:
    return {"kind": "final", "content": text}


def run(run_id: str, task_id: str | None, *steps: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"run_id": run_id, "task_id": task_id, "steps": list(steps), **more}


def lay(folder: Path, name: str, records: list[dict[str, Any]], form: str) -> None:
    source = folder / name
    source.write_text("\n".join(map(json.dumps, records)), encoding="utf-8")
    land([source], folder / "lake", format=form)


def current_scores(folder: Path) -> dict[str, dict[str, Any]]:
    """Score, and return the rows of the batch's newest scores by run."""
    score(folder / "lake")
    found = sorted(
        Lake.open(folder / "lake").path.glob("scores/*/*/scores.parquet"),
        key=lambda path: path.stat().st_mtime_ns,
    )
    return {row["run_id"]: row for row in pl.read_parquet(found[-1]).to_dicts()}


def response_of(row: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(row[name] for name in COLUMNS)


@pytest.fixture
def lake(tmp_path):
    """A lake of one batch: tasks with one, several and no reference answers."""
    tasks = [
        {"task_id": "one", "reference_output": "Booked: seat 12"},
        {"task_id": "several", "reference_output": ["yes", "It is so."]},
        {"task_id": "silent", "prompt": "Do it."},
        {"task_id": "one", "suite": "other", "reference_output": "no"},
    ]
    lay(tmp_path, "tasks.jsonl", tasks, "tasks")
    runs = [
        run("best", "one", CALL, said("I booked seat 12.")),
        run("last", "one", said("no"), CALL, said("Booked: seat 12")),
        run("given", "one", said("no"), final_output="seat"),
        run("mute", "one", CALL),
        run("uncaptured", "one", UNCAPTURED),
        run(
            "uncaptured-said",
            "one",
            UNCAPTURED,
            said("seat 12"),
            expected=[{"tool_name": "look", "tool_args": {"q": 1}}],
        ),
        run("failed", "one", said("Booked: seat 12"), status="error"),
        run("cut", "one", CALL, status="incomplete"),
        run("second", "several", said("it is so")),
        run("silent", "silent", said("done")),
        run("none", None, said("done")),
        run("unknown", "unheard-of", said("done")),
        run("other", "one", said("no"), suite="other"),
    ]
    lay(tmp_path, "runs.jsonl", runs, "trajtab")
    return tmp_path


def test_landed_and_scored(lake):
    found = {name: response_of(row) for name, row in current_scores(lake).items()}
    nothing = (None, None, None)
    assert found == {
        "best": (1, 6 / 7, 0),  # i, book, seat, 12 against book, seat, 12
        "last": (1, 1, 1),
        "given": (1 / 3, 2 / 4, 0),
        "mute": (0, 0, 0),
        "uncaptured": nothing,
        "uncaptured-said": (2 / 3, 4 / 5, 0),
        "failed": nothing,
        "cut": (0, 0, 0),
        "second": (1, 1, 0),
        "silent": nothing,
        "none": nothing,
        "unknown": nothing,
        "other": (1, 1, 1),
    }


def test_a_reference_answer_needs_no_reference_of_calls(lake):
    found = current_scores(lake)
    assert found["best"]["status"] == "no_reference"
    assert found["uncaptured-said"]["status"] == "args_not_captured"
    assert found["uncaptured-said"]["recall"] is None


def test_new_reference_answers_score_anew(lake):
    assert current_scores(lake)["second"]["response_exact"] == 0
    lay(lake, "more.jsonl", [{"task_id": "several", "reference_output": "it is so"}], "tasks")
    assert current_scores(lake)["second"]["response_exact"] == 1


def test_no_answers_in_the_lake(tmp_path):
    lay(tmp_path, "runs.jsonl", [run("a", "t", CALL, said("done"))], "trajtab")
    assert response_of(current_scores(tmp_path)["a"]) == (None, None, None)


def test_without_the_stemmer_rouge_is_null(lake, monkeypatch):
    """As where the extra `text` is not installed."""
    with monkeypatch.context() as patched:
        patched.setitem(sys.modules, "nltk.stem.porter", None)
        _stemmer.cache_clear()
        found = current_scores(lake)
    assert response_of(found["last"]) == (None, None, 1)
    assert response_of(found["best"]) == (None, None, 0)
    assert response_of(found["silent"]) == (None, None, None)


def test_described():
    assert [metric.name for metric in metrics()] == list(COLUMNS)
    assert all(metric.reference and metric.family == "response" for metric in metrics())
