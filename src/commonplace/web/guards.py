"""What stands before every route: whom a request is for, and how much it may carry."""

from typing import Final

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from commonplace.web.loopback import is_loopback
from commonplace.web.problems import FOREIGN_HOST, TOO_LARGE, problem_response

MAX_BODY_BYTES: Final = 16 * 1024 * 1024
"""An import of some 40,000 memories."""


class LoopbackHostOnly:
    """Refuses requests for a host that is not loopback.

    A web page elsewhere can let its own name resolve to 127.0.0.1 and then send requests that the browser takes for
    its own (DNS rebinding); the Host header still has that name.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer 421."""
        if scope["type"] == "lifespan" or is_loopback(_host_of(Headers(scope=scope).get("host", ""))):
            await self._app(scope, receive, send)
            return
        detail = "the Host header has to be localhost or a loopback address"
        await problem_response(FOREIGN_HOST.problem(detail))(scope, receive, send)


def _host_of(header: str) -> str:
    """Return a Host header without its port; an address of IPv6 keeps its brackets."""
    host, separator, port = header.rpartition(":")
    return host if separator and port.isdecimal() else header


class BodyLimit:
    """Refuses bodies that are too large, by their stated length, or as soon as more has come."""

    def __init__(self, app: ASGIApp, *, max_bytes: int = MAX_BODY_BYTES) -> None:
        self._app = app
        self._max_bytes = max_bytes
        self._detail = f"a body may have at most {max_bytes} bytes"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer 413."""
        stated = Headers(scope=scope).get("content-length", "") if scope["type"] == "http" else ""
        if stated.isdecimal() and int(stated) > self._max_bytes:
            await problem_response(TOO_LARGE.problem(self._detail))(scope, receive, send)
            return
        came = 0

        async def limited() -> Message:
            nonlocal came
            message = await receive()
            came += len(message.get("body", b""))
            if came > self._max_bytes:
                raise HTTPException(TOO_LARGE.status, self._detail)
            return message

        await self._app(scope, limited, send)
