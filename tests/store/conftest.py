"""Stores for these tests: `memory` in this process, `s3` a server on loopback behind a proxy."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

import pytest
from objects import Memory, Proxy, ask, environment, moto

from pipeline.store import connect

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

BUCKETS = count()


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give every test a cache of its own."""
    monkeypatch.setenv("TRAJTAB_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def memory(monkeypatch: pytest.MonkeyPatch) -> Memory:
    """Let every URL be a store in memory."""
    stores = Memory()
    monkeypatch.setattr(connect, "connect", stores.connect)
    return stores


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    with moto() as url:
        yield url


@pytest.fixture
def proxy(server: str) -> Iterator[Proxy]:
    with Proxy(int(server.rsplit(":", 1)[1])).running() as running:
        yield running


@pytest.fixture
def s3(server: str, proxy: Proxy, own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the URL of a prefix in a new bucket, reached through the proxy."""
    bucket = f"bucket-{next(BUCKETS)}"
    assert ask(int(server.rsplit(":", 1)[1]), "PUT", f"/{bucket}") == 200
    for name, value in environment(proxy.url, own_cache).items():
        monkeypatch.setenv(name, value)
    return f"s3://{bucket}/team/lake"
