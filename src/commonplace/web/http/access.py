"""Route dependencies on the caller: the required role, the memories that the caller may see, and the CSRF check.

:mod:`.authentication` finds the caller before any route runs. A route names the role that it requires with a
dependency: ``reader``, ``writer`` or ``admin`` for knowledge memory, which belongs to the caller's tenant;
``installation_reader`` and so on for operational, app and workspace memory, which belong to the installation.
"""

import hashlib
import hmac
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import wraps
from typing import Annotated, Final, NoReturn, ParamSpec, TypeVar, cast

from fastapi import Depends, Request
from starlette.requests import HTTPConnection

from commonplace.access import LOCAL, Principal, Role
from commonplace.core.quoting import quoted
from commonplace.core.request_context import request_context
from commonplace.core.sources import Source
from commonplace.knowledge import KnowledgeMemory
from commonplace.services.catalog.catalog import Catalog
from commonplace.services.opening import Memories, OpenedMemories
from commonplace.services.review.queue import ReviewQueue
from commonplace.web.http.problems import FORBIDDEN, FORGED, LOGIN, UNAUTHENTICATED, ProblemError

CSRF_FIELD: Final = "csrf_token"
"""The hidden field of a form that carries the CSRF token."""
CSRF_HEADER: Final = "X-CSRF-Token"
"""The header of a script that carries the CSRF token, as with ``hx-headers``."""
SAFE_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS"})
CHALLENGE: Final = {"WWW-Authenticate": 'Bearer realm="commonplace"'}

_FORMS: Final = ("application/x-www-form-urlencoded", "multipart/form-data")
STALE_PAGE: Final = "the page is older than the service or belongs to another login; reload the page"
NO_JSON: Final = (
    "a form without the token of a page, as a page of another site could send it; a program sends JSON with the header "
    "Content-Type: application/json"
)
_SIGNS_OF_A_BROWSER: Final = ("origin", "referer", "sec-fetch-site", "cookie")


_P = ParamSpec("_P")
_R = TypeVar("_R")


class AuthenticationMethod(StrEnum):
    """How the caller was authenticated."""

    TOKEN = "token"  # noqa: S105 - a word
    LOGIN = "login"
    LOOPBACK = "loopback"
    """The service listens on loopback and requires no login."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """The caller of a request."""

    principal: Principal
    means: AuthenticationMethod
    secret: bytes = field(repr=False)
    """The key of CSRF tokens; pages of other sites cannot know it."""


def known_caller(connection: HTTPConnection) -> Caller | None:
    """Return the caller; ``None`` if the caller is unknown, which only public paths allow."""
    return cast("Caller | None", connection.scope.get("state", {}).get("caller"))


def caller_of(connection: HTTPConnection) -> Caller:
    """Return the caller.

    Raises:
        ProblemError: The caller is unknown: 401.
    """
    caller = known_caller(connection)
    if caller is None:
        raise ProblemError(UNAUTHENTICATED, "send a token: Authorization: Bearer cpl_…", headers=CHALLENGE)
    return caller


def of_another_tenant(who: Principal) -> str:
    """Return why a caller of a tenant other than the installation's is refused."""
    return f"only the tenant of the installation has access; the token is for tenant {quoted(who.tenant_id)}"


def at_once(function: Callable[_P, _R]) -> Callable[_P, Awaitable[_R]]:
    """Return a function as a dependency that runs where the request does.

    FastAPI runs a plain function in a thread, which takes longer than most dependencies do.
    """

    @wraps(function)
    async def dependency(*arguments: _P.args, **options: _P.kwargs) -> _R:
        return function(*arguments, **options)

    return dependency


def _requires(role: Role, *, installation: bool) -> Callable[[Request], Awaitable[Principal]]:
    async def principal(request: Request) -> Principal:
        who = caller_of(request).principal
        if installation and not who.of_installation:
            raise ProblemError(FORBIDDEN, of_another_tenant(who))
        if not who.role.includes(role):
            raise ProblemError(FORBIDDEN, f"this requires the role {role}; the token has the role {who.role}")
        return who

    return principal


reader = _requires(Role.READER, installation=False)
"""Dependency: the caller may read knowledge memory."""
writer = _requires(Role.WRITER, installation=False)
"""Dependency: the caller may store, confirm, correct and forget."""
admin = _requires(Role.ADMIN, installation=False)
"""Dependency: the caller may do everything in their tenant."""
installation_reader = _requires(Role.READER, installation=True)
"""Dependency: the caller may read operational, app and workspace memory."""
installation_writer = _requires(Role.WRITER, installation=True)
"""Dependency: the caller may change named memories of the installation."""
installation_admin = _requires(Role.ADMIN, installation=True)
"""Dependency: the caller may do everything in the installation."""


def actor_of(principal: Principal) -> str:
    """Return the name of an HTTP caller in the audit trail."""
    return "web" if principal == LOCAL else principal.name


def source_of(connection: HTTPConnection) -> Source:
    """Return the source of what a request writes: a person on the dashboard, an agent over REST and MCP."""
    path: str = connection.scope["path"]
    return Source.AGENT if path.startswith(("/api/", "/mcp")) else Source.PERSON


async def acting(connection: HTTPConnection) -> AsyncGenerator[None]:
    """Run a request in the context of its caller: the tenant whose data it uses and the actor of its changes."""
    caller = known_caller(connection)
    if caller is None:  # a public path
        yield
        return
    who = caller.principal
    with request_context(tenant_id=who.tenant_id, actor=actor_of(who), source=source_of(connection)):
        yield


def memories(request: Request) -> Memories:
    """Return the memories of the service; the route checks who may see them."""
    return cast("Memories", request.app.state.memories)


def knowledge_of(request: Request) -> KnowledgeMemory:
    """Return knowledge memory of the caller's tenant, acting in the caller's name.

    Raises:
        ProblemError: The caller is unknown: 401.
    """
    who = caller_of(request).principal
    return memories(request).knowledge.acting_for(
        tenant_id=who.tenant_id, actor=actor_of(who), source=source_of(request)
    )


def reviews_of(request: Request) -> ReviewQueue:
    """Return the review queue of the caller; a caller of another tenant sees items of knowledge memory only.

    Raises:
        ProblemError: The caller is unknown: 401.
    """
    own = replace(memories(request), knowledge=knowledge_of(request))
    return ReviewQueue(memories=own, sees_installation=caller_of(request).principal.of_installation)


def catalog_of(request: Request) -> Catalog:
    """Return the catalog of the caller; a caller of another tenant reaches knowledge memory only.

    Raises:
        ProblemError: The caller is unknown: 401.
    """
    who = caller_of(request).principal
    own = replace(memories(request), knowledge=knowledge_of(request))
    opened = OpenedMemories.of(own)

    def refuse() -> NoReturn:
        raise ProblemError(FORBIDDEN, of_another_tenant(who))

    if not who.of_installation:
        opened = replace(opened, operational=refuse, apps=refuse, workspace=refuse)
    return Catalog(opened, own.knowledge.database.settings.home, clock=own.operational.now)


OpenMemories = Annotated[Memories, Depends(at_once(memories))]
KnowledgeOfCaller = Annotated[KnowledgeMemory, Depends(at_once(knowledge_of))]
CatalogOfCaller = Annotated[Catalog, Depends(at_once(catalog_of))]
ReviewsOfCaller = Annotated[ReviewQueue, Depends(at_once(reviews_of))]


def csrf_token(request: Request) -> str:
    """Return the CSRF token for forms (:data:`CSRF_FIELD`) and scripts (:data:`CSRF_HEADER`) of our pages.

    It lasts as long as the login, or without a login as long as this process.
    """
    return _proof(caller_of(request).secret)


def _proof(secret: bytes) -> str:
    return hmac.new(secret, b"commonplace form", hashlib.sha256).hexdigest()


async def refuse_forgery(request: Request) -> None:
    """Dependency of every route: refuse a change that a page of another site could have caused.

    - A request with a bearer token passes, because no browser adds one by itself.
    - A request with a login cookie, and any request on loopback without a login, must carry the CSRF token.
    - Programs on loopback need no CSRF token, because a browser always says where a change comes from.
    - The login form needs no CSRF token, because it carries a token.

    Raises:
        ProblemError: The CSRF token is missing or wrong: 403.
    """
    caller = known_caller(request)
    if request.method in SAFE_METHODS or caller is None or caller.means is AuthenticationMethod.TOKEN:
        return
    if request.url.path == LOGIN:
        return
    if caller.means is AuthenticationMethod.LOOPBACK and not _may_be_a_browser(request):
        return
    given = request.headers.get(CSRF_HEADER) or await _given_in_form(request)
    if not hmac.compare_digest(given.encode(), _proof(caller.secret).encode()):
        raise ProblemError(FORGED, STALE_PAGE if _is_browser(request) else NO_JSON)


def _may_be_a_browser(request: Request) -> bool:
    return _is_browser(request) or _is_form(request)


def _is_browser(request: Request) -> bool:
    return any(name in request.headers for name in _SIGNS_OF_A_BROWSER)


def _is_form(request: Request) -> bool:
    return request.headers.get("content-type", "").lower().startswith(_FORMS)


async def _given_in_form(request: Request) -> str:
    if not _is_form(request):
        return ""
    given = (await request.form()).get(CSRF_FIELD)
    return given if isinstance(given, str) else ""
