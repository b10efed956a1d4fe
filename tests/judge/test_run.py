"""Requests to a local endpoint that fails: answered once each, resumed, capped."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter

import polars as pl
import pytest
from judge.asking import batch, lines, write_lines
from judge.serving import USAGE, Server, answer, faulty, serving

from pipeline import judge
from pipeline.errors import InputError, SourceNotFoundError
from pipeline.judge import Caps, Patience

QUICK = Patience(concurrency=16, retries=12, timeout=30, backoff=0.01)


def ask(server, requests, out, patience=QUICK, **more):
    return judge.run(requests, out, url=server.url, patience=patience, **more)


def row(result):
    return result.rows.row(0, named=True)


def questions(path):
    """The question of each request by its id."""
    return {one["custom_id"]: one["body"]["messages"][-1]["content"] for one in lines(path)}


def test_with_a_fifth_of_attempts_failing_every_request_is_answered_once(tmp_path):
    requests, out = batch(tmp_path / "r.jsonl", 200), tmp_path / "out.jsonl"
    with serving(Server(faulty(0.2, seed=7))) as server:
        result = ask(server, requests, out)
    told = row(result)
    assert (told["answered"], told["left"], result.facts["exit_code"]) == (200, 0, 0)
    assert told["attempts"] == server.attempts.total() > 220
    assert server.answered == Counter(dict.fromkeys(questions(requests).values(), 1))
    assert Counter(one["custom_id"] for one in lines(out)) == Counter(questions(requests).keys())


def test_an_endpoint_that_falls_silent_is_asked_again(tmp_path):
    requests, out = batch(tmp_path / "r.jsonl", 8), tmp_path / "out.jsonl"
    silent = Server(lambda _body, attempt: (200, "silence" if attempt == 0 else answer(), {}))
    with serving(silent) as server:
        told = row(ask(server, requests, out, QUICK._replace(timeout=2)))
    assert (told["answered"], told["left"]) == (8, 0)
    assert told["attempts"] >= server.attempts.total() >= 16  # a slow machine lets more time out
    assert Counter(one["custom_id"] for one in lines(out)) == Counter(questions(requests).keys())


def test_no_more_are_under_way_than_asked_for(tmp_path):
    server = Server()
    server.delay = 0.03
    with serving(server):
        ask(
            server,
            batch(tmp_path / "r.jsonl", 24),
            tmp_path / "out.jsonl",
            QUICK._replace(concurrency=3),
        )
    assert server.most_under_way == 3
    assert server.answered.total() == 24


def test_resumed_after_kill_nothing_answered_is_sent_again(tmp_path):
    requests, out = batch(tmp_path / "r.jsonl", 120), tmp_path / "out.jsonl"
    with serving(Server(faulty(0.1, seed=3))) as server:
        server.delay = 0.02
        command = ["judge", "run", requests, "--url", server.url, "--out", out]
        running = subprocess.Popen(
            [sys.executable, "-m", "pipeline", *command, "--concurrency", "4"]
        )
        while not out.exists() or out.read_bytes().count(b"\n") < 30:
            assert running.poll() is None
            time.sleep(0.01)
        os.kill(running.pid, signal.SIGKILL)
        assert running.wait() == -signal.SIGKILL
        kept = {one["custom_id"] for one in lines(out)}
        before = server.attempts.copy()
        server.delay = 0.0
        told = row(ask(server, requests, out))
        sent_again = server.attempts - before
    by_id = questions(requests)
    assert 30 <= len(kept) < 120
    assert told["answered_before"] == len(kept)
    assert told["answered"] == 120 - len(kept)
    assert {by_id[custom] for custom in kept}.isdisjoint(sent_again)
    assert Counter(one["custom_id"] for one in lines(out)) == Counter(by_id.keys())


def test_a_line_cut_by_a_kill_is_asked_again(tmp_path):
    requests, out = batch(tmp_path / "r.jsonl", 3), tmp_path / "out.jsonl"
    with serving(Server()) as server:
        ask(server, requests, out)
        whole = out.read_bytes()
        out.write_bytes(whole[:-20])
        result = ask(server, requests, out)
    assert (row(result)["answered_before"], row(result)["answered"]) == (2, 1)
    assert "1 damaged lines" in result.notes[0]
    kept = out.read_bytes().split(b"\n")
    assert len([line for line in kept if line]) == 4
    assert sum(b'"custom_id"' in line for line in kept) == 4


def test_a_second_run_on_the_same_file_is_refused(tmp_path):
    requests, out = batch(tmp_path / "r.jsonl", 1), tmp_path / "out.jsonl"
    from pipeline.judge.log import ResponseLog  # noqa: PLC0415 - the only test that needs it

    with ResponseLog(out), pytest.raises(InputError, match="another run writes"):
        judge.run(requests, out, url="http://127.0.0.1:9/v1")


class TestCaps:
    def test_requests(self, tmp_path):
        requests, out = batch(tmp_path / "r.jsonl", 20), tmp_path / "out.jsonl"
        with serving(Server()) as server:
            result = ask(server, requests, out, caps=Caps(max_requests=7))
            assert server.answered.total() == 7
            assert (row(result)["left"], result.facts["exit_code"]) == (13, 3)
            assert "stopped before max_requests 7 was exceeded" in result.notes
            # The cap counts what the file holds; a higher one goes on from there.
            again = ask(server, requests, out, caps=Caps(max_requests=7))
            assert (row(again)["answered"], row(again)["attempts"]) == (0, 0)
            ask(server, requests, out, caps=Caps(max_requests=20))
        assert server.answered == Counter(dict.fromkeys(questions(requests).values(), 1))

    @pytest.mark.parametrize("share", [0.0, 0.3])
    def test_tokens(self, tmp_path, share):
        """An answer takes 70 tokens, and 127 are set aside for it: 13 bytes, 64 around, 50 out."""
        requests, out = batch(tmp_path / "r.jsonl", 60), tmp_path / "out.jsonl"
        with serving(Server(faulty(share, seed=5))) as server:
            result = ask(server, requests, out, caps=Caps(max_tokens=3_000))
        spent = server.answered.total() * USAGE["total_tokens"]
        assert 0 < spent <= 3_000
        assert row(result)["tokens_in"] + row(result)["tokens_out"] <= 3_000
        assert result.facts["exit_code"] == 3
        if not share:
            assert spent > 3_000 - 127

    def test_cost(self, tmp_path):
        """60 in at 10 and 10 out at 100 a million: 0.0016 an answer, and 0.00177 set aside: ten fit."""
        requests, out = batch(tmp_path / "r.jsonl", 30, max_output=10), tmp_path / "out.jsonl"
        caps = Caps(max_cost=0.0162, price_in=10, price_out=100)
        with serving(Server()) as server:
            result = ask(server, requests, out, caps=caps)
        assert server.answered.total() == 10
        assert row(result)["cost"] == pytest.approx(0.016)
        assert (row(result)["left"], result.facts["exit_code"]) == (20, 3)

    def test_a_service_that_does_not_tell_its_use_is_counted_at_most(self, tmp_path):
        """13 bytes + 64 + 50 tokens = 127 a request: 7 fit into 1,000."""
        requests, out = batch(tmp_path / "r.jsonl", 30), tmp_path / "out.jsonl"
        with serving(Server(lambda *_: (200, answer(usage=None), {}))) as server:
            ask(server, requests, out, caps=Caps(max_tokens=1_000))
        assert server.answered.total() == 7

    def test_an_answer_cut_off_may_have_been_paid(self, tmp_path):
        cut = json.dumps(answer())[:-20]
        requests, out = batch(tmp_path / "r.jsonl", 9), tmp_path / "out.jsonl"
        with serving(Server(lambda *_: (200, cut, {}))) as server:
            result = ask(server, requests, out, caps=Caps(max_requests=3))
        assert server.attempts.total() == 3
        assert any(note.startswith("3 left: HTTP 200: {") for note in result.notes)

    def test_no_request_is_sent_under_a_cap_of_nothing(self, tmp_path):
        requests, out = batch(tmp_path / "r.jsonl", 2), tmp_path / "out.jsonl"
        with serving(Server()) as server:
            ask(server, requests, out, caps=Caps(max_requests=0))
        assert not server.attempts


class TestFaults:
    def test_what_is_refused_for_good_is_not_retried_and_stays_left(self, tmp_path):
        def script(body, _attempt):
            bad = body["messages"][-1]["content"] == "question 0001"
            return (400, {"error": "no"}, {}) if bad else (200, answer(), {})

        requests, out = batch(tmp_path / "r.jsonl", 3), tmp_path / "out.jsonl"
        with serving(Server(script)) as server:
            result = ask(server, requests, out)
        assert server.attempts["question 0001"] == 1
        assert (row(result)["refused"], row(result)["left"]) == (1, 1)
        assert result.notes[0].startswith("1 left: HTTP 400")
        assert result.facts["exit_code"] == 3

    def test_what_fails_to_the_last_is_left(self, tmp_path):
        requests, out = batch(tmp_path / "r.jsonl", 2), tmp_path / "out.jsonl"
        with serving(Server(lambda *_: (503, "busy", {}))) as server:
            result = ask(server, requests, out, patience=QUICK._replace(retries=2))
        assert set(server.attempts.values()) == {3}
        assert (row(result)["failed"], row(result)["left"]) == (2, 2)
        assert out.read_bytes() == b""

    def test_a_page_instead_of_an_answer_is_a_fault_that_may_pass(self, tmp_path):
        def script(_body, attempt):
            return (200, answer() if attempt else "<html>proxy</html>", {})

        requests, out = batch(tmp_path / "r.jsonl", 1), tmp_path / "out.jsonl"
        with serving(Server(script)) as server:
            assert row(ask(server, requests, out))["answered"] == 1
        assert server.attempts["question 0000"] == 2

    @pytest.mark.parametrize("body", [{"error": {"code": 502}}, {"choices": [], "usage": USAGE}])
    def test_a_fault_under_status_200_is_asked_again(self, tmp_path, body):
        """As gateways tell what went wrong behind them; the tokens they name are spent."""
        requests, out = batch(tmp_path / "r.jsonl", 3), tmp_path / "out.jsonl"
        with serving(
            Server(lambda _b, attempt: (200, answer() if attempt else body, {}))
        ) as server:
            told = row(ask(server, requests, out))
        assert (told["answered"], told["attempts"], told["failed"]) == (3, 6, 0)
        assert told["tokens_in"] == USAGE["prompt_tokens"] * (6 if "usage" in body else 3)
        assert all(one["response"]["body"] == answer() for one in lines(out))

    def test_what_an_earlier_run_took_for_an_answer_is_asked_again(self, tmp_path):
        requests, out = batch(tmp_path / "r.jsonl", 2), tmp_path / "out.jsonl"
        held = {"status_code": 200, "request_id": None, "body": {"error": {"code": 502}}}
        write_lines(out, [{"custom_id": one, "response": held} for one in questions(requests)])
        with serving(Server()) as server:
            told = row(ask(server, requests, out))
        assert (told["answered_before"], told["answered"], told["left"]) == (0, 2, 0)

    def test_an_answer_that_never_ends_is_a_timeout(self, tmp_path):
        """A byte now and then keeps every single read short."""
        requests, out = batch(tmp_path / "r.jsonl", 2), tmp_path / "out.jsonl"
        script = lambda _, attempt: (200, answer() if attempt else "drip", {})  # noqa: E731
        with serving(Server(script)) as server:
            told = row(ask(server, requests, out, QUICK._replace(timeout=2)))
        assert told["answered"] == 2
        assert told["attempts"] >= 4  # a slow machine lets more time out

    def test_an_address_that_has_moved_ends_the_run(self, tmp_path):
        requests, out = batch(tmp_path / "r.jsonl", 2), tmp_path / "out.jsonl"
        script = lambda *_: (307, "", {"Location": "http://elsewhere/v1"})  # noqa: E731
        with serving(Server(script)) as server, pytest.raises(InputError, match="elsewhere/v1"):
            ask(server, requests, out)

    def test_no_server(self, tmp_path):
        with serving(Server()) as server:
            pass
        requests, out = batch(tmp_path / "r.jsonl", 1), tmp_path / "out.jsonl"
        result = ask(server, requests, out, patience=QUICK._replace(retries=1))
        assert result.notes[0].startswith("1 left: no connection")

    def test_a_retry_after_beyond_patience_leaves_the_request(self, tmp_path):
        script = lambda *_: (429, "later", {"Retry-After": "86400"})  # noqa: E731 - one reply
        requests, out = batch(tmp_path / "r.jsonl", 1), tmp_path / "out.jsonl"
        with serving(Server(script)) as server:
            assert row(ask(server, requests, out))["left"] == 1
        assert server.attempts.total() == 1

    @pytest.mark.parametrize(
        "asked",
        [
            "Thu, 01 Jan 99999999999999999999 00:00:00 GMT",
            "Thu, 01 Jan 2026 00:00:00 +99999999999999",
            "nan",
            "in a while",
        ],
    )
    def test_a_retry_after_that_is_no_time_is_none(self, tmp_path, asked):
        later = (429, "", {"Retry-After": asked})
        script = lambda _, attempt: (200, answer(), {}) if attempt else later  # noqa: E731
        requests, out = batch(tmp_path / "r.jsonl", 1), tmp_path / "out.jsonl"
        with serving(Server(script)) as server:
            told = row(ask(server, requests, out))
        assert (told["answered"], told["attempts"]) == (1, 2)

    @pytest.mark.parametrize("status", [401, 403, 404])
    def test_what_every_request_would_meet_ends_the_run_and_keeps_the_key(
        self, tmp_path, monkeypatch, status
    ):
        monkeypatch.setenv("JUDGE_KEY", "very-secret-1")
        said = {"error": "the key very-secret-1 is unknown"}
        requests, out = batch(tmp_path / "r.jsonl", 50), tmp_path / "out.jsonl"
        with (
            serving(Server(lambda *_: (status, said, {}))) as server,
            pytest.raises(InputError, match=f"HTTP {status}") as error,
        ):
            ask(server, requests, out, key_env="JUDGE_KEY")
        assert server.attempts.total() <= 2 * QUICK.concurrency
        assert server.headers[0]["Authorization"] == "Bearer very-secret-1"
        assert "very-secret-1" not in str(error.value)
        assert out.read_bytes() == b""


class TestInput:
    def test_no_key_is_sent_unless_named(self, tmp_path):
        requests = batch(tmp_path / "r.jsonl", 1)
        with serving(Server()) as server:
            ask(server, requests, tmp_path / "out.jsonl")
        assert "Authorization" not in server.headers[0]

    def test_a_variable_that_is_not_set(self, tmp_path, monkeypatch):
        monkeypatch.delenv("NO_SUCH_KEY", raising=False)
        with pytest.raises(InputError, match="NO_SUCH_KEY is not set"):
            judge.run(tmp_path / "r", tmp_path / "o", url="http://x", key_env="NO_SUCH_KEY")

    @pytest.mark.parametrize("messages", [None, "hi", ["hi", 1]])
    def test_what_a_request_holds_is_for_the_service_to_refuse(self, tmp_path, messages):
        told = {"custom_id": "a", "body": {"messages": messages}}
        requests = write_lines(tmp_path / "r.jsonl", [told])
        with serving(Server()) as server:
            server.reply = lambda *_: (400, "no such messages", {})
            assert row(ask(server, requests, tmp_path / "o"))["refused"] == 1

    @pytest.mark.parametrize(
        ("line", "said"),
        [
            ("{", "no request"),
            ({"custom_id": "a", "params": {"model": "m"}}, "Anthropic's batch format"),
            ({"custom_id": 7, "body": {}}, "no request"),
        ],
    )
    def test_no_batch_file(self, tmp_path, line, said):
        requests = write_lines(tmp_path / "r.jsonl", [line])
        with pytest.raises(InputError, match=said):
            judge.run(requests, tmp_path / "o", url="http://x")

    def test_an_id_twice(self, tmp_path):
        requests = write_lines(tmp_path / "r.jsonl", [{"custom_id": "a", "body": {}}] * 2)
        with pytest.raises(InputError, match="two requests have the id 'a'"):
            judge.run(requests, tmp_path / "o", url="http://x")

    def test_no_such_file(self, tmp_path):
        with pytest.raises(SourceNotFoundError, match="no such file of requests"):
            judge.run(tmp_path / "r", tmp_path / "o", url="http://x")

    def test_no_address(self, tmp_path):
        with pytest.raises(InputError, match="http:// or https://"):
            judge.run(tmp_path / "r", tmp_path / "o", url="localhost:8000")
        with pytest.raises(InputError, match="url 'http://host:port'"):
            judge.run(tmp_path / "r", tmp_path / "o", url="http://host:port")

    def test_an_answer_that_holds_what_json_lacks_is_an_answer(self, tmp_path):
        body = answer(logprobs=[float("nan"), float("-inf")])
        requests, out = batch(tmp_path / "r.jsonl", 1), tmp_path / "out.jsonl"
        with serving(Server(lambda *_: (200, json.dumps(body), {}))) as server:
            ask(server, requests, out)
            assert row(ask(server, requests, out))["answered_before"] == 1
        assert server.attempts.total() == 1

    def test_a_full_disk_is_told(self, tmp_path, monkeypatch):
        def full(*_):
            raise OSError(28, "No space left on device")

        requests, out = batch(tmp_path / "r.jsonl", 2), tmp_path / "out.jsonl"
        with serving(Server()) as server:
            monkeypatch.setattr("pipeline.judge.log.os.fsync", full)
            with pytest.raises(InputError, match=r"out.jsonl: cannot write: No space left"):
                ask(server, requests, out)

    @pytest.mark.parametrize(
        "caps",
        [
            Caps(max_cost=float("nan"), price_in=1, price_out=1),
            Caps(max_cost=1, price_in=float("nan"), price_out=1),
            Caps(max_cost=1, price_in=1, price_out=float("inf")),
            Caps(max_cost=1, price_in=-1, price_out=1),
            Caps(max_tokens=-1),
        ],
    )
    def test_a_cap_that_caps_nothing_is_refused_before_anything_is_sent(self, tmp_path, caps):
        requests, out = batch(tmp_path / "r.jsonl", 1), tmp_path / "out.jsonl"
        with (
            serving(Server()) as server,
            pytest.raises(InputError, match="a number from 0 on is needed"),
        ):
            ask(server, requests, out, caps=caps)
        assert not server.attempts

    @pytest.mark.parametrize("patience", [{"timeout": float("nan")}, {"backoff": float("nan")}])
    def test_patience_is_numbers(self, tmp_path, patience):
        requests = batch(tmp_path / "r.jsonl", 1)
        with pytest.raises(InputError, match=f"{next(iter(patience))} nan"):
            judge.run(requests, tmp_path / "o", url="http://x", patience=QUICK._replace(**patience))

    def test_a_count_of_tokens_that_no_answer_has_is_not_believed(self, tmp_path):
        """It counts as the most the request could use, as where nothing is told."""
        told = [{"prompt_tokens": 10**40, "completion_tokens": 1 << 63}, {}]
        found = []
        for number, usage in enumerate(told):
            requests, out = batch(tmp_path / f"{number}.jsonl", 2), tmp_path / f"{number}.out"
            with serving(Server(lambda *_, u=usage: (200, answer(usage=u), {}))) as server:
                found.append([row(ask(server, requests, out)) for _ in range(2)])
        assert found[0] == found[1]
        assert [one["tokens_out"] for one in found[0]] == [100, 100]

    def test_a_sum_of_tokens_beyond_64_bits_is_null(self, tmp_path):
        usage = {"prompt_tokens": (1 << 63) - 1, "completion_tokens": 1}
        requests, out = batch(tmp_path / "r.jsonl", 2), tmp_path / "out.jsonl"
        with serving(Server(lambda *_: (200, answer(usage=usage), {}))) as server:
            result = ask(server, requests, out)
        assert (row(result)["tokens_in"], row(result)["tokens_out"]) == (None, 2)
        assert result.rows.schema["tokens_in"] == pl.Int64

    def test_answers_are_kept_as_they_came(self, tmp_path):
        body = answer("half a pair \ud800 and 東京", extra=[1, None])
        requests, out = batch(tmp_path / "r.jsonl", 1), tmp_path / "out.jsonl"
        with serving(Server(lambda *_: (200, json.dumps(body), {"x-request-id": "q1"}))) as server:
            ask(server, requests, out)
        (line,) = lines(out)
        assert line["response"] == {"status_code": 200, "request_id": "q1", "body": body}
