"""The base class of middleware for HTTP requests."""

from starlette.types import ASGIApp, Receive, Scope, Send


class HttpMiddleware:
    """Middleware for HTTP requests; other events, such as the start of the service, go to the next application."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request, or pass another event on."""
        handle = self.handle if scope["type"] == "http" else self.app
        await handle(scope, receive, send)

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or pass it on to :attr:`app`."""
        raise NotImplementedError
