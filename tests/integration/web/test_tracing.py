"""Traces: what the service sends to a collector, and what it says where it cannot."""

import asyncio
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import httpx2
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from commonplace.core.errors import SettingsError
from commonplace.core.settings import Settings
from commonplace.web.http.tracing import tracing
from support.deadlines import DEADLINE_S
from support.service import open_memories, serving

SECRET_WORD = "kingfisher"


class Collector(HTTPServer):
    """Takes OTLP over HTTP, and keeps the spans."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Take)
        self.taken: list[ExportTraceServiceRequest] = []

    @property
    def url(self) -> str:
        """Where it takes traces."""
        return f"http://127.0.0.1:{self.server_address[1]}/v1/traces"

    def spans(self) -> dict[bytes, Span]:
        """Return the spans by their ids."""
        return {
            span.span_id: span
            for request in self.taken
            for resource in request.resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        }


def attributes(span: Span) -> dict[str, str]:
    """Return the attributes of a span that are text."""
    return {each.key: each.value.string_value for each in span.attributes}


class _Take(BaseHTTPRequestHandler):
    server: Collector

    def do_POST(self) -> None:
        """Take what is sent."""
        body = self.rfile.read(int(self.headers["content-length"]))
        self.server.taken.append(ExportTraceServiceRequest.FromString(body))
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is the library's
        """Keep standard error for the tests."""


@pytest.fixture
def collector() -> Iterator[Collector]:
    """A collector that runs."""
    with Collector() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


async def test_a_request_is_traced_down_to_the_database(
    settings: Settings, knowledge_url: str, collector: Collector
) -> None:
    """One trace, from the request to the transaction that answers it, with no word of what was asked for."""
    there = settings.model_copy(update={"postgres_url": knowledge_url})
    async with (
        tracing(collector.url),
        open_memories(there) as memories,
        serving(memories) as url,
        httpx2.AsyncClient(base_url=url, timeout=DEADLINE_S) as client,
    ):
        answer = await client.get(f"/api/v1/knowledge/search?query={SECRET_WORD}")
        assert answer.status_code == 200
        assert (await client.get(f"/{SECRET_WORD}/{SECRET_WORD}")).status_code == 404
    spans = collector.spans()
    found, missed = [span for span in spans.values() if span.name == "http.request"]
    assert attributes(found) == {"method": "GET", "route": "/api/v1/knowledge/search"}
    assert attributes(missed) == {"method": "GET", "route": "none"}
    assert not found.parent_span_id
    assert found.trace_id != missed.trace_id
    inside = [span for span in spans.values() if span.trace_id == found.trace_id and span is not found]
    parents = {span.name: spans[span.parent_span_id].name for span in inside}
    assert parents["search_memory"] == "http.request"
    assert parents["knowledge.unit_of_work"] == "search_memory"
    assert all(
        found.start_time_unix_nano <= span.start_time_unix_nano
        and span.end_time_unix_nano <= found.end_time_unix_nano
        for span in inside
    )
    assert SECRET_WORD not in str(collector.taken)


async def test_without_the_extra_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """One line that names the setting."""
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace", None)
    with pytest.raises(SettingsError, match=r"otel_endpoint is .*commonplace\[otel\]"):
        async with asyncio.timeout(DEADLINE_S), tracing("http://127.0.0.1:1/v1/traces"):
            pytest.fail("it traced")
