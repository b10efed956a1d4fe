"""Hosts for clusters of tests: this one, or network namespaces joined by a bridge in a third.

Nothing is made in this machine's own namespace: links are made where they end, and go with it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, NamedTuple

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

NETWORK = "10.77.0"
IP = shutil.which("ip")


class Host(NamedTuple):
    """Where a process runs: the words before its command, and the address it is reached at."""

    inside: tuple[str, ...]
    address: str


HERE = Host((), "127.0.0.1")


def ip(*args: str) -> None:
    """Run iproute2, whose complaint is the error.

    Raises:
        OSError: it refuses.
    """
    done = subprocess.run([IP or "ip", *args], capture_output=True, text=True, check=False)
    if done.returncode:
        raise OSError(f"ip {' '.join(args)}: {done.stderr.strip()}")


class Network:
    """Namespaces `PREFIX0`, with a bridge, and `PREFIX1` and on, each with a link to it."""

    def __init__(self, prefix: str, hosts: int) -> None:
        self.names = [f"{prefix}{number}" for number in range(hosts + 1)]
        self.hosts = [
            Host(("ip", "netns", "exec", name), f"{NETWORK}.{number}")
            for number, name in enumerate(self.names, 1)
        ]

    def found(self) -> None:
        for name in self.names:
            ip("netns", "add", name)
            ip("-n", name, "link", "set", "lo", "up")

    def join(self) -> None:
        hub = self.names[0]
        ip("-n", hub, "link", "add", "bridge", "type", "bridge")
        ip("-n", hub, "addr", "add", f"{self.hosts[0].address}/24", "dev", "bridge")
        ip("-n", hub, "link", "set", "bridge", "up")
        for name, host in zip(self.names[1:], self.hosts[1:], strict=True):
            link = ("link", "add", f"to-{name}", "type", "veth", "peer", "name", "veth")
            ip("-n", hub, *link, "netns", name)
            ip("-n", hub, "link", "set", f"to-{name}", "master", "bridge")
            ip("-n", hub, "link", "set", f"to-{name}", "up")
            ip("-n", name, "addr", "add", f"{host.address}/24", "dev", "veth")
            ip("-n", name, "link", "set", "veth", "up")

    def set(self, host: Host, state: str) -> None:
        """Set a host's link `down`, or `up` again: what it sends is lost, and nobody says so."""
        number = self.hosts.index(host)
        ip("-n", self.names[0], "link", "set", f"to-{self.names[number]}", state)

    def remove(self) -> None:
        for name in self.names:
            with suppress(OSError):  # as far as they were made
                ip("netns", "del", name)


@contextmanager
def network(hosts: int) -> Iterator[Network]:
    """Give a network of so many hosts beside its hub; skip the test where none may be made."""
    if IP is None:
        pytest.skip("needs ip (iproute2) to make network namespaces")
    made = Network(f"tt{os.getpid()}h", hosts)
    try:
        try:
            made.found()
        except OSError as error:
            pytest.skip(f"network namespaces are not permitted here: {error}")
        made.join()
        yield made
    finally:
        made.remove()
