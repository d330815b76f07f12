"""Middleware before every route: security headers, checks of host and origin, and body limits."""

import asyncio
from http import HTTPStatus
from typing import Final

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from commonplace.core.text import trim_to
from commonplace.web.http.access import SAFE_METHODS
from commonplace.web.http.client_urls import split_url
from commonplace.web.http.middleware import HttpMiddleware
from commonplace.web.http.problems import FOREIGN_HOST, FORGED, TOO_LARGE
from commonplace.web.http.refusals import answer
from commonplace.web.http.security import SecurityOptions

MCP_PREFIX: Final = "/mcp/"
CONTENT_SECURITY_POLICY: Final = (
    "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'"
)
"""Scripts, styles, images and requests of this service only, and no inline code."""
HEADERS: Final = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
UNCACHED: Final = "no-store"
"""The default, because caches must not store memories. A route whose response may be cached sets its own header."""
_SHOWN_CHARS: Final = 200
TRANSPORT_SECURITY: Final = "max-age=31536000"


class SecurityHeaders(HttpMiddleware):
    """Adds the security headers to every response, including responses of other middleware."""

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on and add missing security headers to its response."""

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
                headers.setdefault("Cache-Control", UNCACHED)
                if scope["scheme"] == "https":
                    headers.setdefault("Strict-Transport-Security", TRANSPORT_SECURITY)
            await send(message)

        await self.app(scope, receive, with_headers)


class KnownHostsOnly(HttpMiddleware):
    """Refuses requests for an unknown host, and changes that a page of another site requests.

    A foreign page can make its own name resolve to this machine and then send requests that the browser treats as
    same-origin (DNS rebinding); the Host header still has the foreign name. A page can also send some requests across
    sites (CSRF); the browser says so in Origin and Sec-Fetch-Site. For MCP, which is for programs, reads are refused
    too.
    """

    def __init__(self, app: ASGIApp, *, options: SecurityOptions) -> None:
        super().__init__(app)
        self._options = options

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer 421 or 403."""
        headers = Headers(scope=scope)
        if not self._options.allows_host(host_of(headers.get("host", ""))):
            detail = (
                "the Host header names neither this machine nor a host of `commonplace serve --allowed-host`"
            )
            await answer(HTTPConnection(scope), FOREIGN_HOST.problem(detail))(scope, receive, send)
            return
        careful = scope["method"] not in SAFE_METHODS or scope["path"].startswith(MCP_PREFIX)
        if careful and _of_another_site(headers):
            site = trim_to(headers.get("origin", "another site"), _SHOWN_CHARS)
            detail = (
                f"a page of {site} sent the request to {headers['host']}; pages of other sites have no access"
            )
            await answer(HTTPConnection(scope), FORGED.problem(detail))(scope, receive, send)
            return
        await self.app(scope, receive, send)


def _of_another_site(headers: Headers) -> bool:
    """Return whether the headers of a browser name another origin; an opaque origin counts as another origin."""
    origin = headers.get("origin")
    if origin is not None:
        url = split_url(origin)
        return url is None or url.netloc.lower() != headers.get("host", "").lower()
    return headers.get("sec-fetch-site", "same-origin") not in {"same-origin", "none"}


def host_of(header: str) -> str:
    """Return a Host header without its port; an IPv6 address keeps its brackets."""
    host, separator, port = header.rpartition(":")
    return host if separator and port.isdecimal() else header


class BodyLimit(HttpMiddleware):
    """Refuses bodies that are too large, by their stated or actual length, and bodies that arrive too slowly."""

    def __init__(self, app: ASGIApp, *, options: SecurityOptions) -> None:
        super().__init__(app)
        self._options = options
        self._detail = f"the body is larger than {options.max_body_bytes} bytes"

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer 413 if its body is too large and 408 if it is too slow."""
        stated = Headers(scope=scope).get("content-length", "")
        if stated.isdecimal() and int(stated) > self._options.max_body_bytes:
            await answer(HTTPConnection(scope), TOO_LARGE.problem(self._detail))(scope, receive, send)
            return
        await self.app(scope, self._limited(receive), send)

    def _limited(self, receive: Receive) -> Receive:
        came, complete = 0, False
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._options.body_timeout_s

        async def limited() -> Message:
            nonlocal came, complete
            if complete:  # The next message is the end of the connection.
                return await receive()
            try:
                async with asyncio.timeout_at(
                    min(deadline, loop.time() + self._options.body_piece_timeout_s)
                ):
                    message = await receive()
            except TimeoutError:
                raise HTTPException(HTTPStatus.REQUEST_TIMEOUT, "the body did not arrive in time") from None
            came += len(message.get("body", b""))
            complete = not message.get("more_body", False)
            if came > self._options.max_body_bytes:
                raise HTTPException(TOO_LARGE.status, self._detail)
            return message

        return limited
