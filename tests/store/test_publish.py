"""Commits in an object store: in order, on what the lake was at that moment, or not at all."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import polars as pl
import pytest
from landings import assert_whole, content, ids, source
from objects import RefusedError

from pipeline.errors import LakeError
from pipeline.lake import Decision, Draft, Lake
from pipeline.landing.batch import chunks
from pipeline.landing.land import land
from pipeline.scoring import score
from pipeline.store import client, head, leftovers, objects

if TYPE_CHECKING:
    from pathlib import Path

    from objects import Memory

URL = "s3://bucket/lake"
NUMBERS = pl.DataFrame({"n": [1, 2, 3]})


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunks, "MOST_RECORDS", 3)


class StoppedError(BaseException):
    """Stands for a kill: nothing catches it."""


def test_data_objects_come_first_and_the_manifest_last(tmp_path: Path, memory: Memory) -> None:
    land([source(tmp_path, range(3))], URL, workers=1)
    written = [name for kind, name in memory.requests if kind == "write"]
    tasks, batch = Lake.open(URL).tasks()[0].relative, Lake.open(URL).batches()[0].relative
    assert written[:4] == ["swept.json", "swept.json", "swept.json", "lake.json"]
    assert {name.split(".")[0] for name in written[4:8]} == {
        f"{tasks}/tasks",
        f"{tasks}/references",
        f"{batch}/runs",
        f"{batch}/steps",
    }
    assert written[8:] == ["head.json", f"{tasks}/manifest.json", f"{batch}/manifest.json"]


def test_stopped_at_every_request(tmp_path: Path, memory: Memory) -> None:
    """Before and after each request: only whole batches show, and landing again completes it."""
    file = source(tmp_path, range(6))
    land([file], tmp_path / "local", workers=1)
    right = content(tmp_path / "local")
    stops = 0
    for point in range(400):
        left = point

        def stop(*_: object) -> None:
            nonlocal left
            left -= 1
            if left < 0:
                raise StoppedError

        url = f"s3://bucket/lake-{point}"
        memory.stop = stop
        try:
            land([file], url, workers=1)
        except StoppedError:
            stops += 1
        else:
            break
        finally:
            memory.stop = lambda *_: None
        assert_whole(url)
        land([file], url, workers=1)
        assert all(a.equals(b) for a, b in zip(content(url), right, strict=True)), point
        assert len(Lake.open(url).batches()) == 2
    assert stops > 30


def test_a_commit_in_between_is_seen(tmp_path: Path, memory: Memory) -> None:
    """Another landing commits the same runs while this one uploads: they count once."""
    mine, other = source(tmp_path, range(3)), source(tmp_path, range(1, 5), "other")
    land([source(tmp_path, [9], "first")], URL, workers=1)
    done = False

    def stop(kind: str, name: str, when: str) -> None:
        nonlocal done
        if not done and kind == "write" and name == "head.json" and when == "before":
            done = True
            land([other], URL, workers=1)

    memory.stop = stop
    told = land([mine], URL, workers=1)
    assert (told.runs, told.duplicates) == (1, 2)
    assert ids(URL) == ["r00", "r01", "r02", "r03", "r04", "r09"]


def test_a_writer_that_won_and_died_is_completed_by_the_next(
    tmp_path: Path, memory: Memory
) -> None:
    file = source(tmp_path, range(3))

    def stop(kind: str, name: str, when: str) -> None:
        if kind == "write" and name == "head.json" and when == "after":
            raise StoppedError

    memory.stop = stop
    with pytest.raises(StoppedError):
        land([file], URL, workers=1)
    memory.stop = lambda *_: None
    assert Lake.open(URL).batches() == []
    told = land([source(tmp_path, [2, 7], "other")], URL, workers=1)
    assert (told.runs, told.duplicates) == (1, 1)
    assert ids(URL) == ["r00", "r01", "r02", "r07"]


def test_a_writer_that_wakes_up_late_changes_nothing(tmp_path: Path, memory: Memory) -> None:
    """It won, slept before its manifests, and others went on meanwhile: what it writes is there."""
    file = source(tmp_path, range(3))
    slept = False

    def stop(kind: str, name: str, when: str) -> None:
        nonlocal slept
        if not slept and kind == "write" and name == "head.json" and when == "after":
            slept = True
            land([source(tmp_path, [5, 6], "other")], URL, workers=1)
            score(URL)

    memory.stop = stop
    assert land([file], URL, workers=1).runs == 3
    assert_whole(URL)
    assert ids(URL) == ["r00", "r01", "r02", "r05", "r06"]
    assert land([file], URL, workers=1).already == 1


def test_the_loser_of_a_batch_leaves_the_winners_data_alone(tmp_path: Path, memory: Memory) -> None:
    """It decided first and uploads last: other rows, for the same batch."""
    mine, other = source(tmp_path, range(3)), source(tmp_path, range(2, 5), "other")
    land([source(tmp_path, [9], "first")], URL, workers=1)

    def stop(kind: str, name: str, when: str) -> None:
        if kind == "write" and "/runs." in name and when == "before":
            memory.stop = lambda *_: None
            land([other], URL, workers=1)
            assert land([mine], URL, workers=1).duplicates == 1

    memory.stop = stop
    assert land([mine], URL, workers=1).already == 1
    assert_whole(URL)
    assert ids(URL) == ["r00", "r01", "r02", "r03", "r04", "r09"]


def test_a_request_that_met_itself_has_won(memory: Memory) -> None:
    """The store did it, its answer was lost, and the second sending was refused."""
    Lake.create(URL)
    storage = Lake.open(URL).storage
    assert isinstance(storage, objects.ObjectStorage)
    real = storage.client.swap
    storage.client.swap = lambda *args: real(*args) and False
    commit = head.advance(storage.client, head.read(storage.client), {"batches/b-1": b"{}"})
    assert commit is not None
    assert head.read(storage.client).commit.token == commit.token
    other = head.read(Lake.open(URL).storage.client)
    assert head.advance(Lake.open(URL).storage.client, other, {"batches/b-2": b"{}"}) is not None
    assert head.advance(Lake.open(URL).storage.client, other, {"batches/b-3": b"{}"}) is None
    assert memory.names(URL) == ["head.json", "lake.json", "swept.json"]


def test_a_write_refused_for_nothing_is_made_again(tmp_path: Path, memory: Memory) -> None:
    """Stores answer conflict to all of several at once; the manifest must be there in the end."""
    refusals = {"manifest.json": 2, "lake.json": 1}

    def stop(kind: str, name: str, when: str) -> None:
        last = name.rsplit("/", 1)[-1]
        if kind == "write" and when == "before" and refusals.get(last, 0):
            refusals[last] -= 1
            raise RefusedError

    memory.stop = stop
    assert land([source(tmp_path, range(3))], URL, workers=1).runs == 3
    assert set(refusals.values()) == {0}
    assert len(Lake.open(URL).batches()) == len(Lake.open(URL).tasks()) == 1
    refusals["manifest.json"] = 2 + 3  # two are there, the third is tried three times
    with pytest.raises(LakeError, match=r"refused, though it is not there"):
        land([source(tmp_path, range(5), "other")], URL, workers=1)
    assert land([source(tmp_path, range(5), "other")], URL, workers=1).already == 2
    assert ids(URL) == [f"r{i:02}" for i in range(5)]


def test_uploads_are_used_again_where_the_decision_is_the_same(memory: Memory) -> None:
    lake = Lake.create(URL)
    others = ["b-2", "b-1"]

    def stop(kind: str, name: str, when: str) -> None:
        if kind == "write" and name == "head.json" and when == "before" and others:
            memory.stop = lambda *_: None
            draft = Draft(f"batches/{others.pop()}", {"n": NUMBERS}, {"replaces": []})
            Lake.open(URL).publish(lambda: Decision([draft], None))
            memory.stop = stop

    mine = Draft("batches/b-f", {"n": NUMBERS}, {"replaces": []})
    memory.stop = stop
    assert lake.publish(lambda: Decision([mine], "mine")) == "mine"
    assert [batch.name for batch in lake.batches()] == ["b-1", "b-2", "b-f"]
    names = [name for kind, name in memory.requests if kind == "write" and "b-f/n." in name]
    assert len(names) == 1, "it met two others and uploaded once"


def test_a_writer_that_never_wins_gives_up_with_a_sentence(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = Lake.create(URL)
    monkeypatch.setattr(objects, "MOST_TRIES", 3)
    monkeypatch.setattr(head, "advance", lambda *_: None)
    draft = Draft("batches/b-1", {"n": NUMBERS}, {"replaces": []})
    with pytest.raises(LakeError, match="3 times another process committed first"):
        lake.publish(lambda: Decision([draft], None))
    assert lake.batches() == []
    assert {name.split("/")[0] for name in memory.names(URL)} == {
        "batches",
        "lake.json",
        "swept.json",
    }


def test_many_writers_at_once_land_every_run_once(tmp_path: Path, memory: Memory) -> None:
    """Four threads, overlapping sources: the union, nothing twice."""
    Lake.create(URL)
    sources = [source(tmp_path, range(2 * n, 2 * n + 7), f"part-{n}") for n in range(4)]
    failed: list[BaseException] = []

    def writer(file: Path) -> None:
        try:
            land([file], URL, workers=1)
        except BaseException as error:  # noqa: BLE001 - told by the test
            failed.append(error)

    threads = [threading.Thread(target=writer, args=(file,)) for file in sources]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    assert ids(URL) == [f"r{i:02}" for i in range(13)]
    assert_whole(URL)
    swaps = [name for kind, name in memory.requests if kind == "write" and name == "head.json"]
    assert len(swaps) >= len(Lake.open(URL).batches())


def test_a_sweep_deletes_what_no_manifest_names_and_nothing_else(
    tmp_path: Path, memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    land([source(tmp_path, range(3))], URL, workers=1)
    score(URL)
    kept = set(memory.names(URL))
    score(URL, everything=True)
    replaced = kept - set(memory.names(URL))
    assert replaced == set()
    store = memory.stores[URL]
    store.put("batches/b-dead/runs.0.parquet", b"left over")
    before = set(memory.names(URL))
    land([source(tmp_path, range(3))], URL, workers=1)
    assert set(memory.names(URL)) == before, "it looks once a day"
    monkeypatch.setattr(leftovers, "EVERY", timedelta(seconds=-1))
    land([source(tmp_path, range(3))], URL, workers=1)
    assert set(memory.names(URL)) == before, "all of it is young"
    monkeypatch.setattr(leftovers, "LEFT_OVER", timedelta(seconds=-1))
    land([source(tmp_path, range(3))], URL, workers=1)
    gone = before - set(memory.names(URL))
    assert "batches/b-dead/runs.0.parquet" in gone
    assert len(gone) == 3, "and the scores and call_scores that were replaced"
    assert_whole(URL)
    assert score(URL).batches == 0


@pytest.mark.parametrize("deaf_to", ["create", "e_tag"])
def test_a_store_that_ignores_conditions_is_refused(
    deaf_to: str, memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = client.Client.swap

    def swap(
        self: client.Client, name: str, data: bytes, version: dict[str, str | None] | None
    ) -> bool:
        if (version is None) == (deaf_to == "create"):
            self.store.put(name, data)
            return True
        return real(self, name, data, version)

    monkeypatch.setattr(client.Client, "swap", swap)
    for _ in range(2):
        with pytest.raises(LakeError, match="ignores conditional writes"):
            Lake.create(URL)
    assert memory.names(URL) == []
    memory.stores[URL].put("lake.json", b'{"version": 1, "policy": null}')
    for _ in range(2):
        with pytest.raises(LakeError, match="ignores conditional writes"):
            Lake.create(URL)
    assert memory.names(URL) == ["lake.json"], "a copied lake is refused too"


def test_uploads_that_are_too_old_are_made_again(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that slept for a day does not commit what a sweep may be about to take."""
    lake = Lake.create(URL)
    clock = [datetime.now(UTC).timestamp()]
    monkeypatch.setattr(objects.time, "time", lambda: clock[0])
    draft = Draft("batches/b-1", {"n": NUMBERS}, {"replaces": []})
    decisions = 0

    def decide() -> Decision[None]:
        nonlocal decisions
        decisions += 1
        clock[0] += 2 * objects.STALE_S if decisions == 1 else 0
        return Decision([draft], None)

    lake.publish(decide)
    uploads = [name for kind, name in memory.requests if "b-1/n." in name and kind == "write"]
    assert (decisions, len(uploads)) == (2, 2)
    assert_whole(URL)
