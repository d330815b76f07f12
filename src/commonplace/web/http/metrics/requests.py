"""Metrics of HTTP requests: number, duration and status."""

from time import perf_counter
from typing import Final

from prometheus_client import CollectorRegistry, Gauge, Histogram
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from commonplace.web.http.middleware import HttpMiddleware

BUCKETS_S: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
UNKNOWN: Final = "none"
"""The route label of requests that middleware refused, and of unknown paths."""
ABORTED: Final = 499
"""The status of a request whose client disconnected before the response began."""
METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


class RequestFigures(HttpMiddleware):
    """Measures every request by method, route and status; clients cannot create new label values."""

    def __init__(self, app: ASGIApp, *, registry: CollectorRegistry) -> None:
        super().__init__(app)
        self._seconds = Histogram(
            "commonplace_http_request_seconds",
            "Time until the response to a request was complete",
            ("method", "route", "status"),
            buckets=BUCKETS_S,
            registry=registry,
        )
        self._running = Gauge("commonplace_http_requests_running", "Requests in progress", registry=registry)

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on and measure it."""
        began, status = perf_counter(), ABORTED

        async def noting(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        with self._running.track_inprogress():
            try:
                await self.app(scope, receive, noting)
            finally:
                labels = self._seconds.labels(method_of(scope), route_of(scope), str(status))
                labels.observe(perf_counter() - began)


def method_of(scope: Scope) -> str:
    """Return the method of a request, or ``none`` if it is not an HTTP method."""
    return scope["method"] if scope["method"] in METHODS else UNKNOWN


def route_of(scope: Scope) -> str:
    """Return the declared path of the route that answered, or of a mounted application."""
    route = scope.get("route")
    path = getattr(route, "path", None)
    if path is None and scope.get("root_path"):
        path = scope["root_path"]
    return path or UNKNOWN
