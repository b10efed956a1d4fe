"""Object stores by URL: retries, time-outs, and credentials, which come from the environment alone."""

from __future__ import annotations

import os
from datetime import timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

from pipeline.errors import LakeError
from pipeline.store.client import Client, reason

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pipeline.store.address import Address


class Cloud(NamedTuple):
    """What one kind of store wants of the environment."""

    bucket: str
    """What its documentation calls a bucket."""
    credentials: tuple[tuple[str, ...], ...]
    """Sets of variables; one whole set is a credential."""
    needed: tuple[str, ...] = ()
    hint: str = ""


CLOUDS = {
    "s3": Cloud(
        "bucket",
        (
            ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"),
            ("AWS_WEB_IDENTITY_TOKEN_FILE",),
            ("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",),
            ("AWS_CONTAINER_CREDENTIALS_FULL_URI",),
            ("AWS_SKIP_SIGNATURE",),
        ),
        hint='; profiles are not read: `eval "$(aws configure export-credentials --format env)"`'
        " puts one into the environment",
    ),
    "gs": Cloud(
        "bucket",
        (
            ("GOOGLE_APPLICATION_CREDENTIALS",),
            ("GOOGLE_SERVICE_ACCOUNT",),
            ("GOOGLE_SERVICE_ACCOUNT_PATH",),
            ("GOOGLE_SERVICE_ACCOUNT_KEY",),
            ("GOOGLE_BEARER_TOKEN",),
            ("GOOGLE_SKIP_SIGNATURE",),
        ),
    ),
    "az": Cloud(
        "container",
        (
            ("AZURE_STORAGE_ACCOUNT_KEY",),
            ("AZURE_STORAGE_ACCESS_KEY",),
            ("AZURE_STORAGE_SAS_TOKEN",),
            ("AZURE_STORAGE_SAS_KEY",),
            ("AZURE_STORAGE_TOKEN",),
            ("AZURE_CLIENT_ID", "AZURE_CLIENT_SECRET", "AZURE_TENANT_ID"),
            ("AZURE_FEDERATED_TOKEN_FILE",),
            ("AZURE_SKIP_SIGNATURE",),
        ),
        ("AZURE_STORAGE_ACCOUNT_NAME",),
    ),
}

ENDPOINTS = {
    "s3": ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT"),
    "gs": ("GOOGLE_BASE_URL",),
    "az": ("AZURE_STORAGE_ENDPOINT", "AZURE_ENDPOINT"),
}

RETRY = {
    "max_retries": 10,
    "backoff": {
        "init_backoff": timedelta(milliseconds=100),
        "max_backoff": timedelta(seconds=10),
        "base": 2,
    },
    "retry_timeout": timedelta(minutes=3),
}
ROLE = "TRAJTAB_MACHINE_ROLE"
"""Set to anything: use the role that the machine has, as instances and pods do."""


def connect(address: Address) -> Client:
    """Return the client of a lake's store.

    Credentials come from the environment; the role of the machine itself counts where the
    environment says so.

    Raises:
        LakeError: the extra `objects` or a credential is missing.
    """
    environment = {name: value for name, value in os.environ.items() if value}
    cloud = CLOUDS[address.scheme]
    _require(address)
    _refuse_missing(address, cloud.needed, environment)
    _refuse_without_credential(address, cloud, environment)
    return Client(address, cloud.bucket, _store(address, environment))


def _require(address: Address) -> None:
    try:
        import obstore  # noqa: F401, PLC0415 - an extra
    except ImportError as error:
        raise LakeError(
            f"{address}: lakes in object stores need obstore, not installed here: "
            "`pip install 'trajtab[objects]'`"
        ) from error


def _refuse_without_credential(
    address: Address, cloud: Cloud, environment: Mapping[str, str]
) -> None:
    known = (*cloud.credentials, (ROLE,))
    if any(all(name in environment for name in one) for one in known):
        return
    for one in known:
        if any(name in environment for name in one):
            _refuse_missing(address, one, environment)
    ways = " or ".join(" with ".join(one) for one in cloud.credentials[:2])
    raise LakeError(
        f"{address}: no credential in the environment: set {ways}, or {ROLE}=1 for this machine's "
        f"own role (docs/object-stores.md lists all){cloud.hint}"
    )


def _refuse_missing(address: Address, names: Sequence[str], environment: Mapping[str, str]) -> None:
    if missing := [name for name in names if name not in environment]:
        raise LakeError(
            f"{address}: {' and '.join(missing)} must be set in the environment too; "
            "docs/object-stores.md lists what each store needs"
        )


def _store(address: Address, environment: Mapping[str, str]) -> Any:
    """Return obstore's own client; what is not said here it takes from the environment."""
    from obstore import store  # noqa: PLC0415 - an extra

    endpoint = next((environment[n] for n in ENDPOINTS[address.scheme] if n in environment), "")
    options = {
        "prefix": address.prefix or None,
        "client_options": {
            "connect_timeout": "10s",
            "timeout": "120s",
            # An endpoint spelled http:// is meant so: a server of one's own, or a test's.
            "allow_http": endpoint.startswith("http://"),
        },
        "retry_config": RETRY,
    }
    kinds = {"s3": store.S3Store, "gs": store.GCSStore, "az": store.AzureStore}
    try:
        return kinds[address.scheme](address.bucket, **options)
    except Exception as error:
        raise LakeError(
            f"{address}: the environment's settings do not do: {reason(error)}"
        ) from error
