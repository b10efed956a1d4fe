"""Object stores for tests: in memory, and moto's S3 server with a proxy in front that can fail."""

from __future__ import annotations

import http.client
import os
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, NamedTuple

from obstore.store import MemoryStore

from pipeline.store.client import Client

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pipeline.store.address import Address

LOOPBACK = "127.0.0.1"


class Request(NamedTuple):
    """One request, as the proxy saw it."""

    method: str
    name: str


def free_port() -> int:
    with socket.socket() as one:
        one.bind((LOOPBACK, 0))
        return int(one.getsockname()[1])


@contextmanager
def moto() -> Iterator[str]:
    """Run moto's server and yield its URL."""
    port = free_port()
    server = subprocess.Popen(
        [sys.executable, "-m", "moto.server", "-p", str(port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        for _ in range(600):
            try:
                ask(port, "GET", "/moto-api/")
                break
            except OSError:
                time.sleep(0.05)
        yield f"http://{LOOPBACK}:{port}"
    finally:
        server.kill()
        server.wait()


def ask(port: int, method: str, path: str) -> int:
    """Send a request of no body and return the status."""
    connection = http.client.HTTPConnection(LOOPBACK, port, timeout=30)
    try:
        connection.request(method, path)
        answer = connection.getresponse()
        answer.read()
        return answer.status
    finally:
        connection.close()


class Proxy:
    """A server that hands requests on, unless `judge` names a status to answer with.

    `judge` is asked before a request goes on, and again after it was answered: then the store has
    done what was asked, and only its answer is lost.
    """

    def __init__(self, port: int) -> None:
        self.seen: list[Request] = []
        self.judge: Callable[[Request, str], int | None] = lambda _request, _when: None
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                told = Request(self.command, self.path.split("?")[0].split("/", 2)[-1])
                proxy.seen.append(told)
                status = proxy.judge(told, "before")
                if status is None:
                    status, headers, data = hand_on(port, self, body)
                    if (instead := proxy.judge(told, "after")) is not None:
                        status, headers, data = instead, [], b""
                else:
                    headers, data = [], b""
                self.send_response(status)
                for name, value in headers:
                    if name.lower() not in {"content-length", "transfer-encoding", "connection"}:
                        self.send_header(name, value)
                length = dict(headers).get("Content-Length") if self.command == "HEAD" else None
                self.send_header("Content-Length", length or str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = answer  # noqa: N815 - the server's names

            def log_message(self, *_: Any) -> None:
                """Say nothing."""

        self.server = ThreadingHTTPServer((LOOPBACK, 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://{LOOPBACK}:{self.server.server_address[1]}"

    @contextmanager
    def running(self) -> Iterator[Proxy]:
        thread = threading.Thread(target=self.server.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield self
        finally:
            self.server.shutdown()
            thread.join()
            self.server.server_close()


def hand_on(
    port: int, handler: BaseHTTPRequestHandler, body: bytes
) -> tuple[int, list[tuple[str, str]], bytes]:
    connection = http.client.HTTPConnection(LOOPBACK, port, timeout=60)
    try:
        connection.request(handler.command, handler.path, body, dict(handler.headers))
        answer = connection.getresponse()
        return answer.status, answer.getheaders(), answer.read()
    finally:
        connection.close()


def environment(url: str, cache: object) -> dict[str, str]:
    """Return what a process needs to use a server of ours."""
    return {
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_REGION": "us-east-1",
        "AWS_ENDPOINT_URL": url,
        "TRAJTAB_CACHE": str(cache),
    }


class RefusedError(Exception):
    """Raised by `stop`: the store refuses a conditional write."""


class Counting(Client):
    """A client that remembers its requests, and may be stopped before or after any write."""

    requests: list[tuple[str, str]]
    ranges: list[tuple[int, int]]
    stop: Callable[[str, str, str], None]

    def _seen(self, kind: str, name: str, act: Callable[[], Any]) -> Any:
        self.requests.append((kind, name))
        self.stop(kind, name, "before")
        done = act()
        self.stop(kind, name, "after")
        return done

    def get(self, name: str) -> Any:
        return self._seen("get", name, lambda: Client.get(self, name))

    def head(self, name: str) -> Any:
        return self._seen("head", name, lambda: Client.head(self, name))

    def list(self, folder: str) -> Any:
        return self._seen("list", folder, lambda: Client.list(self, folder))

    def range(self, name: str, start: int, end: int) -> bytes:
        self.ranges.append((start, end))
        return bytes(self._seen("range", name, lambda: Client.range(self, name, start, end)))

    def swap(self, name: str, data: bytes, version: Any) -> bool:
        try:
            return bool(self._seen("write", name, lambda: Client.swap(self, name, data, version)))
        except RefusedError:
            return False

    def put(self, name: str, content: Any) -> None:
        self._seen("write", name, lambda: Client.put(self, name, content))


class Memory:
    """Stores in memory, one per address; `stop` is called before and after every request."""

    def __init__(self) -> None:
        self.stores: dict[str, MemoryStore] = {}
        self.requests: list[tuple[str, str]] = []
        self.ranges: list[tuple[int, int]] = []
        self.stop: Callable[[str, str, str], None] = lambda _kind, _name, _when: None

    def connect(self, address: Address) -> Client:
        store = self.stores.setdefault(str(address), MemoryStore())
        client = Counting(address, "bucket", store)
        client.requests, client.ranges = self.requests, self.ranges
        client.stop = lambda *request: self.stop(*request)  # noqa: PLW0108 - whatever it is then
        return client

    def names(self, address: str) -> list[str]:
        """Return the names of all objects of a lake."""
        listed = self.stores[address].list(chunk_size=1000)
        return sorted(meta["path"] for part in listed for meta in part)


def with_environment(more: dict[str, str]) -> dict[str, str]:
    """Return this process's environment and more."""
    return {**os.environ, **more}
