"""Traces by OpenTelemetry, sent with OTLP over HTTP; needs the extra ``otel``.

The provider is our own and not the process's: the frameworks' spans hold whole URLs, and with them what was searched.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from importlib import import_module
from importlib.metadata import version
from typing import Any, Final

from starlette.types import ASGIApp, Receive, Scope, Send

from commonplace.core.errors import SettingsError
from commonplace.core.tracing import span, trace_with
from commonplace.core.urls import mask_url
from commonplace.web.metrics.requests import method_of, route_of

SERVICE: Final = "commonplace"
EXPORT_TIMEOUT_S: Final = 5
"""A collector that does not take the last spans within this time does not get them."""


@asynccontextmanager
async def tracing(endpoint: str | None) -> AsyncGenerator[None]:
    """Trace what this process does inside the block, and send it to an endpoint; without one, do nothing.

    Args:
        endpoint: Where OTLP over HTTP is taken, such as ``http://127.0.0.1:4318/v1/traces``.

    Raises:
        SettingsError: The extra is not installed.
    """
    if endpoint is None:
        yield
        return
    provider = _provider(endpoint)
    trace_with(provider.get_tracer(SERVICE, version(SERVICE)))
    try:
        yield
    finally:
        trace_with(None)
        await asyncio.to_thread(provider.shutdown)


def _provider(endpoint: str) -> Any:  # noqa: ANN401 - of a package that may not be there
    try:
        exporter = import_module("opentelemetry.exporter.otlp.proto.http.trace_exporter")
        sdk, export = (
            import_module("opentelemetry.sdk.trace"),
            import_module("opentelemetry.sdk.trace.export"),
        )
        resources = import_module("opentelemetry.sdk.resources")
    except ModuleNotFoundError as error:
        raise SettingsError(
            f"otel_endpoint is {mask_url(endpoint)!r}, and {error.name} is not installed: "
            "pip install 'commonplace[otel]', or take the setting away"
        ) from None
    resource = resources.Resource.create({"service.name": SERVICE, "service.version": version(SERVICE)})
    provider = sdk.TracerProvider(resource=resource, shutdown_on_exit=False)
    sender = exporter.OTLPSpanExporter(endpoint=endpoint, timeout=EXPORT_TIMEOUT_S)
    provider.add_span_processor(export.BatchSpanProcessor(sender))
    return provider


class RequestSpans:
    """A span ``http.request`` for each request, with its method and the route that answered it.

    The route is the path as it is declared, never the one that was asked for, in which anything may stand.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and trace it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        with span("http.request", method=method_of(scope)) as request:
            try:
                await self._app(scope, receive, send)
            finally:
                request.set_attribute("route", route_of(scope))
