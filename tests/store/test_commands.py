"""Every command says of a lake in an object store what it says of the same lake on a disk."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from lakes import trajtab
from making import call, run, want, write
from objects import ask
from rich_lake import each_chart_once

from pipeline.lake import Lake

if TYPE_CHECKING:
    from collections.abc import Iterable

    from objects import Memory, Proxy

ROOT = Path(__file__).resolve().parents[2]
ARMS = ("--baseline", "agent_version = 'v1'", "--candidate", "agent_version = 'v2'")
COMMANDS = {
    "score": ("score", "LAKE"),
    "rules": ("score", "LAKE", "--policy", "rules.toml"),
    "again": ("score", "LAKE", "--all"),
    "aggregate": ("aggregate", "LAKE", "--by", "agent_version,suite"),
    "by rules": ("aggregate", "LAKE", "--policy", "rules.toml"),
    "percentiles": ("percentiles", "LAKE"),
    "scores": ("scores", "LAKE"),
    "passk": ("passk", "LAKE", "--k", "1,2"),
    "compare": ("compare", "LAKE", *ARMS, "--metric", "f1"),
    "sql": ("sql", "LAKE", "SELECT * EXCLUDE (landed_at) FROM runs ORDER BY run_key"),
    "steps": ("sql", "LAKE", "SELECT tool_name, count(*), max(call_key) FROM calls GROUP BY ALL"),
    "refs": ("sql", "LAKE", "FROM refs ORDER BY ALL"),
    "show": ("show", "LAKE", "r3"),
    "diff": ("diff", "LAKE", "r3"),
    "check": ("check", "LAKE"),
}


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Twelve runs of two versions, the second worse; and files that commands take."""
    monkeypatch.chdir(tmp_path)
    records = [
        run(
            f"r{i}",
            call("search", {"q": f"Q{i % 3}"}, output="x" * 40),
            *([] if i % 2 else [call("book", {"n": i})]),
            {"kind": "final", "content": f"done {i}"},
            task_id=f"t{i // 4}",
            trial=i // 2 % 2,
            agent_version=f"v{i % 2 + 1}",
            success=i % 3 > 0,
            expected=[want("search", {"q": f"q{i % 3}"}), want("book", {"n": i})],
        )
        for i in range(12)
    ]
    write(tmp_path / "runs.jsonl", records)
    Path("rules.toml").write_text(
        '[[match.rule]]\ntool = "search"\narg = "q"\ncase = "lower"\n', encoding="utf-8"
    )


def told(lake: str, words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> Any:
    args = [lake if word == "LAKE" else word for word in words]
    assert trajtab(*args, "--format", "json") == 0, capsys.readouterr()
    return json.loads(capsys.readouterr().out)


def assert_the_same(
    lake: str, capsys: pytest.CaptureFixture[str], some: Iterable[str] = COMMANDS
) -> None:
    for where in ("local", lake):
        assert trajtab("land", "runs.jsonl", "--lake", where) == 0
    capsys.readouterr()
    for name in some:
        found, right = (told(where, COMMANDS[name], capsys) for where in (lake, "local"))
        assert found == right, name
        assert found["rows"] or name == "check"


def test_s3(s3: str, proxy: Proxy, capsys: pytest.CaptureFixture[str]) -> None:
    assert_the_same(s3, capsys)
    assert {request.method for request in proxy.seen} <= {"GET", "HEAD", "PUT"}
    assert not Path("s3:").exists()


@pytest.mark.parametrize("scheme", ["gs", "az"])
def test_other_schemes_over_a_store_in_memory(
    scheme: str, memory: Memory, capsys: pytest.CaptureFixture[str]
) -> None:
    """There is no server of theirs to test with: URL to answer, with obstore's own memory store."""
    assert_the_same(f"{scheme}://bucket/lake", capsys, ["score", "aggregate", "steps"])
    assert set(memory.stores) == {f"{scheme}://bucket/lake"}


def test_report(memory: Memory, capsys: pytest.CaptureFixture[str]) -> None:
    url = "s3://bucket/a/lake"
    pages = []
    with each_chart_once():
        for where in (url, "lake"):
            assert trajtab("report", "runs.jsonl", "--lake", where, "-o", "page.html") == 0
            pages.append(Path("page.html").read_bytes())
        assert trajtab("report", url, "-o", "again.html") == 0
    assert pages[0] == pages[1]
    assert Path("again.html").read_bytes() == pages[0]
    assert f"landed in {url}: 12 runs" in capsys.readouterr().err
    assert trajtab("report", "s3://bucket/none") == 2
    assert trajtab("report", url, "runs.jsonl") == 2
    assert set(memory.stores) == {url, "s3://bucket/none"}


def test_the_commands_of_the_documentation(server: str, s3: str, tmp_path: Path) -> None:
    page = (ROOT / "docs" / "object-stores.md").read_text(encoding="utf-8")
    commands = re.findall(r"^trajtab (.+)$", page, re.MULTILINE)
    assert len(commands) >= 3
    assert all("s3://acme-agents/lake" in line for line in commands), s3
    assert ask(int(server.rsplit(":", 1)[1]), "PUT", "/acme-agents") == 200
    shutil.copytree(ROOT / "data_samples" / "trajtab", tmp_path / "export")
    for line in commands:
        assert trajtab(*shlex.split(line)) == 0


def test_init_says_what_to_do(memory: Memory, capsys: pytest.CaptureFixture[str]) -> None:
    assert trajtab("land", "runs.jsonl", "--lake", "s3://bucket/lake") == 0
    assert trajtab("sql", "s3://bucket/lake", "--init") == 2
    assert "copy it to a folder" in capsys.readouterr().err
    assert memory.stores


def test_a_lake_is_copied_both_ways(
    memory: Memory, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As `aws s3 sync` does: file by file. The copy is a lake, also for the next landing."""
    url, back = "s3://bucket/lake", tmp_path / "back"
    assert trajtab("land", "runs.jsonl", "--lake", "local") == 0
    assert trajtab("score", "local") == 0
    shutil.rmtree("local/.tmp")
    memory.connect(Lake("s3://bucket/lake").storage.address)
    for file in Path("local").rglob("*.*"):
        memory.stores[url].put(file.relative_to("local").as_posix(), file.read_bytes())
    capsys.readouterr()
    right = told("local", COMMANDS["aggregate"], capsys)
    assert told(url, COMMANDS["aggregate"], capsys) == right
    assert told(url, COMMANDS["steps"], capsys) == told("local", COMMANDS["steps"], capsys)
    assert trajtab("score", url, "--policy", "rules.toml") == 0
    assert trajtab("land", "runs.jsonl", "--lake", url, "--set", "x=y") == 0
    for name in memory.names(url):
        target = back / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(bytes(memory.stores[url].get(name).bytes()))
    capsys.readouterr()
    for words in (COMMANDS["by rules"], COMMANDS["sql"]):
        assert told(str(back), words, capsys) == told(url, words, capsys)
    runs = [pl.read_parquet(batch.file("runs")) for batch in Lake.open(back).batches()]
    assert sum(frame.height for frame in runs) == 24
