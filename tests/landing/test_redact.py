"""What a landing withholds: no secret reaches a file of the lake, and nothing else changes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from lakes import trajtab
from making import call, run, runs_of, scores_of, steps_of, want, write

from pipeline.errors import UnknownNameError
from pipeline.lake import Lake
from pipeline.landing.batch.masking import withhold
from pipeline.landing.land import land
from pipeline.landing.model import Run, Step
from pipeline.redact import excerpt, redact, redact_value
from pipeline.scoring import score

if TYPE_CHECKING:
    from pathlib import Path

MAIL = "ada@example.org"
KEY = "sk-0123456789abcdef"
PHRASE = "open sesame now"


def secretive(run_id: str, mail: str = MAIL) -> dict[str, Any]:
    """A run with a secret in every place that holds text."""
    return run(
        run_id,
        call("send", {"to": mail, "password": PHRASE, "n": 1.0}, output={"api_key": KEY}),
        call("retry", json.dumps({"password": PHRASE}), error=f"Bearer {KEY}", labels={"by": MAIL}),
        {"kind": "message", "content": f"I am {MAIL}"},
        {"kind": "final", "content": f"sent to {MAIL}"},
        final_output=f"sent to {MAIL}",
        final_state={"token": KEY, "users": {MAIL: 1}},
        labels={"who": MAIL},
        started_at=f"asked by {MAIL}",
        expected=[want("send", {"to": mail, "password": PHRASE, "n": 1}), want("retry", {"password": PHRASE})],
    )  # fmt: skip


SECRETS = [
    *("sk-0123abcd", "pk-0123abcd", "rk-0123abcd", "sk_live_0123abcd", "rk_test_0123abcd"),
    *(f"gh{kind}_0123456789abcdef" for kind in "pousr"),
    *("github_pat_0123456789_abcde", "glpat-0123456789-abcdef"),
    *(f"xox{kind}-0123-abc" for kind in "abprs"),
    *("AKIA0123456789AB", "ASIA0123456789AB", "AIza0123456789_abcdef-xyz"),
    *("eyJhbGciOiJ.eyJzdWIiOiI.c2ln_-", "eyJhbGciOiJ.eyJzdWIiOiI."),
    *("Bearer 0123.~+/=-", "bearer 01234567", "a.b+c%d_e-f@mail.example.org"),
    "ada@a.b.c.d.e.f.example.org",
]
NO_SECRETS = [
    *("sk-0123abc", "sk_live_0123abc", "task-force", "ghp_0123456789abcde", "xoxz-01234567"),
    *("AKIA0123456789A", "AIza0123456789_abcde", "eyJhbGci.eyJzdWIiOiI.x", "Bearer 0123456"),
    *("ada@home", "@example.org", "401", "max_tokens: 500", '{"tokens": 12, "author": "ada"}'),
    *('{"password": ""}', r'"{\"password\": \"\", \"n\": 1}"', "the password is lost", "secret=ab"),
    # A quote that ends the text around a name.
    *('{"label":"Token:","value":"abc"}', 'the prompt "Enter password:" and then "Login".'),
    *('print("token:", "x")', "['secret:', 'none of it']"),
]


@pytest.mark.parametrize("secret", SECRETS)
def test_keys_of_every_service_are_masked(secret: str) -> None:
    """Of the shortest form that counts; the text around them stays."""
    assert redact(f"say {secret}, twice: ({secret})") == "say [redacted], twice: ([redacted])"


@pytest.mark.parametrize("text", NO_SECRETS)
def test_what_only_looks_like_a_secret_stays(text: str) -> None:
    """Mostly a character short of one."""
    assert redact(text) == text


NAMES = [
    *("authorization", "Api_Key", "api-key", "apikey", "x-api-key", "client_secret", "PASSWORD"),
    *("passwd", "passphrase", "access_token", "accessToken", "token", "aws_secret_access_key"),
    *("SecretAccessKey", "secret_key", "private_key"),
]


@pytest.mark.parametrize("name", NAMES)
def test_what_a_telling_name_names_is_masked_whole(name: str) -> None:
    assert redact_value({name: PHRASE, "n": 1}) == {name: "[redacted]", "n": 1}
    assert redact(f"{name}=ses n=1") == f"{name}=[redacted] n=1"
    assert redact(f"{name}: Basic c2VzYW1l; n") == f"{name}: [redacted]; n"


def test_values_under_a_telling_key_are_masked_however_deep() -> None:
    """Texts and numbers are; what can be no secret stays."""
    told = {
        "token": {"a": [{"b": 1, "c": "d", "e": ""}], "f": True, "g": None},
        "n": [1, "d", True],
    }
    masked = {"a": [{"b": "[redacted]", "c": "[redacted]", "e": ""}], "f": True, "g": None}
    assert redact_value(told) == {"token": masked, "n": [1, "d", True]}


@pytest.mark.parametrize(("size", "shown"), [(200, "x" * 200), (201, "x" * 199 + "…")])
def test_an_excerpt_is_200_characters_at_most(size: int, shown: str) -> None:
    assert excerpt(b"x" * size) == shown


@pytest.mark.parametrize("phrase", [PHRASE, "a b", 'say "sesame"', "it's open", "back\\", "s"])
@pytest.mark.parametrize("times", range(4))
def test_a_quoted_phrase_is_masked_to_its_end(phrase: str, times: int) -> None:
    """As Python prints it, and as JSON: in a text, in a text of that, as often as it is quoted."""
    shown: Any = {"password": phrase, "user": "ada"}
    masked: Any = {"password": "[redacted]", "user": "ada"}
    if not times:
        shown, masked = repr(shown), repr(masked)
        assert redact(shown).replace('"[redacted]"', "'[redacted]'") == masked
    for _ in range(times):
        shown, masked = json.dumps(shown), json.dumps(masked)
        assert redact(shown) == masked


@pytest.mark.parametrize(
    "begun", ['{"password": "', r'"{\"token\": \"', "{'secret': '", 'password: "']
)
def test_a_quoted_phrase_that_is_cut_off_is_masked(begun: str) -> None:
    assert redact(begun + "open sesame no") == begun + "[redacted]"


def stored(lake: Path) -> str:
    """Return every cell of every table of a lake, as text."""
    tables = [pl.read_parquet(file, glob=False) for file in sorted(lake.rglob("*.parquet"))]
    return "\n".join(repr(table.rows()) for table in tables)


def test_without_it_the_secrets_are_stored(tmp_path: Path) -> None:
    land([write(tmp_path / "a.jsonl", [secretive("r1")])], tmp_path / "lake", workers=1)
    assert [text in stored(tmp_path / "lake") for text in (MAIL, KEY, PHRASE)] == [True] * 3


def test_no_secret_is_stored(tmp_path: Path) -> None:
    task = {"task_id": "t", "prompt": f"write to {MAIL}", "reference_output": f"sent to {MAIL}",
            "references": [[want("send", {"to": MAIL})]], "labels": {"by": MAIL}}  # fmt: skip
    sources = [
        write(tmp_path / "a.jsonl", [secretive("r1"), {"run_id": MAIL}]),
        write(tmp_path / "b.jsonl", [task]),
    ]
    report = land(sources, tmp_path / "lake", workers=1, redact=True)
    assert (report.runs, report.tasks, report.rejects.total()) == (1, 1, 1)
    told = stored(tmp_path / "lake")
    assert [text for text in (MAIL, KEY, PHRASE, "sesame") if text in told] == []


def test_what_is_stored_instead(tmp_path: Path) -> None:
    land(
        [write(tmp_path / "a.jsonl", [secretive("r1")])], tmp_path / "lake", workers=1, redact=True
    )
    steps = steps_of(tmp_path / "lake")
    assert steps["tool_args"].to_list() == [
        '{"n":1.0,"password":"[redacted]","to":"[redacted]"}',
        '{"password":"[redacted]"}',
        None,
        None,
    ]
    assert steps["args_status"].to_list()[:2] == ["ok", "ok"]
    assert steps["output"][0] == '{"api_key":"[redacted]"}'
    assert steps["content"].to_list()[2:] == ["I am [redacted]", "sent to [redacted]"]
    assert steps["is_error"].to_list()[:2] == [False, True]
    assert runs_of(tmp_path / "lake")["final_output"][0] == "sent to [redacted]"


def test_references_are_masked_alike_so_scores_stay(tmp_path: Path) -> None:
    """Both calls match in both lakes: f1 is 1."""
    source = write(tmp_path / "a.jsonl", [secretive("r1")])
    for name, masked in (("plain", False), ("masked", True)):
        land([source], tmp_path / name, workers=1, redact=masked)
        score(Lake.open(tmp_path / name))
        assert scores_of(tmp_path / name)["f1"].to_list() == [1.0]


def test_calls_that_differ_in_secrets_alone_become_equal(tmp_path: Path) -> None:
    records = [secretive("r1"), secretive("r2", "bob@example.org")]
    source = write(tmp_path / "a.jsonl", records)
    for name, masked, distinct in (("plain", False, 2), ("masked", True, 1)):
        land([source], tmp_path / name, workers=1, redact=masked)
        sent = steps_of(tmp_path / name).filter(tool_name="send")
        assert sent["call_key"].n_unique() == distinct


def test_text_without_secrets_is_stored_byte_for_byte(tmp_path: Path) -> None:
    """Numbers keep their spelling, and damaged arguments their text."""
    record = run("r1", call("a", '{"x": 1.0, "y": 123456789012345678901}'), call("b", '{"cut'))
    source = write(tmp_path / "a.jsonl", [record])
    for name, masked in (("plain", False), ("masked", True)):
        land([source], tmp_path / name, workers=1, redact=masked)
    plain, masked_ = (steps_of(tmp_path / name).drop("run_key") for name in ("plain", "masked"))
    assert plain.rows() == masked_.rows()


def test_what_python_printed_is_masked_too() -> None:
    """Tuples, sets, keys of any kind; and the step that was given is left as it was."""
    step = Step("final", content={1: (MAIL, {MAIL}), "n": 1.5})
    run = withhold(Run(steps=[step]), secrets=True, drop=())
    assert run.steps[0].content == {"1": ["[redacted]", ["[redacted]"]], "n": 1.5}
    assert step.content["n"] == 1.5
    assert MAIL in step.content[1]


@pytest.mark.parametrize(
    ("drop", "outputs", "contents"),
    [((), 1, 2), (("outputs",), 0, 2), (("contents",), 1, 0), (("contents", "outputs"), 0, 0)],
)
def test_drop(tmp_path: Path, drop: tuple[str, ...], outputs: int, contents: int) -> None:
    source = write(tmp_path / "a.jsonl", [secretive("r1")])
    land([source], tmp_path / "lake", workers=1, drop=drop)
    steps = steps_of(tmp_path / "lake")
    assert (steps["output"].count(), steps["content"].count()) == (outputs, contents)
    assert runs_of(tmp_path / "lake")["final_output"].count() == 1
    assert steps["error"].count() == 1


def test_what_is_withheld_is_part_of_the_batchs_name(tmp_path: Path) -> None:
    source = write(tmp_path / "a.jsonl", [secretive("r1")])
    asked: list[dict[str, Any]] = [
        {}, {"redact": True}, {"drop": ["outputs"]}, {"drop": ["contents", "outputs"]},
    ]  # fmt: skip
    lake = tmp_path / "lake"
    for options in asked:
        assert land([source], lake, workers=1, **options).batches == 1
    again = land([source], lake, workers=1, drop=["outputs", "contents", "outputs"])
    assert (again.batches, again.already) == (0, 1)


def test_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = write(tmp_path / "a.jsonl", [secretive("r1")])
    lake = tmp_path / "lake"
    assert trajtab("land", source, "--lake", lake, "--redact", "--drop", "outputs", "--drop", "contents") == 0  # fmt: skip
    assert MAIL not in stored(lake)
    assert steps_of(lake)["output"].count() == 0
    assert trajtab("land", source, "--lake", lake, "--drop", "names") == 2
    assert "outputs" in capsys.readouterr().err


def test_only_known_things_can_be_dropped(tmp_path: Path) -> None:
    source = write(tmp_path / "a.jsonl", [secretive("r1")])
    with pytest.raises(UnknownNameError, match="did you mean 'outputs'"):
        land([source], tmp_path / "lake", drop=["output"])
    assert not (tmp_path / "lake").exists()
