"""OTLP's exports as typed structs: what stands around spans and log records, in its spellings."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import msgspec
from msgspec import UNSET, UnsetType

from pipeline.landing.unknown.unmapped import Known, Noting, Unmapped, add, decoder, leaves_out
from pipeline.landing.values.decode import decoding
from pipeline.landing.values.escapes import plainer

if TYPE_CHECKING:
    from collections.abc import Iterator

VOCABULARY = b"gen_ai."
SCOPES = (
    "scopeSpans", "scopeLogs", "instrumentationLibrarySpans", "scope_spans", "scope_logs",
    "instrumentation_library_spans",
)  # fmt: skip
MEMBERS = ("resourceSpans", "resource_spans", "resourceLogs", "resource_logs", "batches")


@leaves_out("scope", "schemaUrl", "schema_url", "instrumentationLibrary", "instrumentation_library")
class Scope(Known):
    """The spans, or the log records, of one instrumentation."""

    spans: list[msgspec.Raw] | None = None
    logRecords: list[msgspec.Raw] | None = None  # noqa: N815 - OTLP's own names
    log_records: list[msgspec.Raw] | None = None


@leaves_out("schemaUrl", "schema_url")
class Resource(Noting):
    """The spans of one process; older exports call scopes instrumentation libraries."""

    resource: msgspec.Raw | UnsetType = UNSET
    scopeSpans: list[Scope] | None = None  # noqa: N815
    scopeLogs: list[Scope] | None = None  # noqa: N815
    instrumentationLibrarySpans: list[Scope] | None = None  # noqa: N815
    scope_spans: list[Scope] | None = None
    scope_logs: list[Scope] | None = None
    instrumentation_library_spans: list[Scope] | None = None

    def given(self) -> bytes:
        """Return the resource as it stands; nothing where there is none."""
        return b"" if isinstance(self.resource, UnsetType) else bytes(self.resource)

    def entries(self) -> Iterator[msgspec.Raw]:
        """Yield the spans, and the log records that tell of models, undecoded."""
        for scopes in map(self.__getattribute__, SCOPES):
            for scope in scopes or ():
                yield from scope.spans or ()
                logged = scope.logRecords or scope.log_records or ()
                yield from (record for record in logged if VOCABULARY in plainer(bytes(record)))


@leaves_out("resource", *SCOPES, "schemaUrl", "schema_url")
class Request(Noting):
    """One export: Tempo calls its resources batches, and may wrap them in `trace`."""

    resourceSpans: list[Resource] | None = None  # noqa: N815
    resource_spans: list[Resource] | None = None
    resourceLogs: list[Resource] | None = None  # noqa: N815
    resource_logs: list[Resource] | None = None
    batches: list[Resource] | None = None
    trace: Request | None = None

    def resources(self) -> list[Resource] | None:
        """Return the resources; None where the export has neither traces nor logs."""
        given = [told for name in MEMBERS if (told := getattr(self, name)) is not None]
        if not given and self.trace:
            return self.trace.resources()
        return [resource for told in given for resource in told] if given else None


class Holding(msgspec.Struct):
    """As much of a value as tells an export, or a resource with its spans, from an entry."""

    resourceSpans: msgspec.Raw | UnsetType = UNSET  # noqa: N815
    resource_spans: msgspec.Raw | UnsetType = UNSET
    resourceLogs: msgspec.Raw | UnsetType = UNSET  # noqa: N815
    resource_logs: msgspec.Raw | UnsetType = UNSET
    batches: msgspec.Raw | UnsetType = UNSET
    trace: msgspec.Raw | UnsetType = UNSET
    scopeSpans: msgspec.Raw | UnsetType = UNSET  # noqa: N815
    scopeLogs: msgspec.Raw | UnsetType = UNSET  # noqa: N815
    instrumentationLibrarySpans: msgspec.Raw | UnsetType = UNSET  # noqa: N815
    scope_spans: msgspec.Raw | UnsetType = UNSET
    scope_logs: msgspec.Raw | UnsetType = UNSET
    instrumentation_library_spans: msgspec.Raw | UnsetType = UNSET

    @property
    def is_entry(self) -> bool:
        """Tell whether it is a span, a log record or a resource by itself."""
        return all(getattr(self, name) is UNSET for name in self.__struct_fields__)


_request = decoder(Request)
_resource = decoder(Resource)
_holding = msgspec.json.Decoder(Holding).decode


class Found(NamedTuple):
    """Some resources of a file, and whether anything around their spans is not known."""

    resources: list[Resource]
    drifted: bool = False


def one(data: bytes) -> Found:
    """Decode one resource with its spans.

    Raises:
        RejectError: it is none.
    """
    found: Resource = decoding(_resource, data)
    return Found([found], bool(found.unmapped))


def around(data: bytes | msgspec.Raw) -> Found | None:
    """Return the resources of an export, or one that stands by itself; None where it is neither.

    Raises:
        RejectError: the text is no JSON, or not of OTLP's types.
    """
    request: Request = decoding(_request, bytes(data))
    resources = request.resources()
    if resources is None:
        resource: Resource = decoding(_resource, bytes(data))
        alone = any(map(resource.__getattribute__, SCOPES))
        return Found([resource], bool(resource.unmapped)) if alone else None
    return Found(resources, bool(request.unmapped) or any(one.unmapped for one in resources))


def unknown_around(data: msgspec.Raw) -> Unmapped | None:
    """Return what is not known around the spans of an export; None where it is an entry."""
    if decoding(_holding, bytes(data)).is_entry:
        return None
    unknown: Unmapped = {}
    found = around(data)
    add(unknown, decoding(_request, bytes(data)).unmapped)
    for resource in found.resources if found else ():
        add(unknown, resource.unmapped, "resource")
    return unknown
