"""A chat endpoint on this machine: it answers, fails as told, and remembers what it was asked."""

from __future__ import annotations

import json
import threading
from collections import Counter
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from random import Random
from time import sleep
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

USAGE = {"prompt_tokens": 60, "completion_tokens": 10, "total_tokens": 70}
FAULTS = ("429", "500", "dropped")

DRIPS = [b" "] * 200
"""A body that comes a byte at a time, for ten seconds."""

Reply = tuple[int, Any, dict[str, str]]


def answer(content: str = '{"reason": "so", "relevant": true}', **more: Any) -> dict[str, Any]:
    """Return the body of a chat completion."""
    message = {"role": "assistant", "content": content}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return {"id": "c", "model": "served", "choices": [choice], "usage": USAGE, **more}


class Server:
    """What the endpoint does and saw. `script` makes the reply to the n-th attempt at a body."""

    def __init__(self, script: Callable[[dict[str, Any], int], Reply] | None = None) -> None:
        self.script = script or (lambda _body, _attempt: (200, answer(), {}))
        self.lock = threading.Lock()
        self.attempts: Counter[str] = Counter()
        """By question (the user's message): how often it was sent."""
        self.answered: Counter[str] = Counter()
        """How often it was answered with 200."""
        self.headers: list[dict[str, str]] = []
        self.under_way = 0
        self.most_under_way = 0
        self.url = ""
        self.delay = 0.0
        self.stopping = threading.Event()

    def reply(self, body: dict[str, Any], headers: dict[str, str]) -> Reply | None:
        question = body["messages"][-1]["content"]
        with self.lock:
            self.headers.append(headers)
            attempt = self.attempts[question]
            self.attempts[question] += 1
            self.under_way += 1
            self.most_under_way = max(self.most_under_way, self.under_way)
        try:
            sleep(self.delay)
            status, told, more = self.script(body, attempt)
            if told == "silence":
                self.stopping.wait()
                return None
            if told == "dropped":
                return None
            if told == "drip":
                return status, DRIPS, more
            with self.lock:
                self.answered[question] += status == 200
            return status, told, more
        finally:
            with self.lock:
                self.under_way -= 1


def faulty(share: float, seed: int = 0) -> Callable[[dict[str, Any], int], Reply]:
    """Return a script in which a share of all attempts meets a 429, a 500 or a hang-up."""
    chance, lock = Random(seed), threading.Lock()  # noqa: S311 - faults, no secrets

    def script(_body: dict[str, Any], _attempt: int) -> Reply:
        with lock:
            fault = chance.choice(FAULTS) if chance.random() < share else None
        if fault == "429":
            return 429, {"error": {"message": "slow down"}}, {"Retry-After": "0.01"}
        if fault == "500":
            return 500, "oops", {}
        return 200, fault or answer(), {}

    return script


@contextmanager
def serving(server: Server) -> Iterator[Server]:
    """Run the endpoint on a free port of this machine."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            data = self.rfile.read(int(self.headers["Content-Length"]))
            found = server.reply(json.loads(data), dict(self.headers))
            if found is None:
                self.close_connection = True
                return
            status, told, more = found
            if told is DRIPS:
                self.drip(status)
                return
            sent = told.encode() if isinstance(told, str) else json.dumps(told).encode()
            try:
                self.send_response(status)
                for name, value in {**more, "Content-Length": str(len(sent))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(sent)
            except OSError:  # whoever asked was killed
                self.close_connection = True

        def drip(self, status: int) -> None:
            self.close_connection = True
            with suppress(OSError):  # whoever asked had enough
                self.send_response(status)
                self.end_headers()
                for byte in DRIPS:
                    self.wfile.write(byte)
                    server.stopping.wait(0.05)

        def log_message(self, *_: Any) -> None:
            pass

    class Quiet(ThreadingHTTPServer):
        daemon_threads = True
        request_queue_size = 64

        def handle_error(self, *_: Any) -> None:
            pass

    with Quiet(("127.0.0.1", 0), Handler) as listening:
        server.url = f"http://127.0.0.1:{listening.server_address[1]}/v1"
        thread = threading.Thread(target=listening.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield server
        finally:
            server.stopping.set()
            listening.shutdown()
            thread.join()
