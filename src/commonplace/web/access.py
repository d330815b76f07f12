"""What routes ask about who calls: their role, the memories as they may see them, and proof that a form is ours.

Who it is was found out before any route (:mod:`.authentication`); a route says with a dependency what it takes:
``reader``, ``writer`` or ``admin`` for knowledge memory, which belongs to the caller's tenant, and the same with
``installation_`` in front for operational, app and workspace memory, which belong to the installation.
"""

import hashlib
import hmac
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, Final, cast

from fastapi import Depends, Request
from starlette.requests import HTTPConnection

from commonplace.access.roles import LOCAL, Principal, Role
from commonplace.core.context import request_context
from commonplace.knowledge.memory import KnowledgeMemory
from commonplace.memories import Memories
from commonplace.web.problems import FORBIDDEN, FORGED, LOGIN, UNAUTHENTICATED, ProblemError

CSRF_FIELD: Final = "csrf_token"
"""The hidden field that a form carries its proof in."""
CSRF_HEADER: Final = "X-CSRF-Token"
"""The header that a script carries the proof in, as with ``hx-headers``."""
SAFE_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS"})
CHALLENGE: Final = {"WWW-Authenticate": 'Bearer realm="commonplace"'}

_FORMS: Final = ("application/x-www-form-urlencoded", "multipart/form-data")
_SIGNS_OF_A_BROWSER: Final = ("origin", "referer", "sec-fetch-site", "cookie")


class Means(StrEnum):
    """How it is known who calls."""

    TOKEN = "token"  # noqa: S105 - a word
    LOGIN = "login"
    LOOPBACK = "loopback"
    """The service listens on loopback, and no login is asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Who calls, and how that is known."""

    principal: Principal
    means: Means
    secret: bytes = field(repr=False)
    """What proofs are made of that a form is ours; a page of another site cannot know it."""


def known_caller(connection: HTTPConnection) -> Caller | None:
    """Return who calls; ``None`` for somebody unknown, whom only paths for everybody let in."""
    return cast("Caller | None", connection.scope.get("state", {}).get("caller"))


def caller_of(connection: HTTPConnection) -> Caller:
    """Return who calls, where only somebody known may.

    Raises:
        ProblemError: Nobody that is known: 401.
    """
    caller = known_caller(connection)
    if caller is None:
        raise ProblemError(UNAUTHENTICATED, "this needs a token", headers=CHALLENGE)
    return caller


def _requires(role: Role, *, installation: bool) -> Callable[[Request], Principal]:
    def principal(request: Request) -> Principal:
        who = caller_of(request).principal
        if installation and not who.of_installation:
            raise ProblemError(
                FORBIDDEN, f"this belongs to the installation, and the token to tenant {who.tenant_id!r}"
            )
        if not who.role.includes(role):
            raise ProblemError(
                FORBIDDEN, f"this takes the role {role}, and the token has the role {who.role}"
            )
        return who

    return principal


reader = _requires(Role.READER, installation=False)
"""Dependency: whoever may read knowledge memory."""
writer = _requires(Role.WRITER, installation=False)
"""Dependency: whoever may store, confirm, correct and forget."""
admin = _requires(Role.ADMIN, installation=False)
"""Dependency: whoever may do everything in their tenant."""
installation_reader = _requires(Role.READER, installation=True)
"""Dependency: whoever may read operational, app and workspace memory."""
installation_writer = _requires(Role.WRITER, installation=True)
"""Dependency: whoever may change single memories of them."""
installation_admin = _requires(Role.ADMIN, installation=True)
"""Dependency: whoever may do everything with them."""


def actor_of(principal: Principal) -> str:
    """Return what the audit trail calls somebody who came over HTTP."""
    return "web" if principal == LOCAL else principal.name


async def acting(connection: HTTPConnection) -> AsyncGenerator[None]:
    """Put a request into its context, for the tenant it may touch and the history of what it changes."""
    caller = known_caller(connection)
    if caller is None:  # a path that everybody may see
        yield
        return
    with request_context(tenant_id=caller.principal.tenant_id, actor=actor_of(caller.principal)):
        yield


def memories(request: Request) -> Memories:
    """Return the memories that the service was made with; the route says who may see which."""
    return cast("Memories", request.app.state.memories)


def knowledge_of(request: Request) -> KnowledgeMemory:
    """Return knowledge memory as the one who calls sees it: their tenant's, in their name.

    Raises:
        ProblemError: Nobody that is known: 401.
    """
    who = caller_of(request).principal
    return memories(request).knowledge.acting_for(tenant_id=who.tenant_id, actor=actor_of(who))


OpenMemories = Annotated[Memories, Depends(memories)]
KnowledgeOfCaller = Annotated[KnowledgeMemory, Depends(knowledge_of)]


def csrf_token(request: Request) -> str:
    """Return the proof that forms and scripts of our pages send back: see :data:`CSRF_FIELD`, :data:`CSRF_HEADER`.

    It belongs to the token that somebody logged in with, or without a login to this process, and is the same for as
    long as that lasts.
    """
    return _proof(caller_of(request).secret)


def _proof(secret: bytes) -> str:
    return hmac.new(secret, b"commonplace form", hashlib.sha256).hexdigest()


async def refuse_forgery(request: Request) -> None:
    """Dependency of every route: refuse a change that another site's page could have made a browser send.

    A request with a token needs no further proof, because no browser adds one by itself. A login is in a cookie, and on
    loopback without a login everybody counts: there a change has to carry the proof that only our own pages know.
    Programs that are no browsers need none on loopback: a browser always says where a change comes from. Nor does the
    form of the login, which brings a token; whoever is in already may have begun to log in in another tab.

    Raises:
        ProblemError: The proof is missing or wrong: 403.
    """
    caller = known_caller(request)
    if request.method in SAFE_METHODS or caller is None or caller.means is Means.TOKEN:
        return
    if request.url.path == LOGIN:
        return
    if caller.means is Means.LOOPBACK and not _may_be_a_browser(request):
        return
    given = request.headers.get(CSRF_HEADER) or await _given_in_form(request)
    if not hmac.compare_digest(given.encode(), _proof(caller.secret).encode()):
        raise ProblemError(
            FORGED, "the page that sent this is older than the service, or of another login: load it again"
        )


def _may_be_a_browser(request: Request) -> bool:
    return any(name in request.headers for name in _SIGNS_OF_A_BROWSER) or _is_form(request)


def _is_form(request: Request) -> bool:
    return request.headers.get("content-type", "").lower().startswith(_FORMS)


async def _given_in_form(request: Request) -> str:
    if not _is_form(request):
        return ""
    given = (await request.form()).get(CSRF_FIELD)
    return given if isinstance(given, str) else ""
