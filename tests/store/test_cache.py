"""The cache: bounded, shared by processes, never torn, and never pulled from under a reader."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from lakes import trajtab
from landings import source

from pipeline.checks import check
from pipeline.errors import InputError, LakeError
from pipeline.lake import Lake
from pipeline.landing.land import land
from pipeline.store.cache import Cache, of_environment, size

if TYPE_CHECKING:
    from objects import Memory

BLOCK = 64 << 10
URL = "s3://bucket/lake"
CHECKED = "s3://bucket/checked"
"""Of its own: a process remembers the batches it has scored, and where it has copies of them."""


def writer(byte: bytes, n: int = BLOCK):
    return lambda path: Path(path).write_bytes(byte * n)


def kept(cache: Cache) -> list[bytes]:
    return sorted(path.read_bytes()[:1] for path in (cache.folder / "files").iterdir())


def age(cache: Cache, path: Path, seconds: int) -> None:
    """Let a file have been used so long ago."""
    then = time.time() - seconds
    os.utime(cache.folder / "files" / path.name, (then, then))


def test_a_key_is_fetched_once(tmp_path: Path) -> None:
    cache, fetched = Cache(tmp_path, 10 * BLOCK), []

    def fetch(path: Path) -> None:
        fetched.append(path)
        path.write_bytes(b"a")

    paths = {cache.path("a", fetch) for _ in range(3)}
    assert len(fetched) == len(paths) == 1
    assert Cache(tmp_path, BLOCK).path("a", fetch).read_bytes() == b"a"
    assert len(fetched) == 1
    assert cache.holds("a")
    assert not cache.holds("b")


def test_the_least_recently_used_go_first(tmp_path: Path) -> None:
    cache = Cache(tmp_path, 3 * BLOCK)
    for number, name in enumerate("abc"):
        age(cache, cache.path(name, writer(name.encode())), 100 - number)
    cache.path("a", writer(b"?"))  # used again: now the youngest
    cache.path("d", writer(b"d"))
    assert kept(cache) == [b"a", b"c", b"d"]


def test_what_was_handed_out_stays_readable(tmp_path: Path) -> None:
    cache = Cache(tmp_path, BLOCK)
    first = cache.path("a", writer(b"a"))
    age(cache, first, 100)
    second = cache.path("b", writer(b"b"))
    assert kept(cache) == [b"b"], "thrown out"
    assert (first.read_bytes()[:1], second.read_bytes()[:1]) == (b"a", b"b")
    assert cache.path("a", writer(b"?")).read_bytes()[:1] == b"a", "and known to this process"


def test_a_file_larger_than_the_bound_is_handed_out(tmp_path: Path) -> None:
    cache = Cache(tmp_path, BLOCK)
    assert len(cache.path("a", writer(b"a", 4 * BLOCK)).read_bytes()) == 4 * BLOCK


def test_a_failed_fetch_leaves_nothing(tmp_path: Path) -> None:
    cache = Cache(tmp_path, BLOCK)

    def fetch(path: Path) -> None:
        path.write_bytes(b"half")
        raise LakeError("gone")

    with pytest.raises(LakeError, match="gone"):
        cache.path("a", fetch)
    assert not cache.holds("a")
    assert cache.path("a", writer(b"a", 1)).read_bytes() == b"a"
    assert len([p for p in tmp_path.rglob("*") if p.is_file() and p.name != "lock"]) == 2


def test_threads_and_evictions_side_by_side(tmp_path: Path) -> None:
    """Many readers of more than fits: each reads what it asked for."""
    shared, right = Cache(tmp_path, 2 * BLOCK), []
    names = "abcdef"

    def read(first: int) -> None:
        for number in range(30):
            name = names[(first + number) % 6]
            # Two threads share one; the others open the folder anew, as other processes do.
            cache = shared if first < 2 else Cache(tmp_path, 2 * BLOCK)
            data = cache.path(name, writer(name.encode())).read_bytes()
            right.append(data == name.encode() * BLOCK)

    threads = [threading.Thread(target=read, args=(first,)) for first in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert right == [True] * 120
    shared.trim()
    assert len(kept(shared)) <= 2


def test_a_process_leaves_no_links_and_a_killed_ones_are_removed(tmp_path: Path) -> None:
    program = (
        "import os, sys\n"
        "from pathlib import Path\n"
        "from pipeline.store.cache import Cache\n"
        "Cache(Path(sys.argv[1]), 1 << 20).path('a', lambda path: path.write_bytes(b'a'))\n"
        "os.kill(os.getpid(), 9) if sys.argv[2] == 'killed' else None\n"
    )
    use = tmp_path / "use"
    for end, left in (("whole", 0), ("killed", 1)):
        subprocess.run([sys.executable, "-c", program, tmp_path, end], check=False)
        assert len(list(use.iterdir())) == left
    killed = next(use.iterdir())
    living = Cache(tmp_path, 1 << 20)
    living.path("a", writer(b"?"))
    assert not killed.exists()
    mine = next(use.iterdir())
    Cache(tmp_path, 1 << 20).path("a", writer(b"?"))
    assert mine.exists(), "this process lives"


def test_the_environment_names_folder_and_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRAJTAB_CACHE", str(tmp_path / "mine"))
    monkeypatch.setenv("TRAJTAB_CACHE_SIZE", "1.5MB")
    assert (of_environment().folder, of_environment().bound) == (tmp_path / "mine", 1_500_000)
    monkeypatch.delenv("TRAJTAB_CACHE")
    monkeypatch.delenv("TRAJTAB_CACHE_SIZE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    found = of_environment()
    assert (found.folder, found.bound) == (tmp_path / "home" / "trajtab", 10_000_000_000)
    assert (tmp_path / "home" / "trajtab" / "files").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("text", ["", "lots", "-1GB", "10 PB", "1e9"])
def test_a_size_that_is_none_is_told(text: str) -> None:
    with pytest.raises(InputError, match="500MB or 10GB"):
        size(text)


def test_a_cache_that_cannot_be_written_is_told(
    tmp_path: Path,
    memory: Memory,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Root may write anywhere, so a file stands where the folder is wanted."""
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TRAJTAB_CACHE", str(tmp_path / "file"))
    monkeypatch.setenv("AWS_SKIP_SIGNATURE", "true")
    assert trajtab("score", URL) == 2
    assert "TRAJTAB_CACHE names another folder" in capsys.readouterr().err
    assert memory.requests == []


def test_a_damaged_object_is_told_and_not_kept(tmp_path: Path, memory: Memory) -> None:
    land([source(tmp_path, range(3))], URL, workers=1)
    batch = Lake.open(URL).batches()[0]
    name = f"{batch.relative}/{batch.manifest['files']['steps']['name']}"
    data = bytes(memory.stores[URL].get(name).bytes())
    memory.stores[URL].put(name, data[:-1] + b"?")
    with pytest.raises(LakeError, match="damaged"):
        batch.file("steps")
    memory.stores[URL].delete(name)
    with pytest.raises(LakeError, match="cannot read"):
        batch.file("steps")
    memory.stores[URL].put(name, data)
    assert batch.file("steps").read_bytes() == data


def test_check_deep_looks_at_the_store_past_the_cache(tmp_path: Path, memory: Memory) -> None:
    land([source(tmp_path, range(3))], CHECKED, workers=1)
    assert trajtab("score", CHECKED) == 0
    batch = Lake.open(CHECKED).batches()[0]
    kept = batch.file("steps")
    assert check(CHECKED, deep=True).rows.filter(check="damaged_files").is_empty()
    store, name = (
        memory.stores[CHECKED],
        f"{batch.relative}/{batch.manifest['files']['steps']['name']}",
    )
    sound = bytes(store.get(name).bytes())
    at = len(sound) // 2
    flipped = sound[:at] + bytes([sound[at] ^ 4]) + sound[at + 1 :]

    store.put(name, flipped)
    ((kind, _, subject, detail),) = check(CHECKED, deep=True).rows.rows()
    assert (kind, subject) == ("damaged_files", name)
    assert detail.startswith("damaged: its content is not what its manifest says; ")
    assert kept.read_bytes() == sound

    store.put(name, sound)
    kept.write_bytes(flipped)
    note = check(CHECKED, deep=True).notes[0]
    assert "nothing else was looked at" not in note


def test_check_deep_finds_scores_of_every_policy_in_a_store(tmp_path: Path, memory: Memory) -> None:
    land([source(tmp_path, range(3))], URL, workers=1)
    (tmp_path / "policy.toml").write_text("[match]\nargs = 'names'\n")
    assert trajtab("score", URL, "--policy", tmp_path / "policy.toml") == 0
    (name,) = [
        found["path"] for part in memory.stores[URL].list("scores/") for found in part
        if "/scores." in found["path"]
    ]  # fmt: skip
    memory.stores[URL].delete(name)
    assert check(URL, deep=True).rows["subject"].to_list() == [name]


def test_a_damaged_manifest_is_named_and_a_copy_set_aside_passed_over(
    tmp_path: Path, memory: Memory
) -> None:
    land([source(tmp_path, range(3))], URL, workers=1)
    [batch] = Lake.open(URL).batches()
    store, name = memory.stores[URL], f"{batch.relative}/manifest.json"
    data = bytes(store.get(name).bytes())
    store.put(f"{batch.relative}.bak/manifest.json", data)
    assert [one.name for one in Lake.open(URL).batches()] == [batch.name]
    store.put(name, data[:-9])
    with pytest.raises(
        LakeError, match=r"b-\w+/manifest.json: damaged: .* land the logs into a new"
    ):
        Lake.open(URL).batches()


def test_reading_again_fetches_nothing_again(tmp_path: Path, memory: Memory) -> None:
    land([source(tmp_path, range(3))], URL, workers=1)
    assert trajtab("score", URL) == 0
    assert trajtab("aggregate", URL) == 0
    memory.requests.clear()
    assert trajtab("aggregate", URL) == 0
    assert {kind for kind, _ in memory.requests} == {"get", "list"}
    assert {name for kind, name in memory.requests if kind == "get"} == {"lake.json", "head.json"}
    lists = [name for kind, name in memory.requests if kind == "list"]
    parents = ["annotations", "batches", "judgments", "scores", "tasks"]
    assert sorted(name.split("/")[0] for name in lists) == parents
