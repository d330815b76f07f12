"""OpenTelemetry traces, sent by OTLP over HTTP; needs the extra ``otel``.

The tracer provider is not the global one, because spans of the frameworks contain whole URLs and so search words.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from importlib import import_module
from importlib.metadata import version
from typing import Any, Final

from starlette.types import Receive, Scope, Send

from commonplace.core.errors import SettingsError
from commonplace.core.quoting import quoted
from commonplace.core.tracing import span, trace_with
from commonplace.core.urls import mask_url
from commonplace.web.http.metrics.requests import method_of, route_of
from commonplace.web.http.middleware import HttpMiddleware

SERVICE: Final = "commonplace"
EXPORT_TIMEOUT_S: Final = 5
"""The time limit for sending the last spans to the collector."""


@asynccontextmanager
async def tracing(endpoint: str | None, *, with_content: bool = False) -> AsyncGenerator[None]:
    """Send traces of this process to an endpoint while the block runs; without an endpoint, do nothing.

    Args:
        endpoint: An address of OTLP over HTTP, such as ``http://127.0.0.1:4318/v1/traces``.
        with_content: Whether spans hold the texts of queries.

    Raises:
        SettingsError: The extra is not installed.
    """
    if endpoint is None:
        yield
        return
    provider = _provider(endpoint)
    trace_with(provider.get_tracer(SERVICE, version(SERVICE)), with_content=with_content)
    try:
        yield
    finally:
        trace_with(None)
        await asyncio.to_thread(provider.shutdown)


def _provider(endpoint: str) -> Any:  # noqa: ANN401 - the type is in an optional package
    try:
        exporter = import_module("opentelemetry.exporter.otlp.proto.http.trace_exporter")
        sdk, export = (
            import_module("opentelemetry.sdk.trace"),
            import_module("opentelemetry.sdk.trace.export"),
        )
        resources = import_module("opentelemetry.sdk.resources")
    except ModuleNotFoundError as error:
        raise SettingsError(
            f"otel_endpoint is {quoted(mask_url(endpoint))}, and {error.name} is not installed: "
            "pip install 'commonplace[otel]', or remove the setting"
        ) from None
    resource = resources.Resource.create({"service.name": SERVICE, "service.version": version(SERVICE)})
    provider = sdk.TracerProvider(resource=resource, shutdown_on_exit=False)
    sender = exporter.OTLPSpanExporter(endpoint=endpoint, timeout=EXPORT_TIMEOUT_S)
    provider.add_span_processor(export.BatchSpanProcessor(sender))
    return provider


class RequestSpans(HttpMiddleware):
    """Records a span ``http.request`` for each request, with its method and its route.

    The route is the path as declared, never the path of the request, which may contain anything.
    """

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on in a span."""
        with span("http.request", method=method_of(scope)) as request:
            try:
                await self.app(scope, receive, send)
            finally:
                request.set_attribute("route", route_of(scope))
