"""Authentication of every request before any route runs; only the listed paths are public.

A token in the Authorization header is valid everywhere, a login cookie everywhere except for MCP. If no login is
required, a request without credentials counts as the operator's. Wrong tokens are always refused.
"""

import secrets
from typing import Final

from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Receive, Scope, Send

from commonplace.access import LOCAL, Logins, Tokens
from commonplace.core.errors import CommonplaceError
from commonplace.web.http.access import CHALLENGE, AuthenticationMethod, Caller
from commonplace.web.http.guards import MCP_PREFIX
from commonplace.web.http.middleware import HttpMiddleware
from commonplace.web.http.problems import LOGIN, UNAUTHENTICATED, ProblemError, problem_of
from commonplace.web.http.rate_limits import Credential, Limiter, address_of
from commonplace.web.http.refusals import answer, refusal_response
from commonplace.web.http.security import SecurityOptions

COOKIE: Final = "commonplace_login"
SCHEME: Final = "bearer"
OPEN_PATHS: Final = frozenset({LOGIN, "/healthz", "/favicon.ico", "/docs.css"})
OPEN_PREFIX: Final = "/static/"
"""Styles and scripts of the pages, which contain no memories."""
FORWARDED: Final = ("forwarded", "x-forwarded-for", "x-real-ip", "via")
"""Headers that proxies add; see :meth:`Authentication._without_credentials`."""


class Authentication(HttpMiddleware):
    """Puts a :class:`~commonplace.web.http.access.Caller` into the scope of each request, or answers 401 or 429."""

    def __init__(self, app: ASGIApp, *, tokens: Tokens, options: SecurityOptions, limiter: Limiter) -> None:
        super().__init__(app)
        self._tokens = tokens
        self._logins = Logins(tokens)
        self._options = options
        self._limiter = limiter
        self._secret_of_process = secrets.token_bytes()

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on with its caller, or refuse it."""
        try:
            caller = await self._caller(HTTPConnection(scope))
        except ProblemError as refusal:
            await refusal_response(HTTPConnection(scope), refusal)(scope, receive, send)
            return
        except CommonplaceError as error:
            await answer(HTTPConnection(scope), problem_of(error))(scope, receive, send)
            return
        scope.setdefault("state", {})["caller"] = caller
        await self.app(scope, receive, send)

    async def _caller(self, connection: HTTPConnection) -> Caller | None:
        address = address_of(connection.scope)
        header = connection.headers.get("authorization")
        if header is not None:
            return await self._with_token(header, address)
        cookie = login_in(connection)
        if cookie is not None and not connection.scope["path"].startswith(MCP_PREFIX):
            caller = await self._with_login(cookie, address)
            if caller is not None:
                return caller
        return await self._without_credentials(connection, address)

    async def _with_token(self, header: str, address: str) -> Caller:
        scheme, _, token = header.partition(" ")
        found = await self._tokens.find(token.strip()) if scheme.lower() == SCHEME else None
        if found is None:
            await self._limiter.count_failure(Credential.TOKEN, address)
            headers = {"WWW-Authenticate": f'{CHALLENGE["WWW-Authenticate"]}, error="invalid_token"'}
            detail = "the token in the Authorization header is unknown, expired or revoked"
            raise ProblemError(UNAUTHENTICATED, detail, headers=headers)
        await self._limiter.count_token(str(found.id))
        return Caller(principal=found.principal, means=AuthenticationMethod.TOKEN, secret=b"")

    async def _with_login(self, cookie: str, address: str) -> Caller | None:
        visitor = await self._logins.verify(cookie)
        if visitor is None:
            await self._limiter.count_address(address)
            return None
        principal = visitor.principal
        await self._limiter.count_token(f"{principal.tenant_id} {principal.name}")
        return Caller(principal=principal, means=AuthenticationMethod.LOGIN, secret=visitor.form_secret)

    async def _without_credentials(self, connection: HTTPConnection, address: str) -> Caller | None:
        """Return the operator if no login is required, or ``None`` on public paths.

        Behind a proxy on this machine, every request would look like the operator's, so proxy headers are refused
        here.
        """
        if not self._options.login_required:
            if any(name in connection.headers for name in FORWARDED):
                detail = "a proxy sent the request: start `commonplace serve` with --trusted-proxy, and create tokens"
                raise ProblemError(UNAUTHENTICATED, detail, headers=CHALLENGE)
            return Caller(
                principal=LOCAL, means=AuthenticationMethod.LOOPBACK, secret=self._secret_of_process
            )
        await self._limiter.count_address(address)
        path: str = connection.scope["path"]
        if path in OPEN_PATHS or path.startswith(OPEN_PREFIX):
            return None
        raise ProblemError(UNAUTHENTICATED, "send a token: Authorization: Bearer cpl_…", headers=CHALLENGE)


def login_in(connection: HTTPConnection) -> str | None:
    """Return the secret of the login cookie, if any; cookies of other programs are ignored."""
    return connection.cookies.get(COOKIE)
