"""URLs are addresses of lakes and stay what they are, from the command line to the store."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lakes import trajtab

from pipeline.errors import InputError, LakeError
from pipeline.lake import Lake
from pipeline.store.address import Address, address_of
from pipeline.store.connect import CLOUDS, connect

NAMES = st.from_regex(r"[a-z0-9][a-z0-9._ -]{0,8}[a-z0-9]", fullmatch=True)


@given(scheme=st.sampled_from(["s3", "gs", "az"]), bucket=NAMES, parts=st.lists(NAMES, max_size=4))
def test_an_address_is_its_url(scheme: str, bucket: str, parts: list[str]) -> None:
    url = "/".join([f"{scheme}://{bucket}", *parts])
    address = address_of(url)
    assert address == Address(scheme, bucket, "/".join(parts))
    assert str(address) == os.fspath(address) == url
    assert address_of(address) == address_of(f"{url}/") == address
    assert address.name == url.rsplit("/", 1)[1]


@pytest.mark.parametrize("path", ["lake", "/data/lake", "s3", "s3:", "./s3:x", "C:/lake", ""])
def test_what_is_no_url_is_a_path(path: str) -> None:
    assert address_of(path) == Path(path)


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("https://host/lake", "s3://, gs://, az://"),
        ("file:///lake", "s3://, gs://, az://"),
        ("s3://", "no bucket"),
        ("s3:///prefix", "no bucket"),
        ("gs://bucket/a/../b", r"\.\."),
        ("az://container/a?sig=1", r"\?"),
        (Path("s3://bucket/lake"), "give it as text"),
    ],
)
def test_what_is_no_address_is_told(url: str | Path, told: str) -> None:
    with pytest.raises(InputError, match=told):
        Lake(url)


def test_a_bad_url_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert trajtab("score", "http://host/lake") == 2
    assert "s3://, gs://, az://" in capsys.readouterr().err


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """An environment that says nothing of any cloud."""
    for name in list(os.environ):
        if name.startswith(("AWS_", "GOOGLE_", "AZURE_")):
            monkeypatch.delenv(name)
    return monkeypatch


CONFIGURED = {
    "s3": {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b"},
    "gs": {"GOOGLE_SKIP_SIGNATURE": "true"},
    "az": {"AZURE_STORAGE_ACCOUNT_NAME": "acme", "AZURE_STORAGE_ACCOUNT_KEY": "a2V5"},
}


@pytest.mark.parametrize("scheme", CLOUDS)
def test_a_store_is_made_from_url_and_environment(scheme: str, bare: pytest.MonkeyPatch) -> None:
    for name, value in CONFIGURED[scheme].items():
        bare.setenv(name, value)
    client = connect(Address(scheme, "logs", "a/b"))
    assert client.store.prefix == "a/b"
    assert client.store.retry_config["max_retries"] == 10
    told = client.store.config
    assert told.get("bucket", told.get("container_name")) == "logs"


def test_an_endpoint_spelled_http_is_allowed_and_no_other(bare: pytest.MonkeyPatch) -> None:
    for name, value in CONFIGURED["s3"].items():
        bare.setenv(name, value)
    options = connect(Address("s3", "logs", "")).store.client_options
    assert options["allow_http"] in (False, "false")
    bare.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9000")
    options = connect(Address("s3", "logs", "")).store.client_options
    assert options["allow_http"] in (True, "true")


@pytest.mark.parametrize("scheme", CLOUDS)
def test_a_missing_credential_is_told(
    scheme: str, bare: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """At once: nothing is asked of the network, and no file of a profile is read."""
    bare.setenv("AZURE_STORAGE_ACCOUNT_NAME", "acme")
    assert trajtab("score", f"{scheme}://logs/lake") == 2
    told = capsys.readouterr().err
    assert f"{scheme}://logs/lake: no credential in the environment: set " in told
    assert " with ".join(CLOUDS[scheme].credentials[0]) in told
    bare.setenv("TRAJTAB_MACHINE_ROLE", "1")
    assert connect(address_of(f"{scheme}://logs/lake")).bucket == CLOUDS[scheme].bucket


@pytest.mark.parametrize(
    ("scheme", "given", "told"),
    [
        ("s3", {"AWS_ACCESS_KEY_ID": "a"}, "AWS_SECRET_ACCESS_KEY must be set"),
        ("az", {"AZURE_STORAGE_ACCOUNT_KEY": "a2V5"}, "AZURE_STORAGE_ACCOUNT_NAME must be set"),
        ("gs", {"GOOGLE_SERVICE_ACCOUNT_KEY": "no json"}, "settings do not do"),
    ],
)
def test_half_a_configuration_is_told(
    scheme: str, given: dict[str, str], told: str, bare: pytest.MonkeyPatch
) -> None:
    for name, value in given.items():
        bare.setenv(name, value)
    with pytest.raises(LakeError, match=told):
        connect(Address(scheme, "logs", ""))
