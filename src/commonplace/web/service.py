"""The ASGI application: routes, middleware, error handlers and documentation over open memories."""

from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from functools import cache, partial
from importlib.metadata import version
from typing import Final

from fastapi import APIRouter, Depends, FastAPI
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from commonplace.access import Logins, Tokens
from commonplace.core.settings import Settings
from commonplace.llm import Model
from commonplace.services.opening import Memories
from commonplace.services.sync.requested_sync import RequestedSync
from commonplace.web.http import health, login, monitoring
from commonplace.web.http.access import acting, installation_reader, refuse_forgery
from commonplace.web.http.authentication import Authentication
from commonplace.web.http.guards import BodyLimit, KnownHostsOnly, SecurityHeaders
from commonplace.web.http.idempotency import Idempotency
from commonplace.web.http.mcp_endpoint import McpServers
from commonplace.web.http.metrics.requests import RequestFigures
from commonplace.web.http.problems import (
    FORBIDDEN,
    FOREIGN_HOST,
    FORGED,
    STORAGE_UNAVAILABLE,
    TOO_MANY,
    UNAUTHENTICATED,
    may_answer,
)
from commonplace.web.http.rate_limits import Limiter
from commonplace.web.http.refusals import tell_problems
from commonplace.web.http.security import SecurityOptions
from commonplace.web.http.tracing import RequestSpans
from commonplace.web.pages.layout import assets
from commonplace.web.pages.routes import router as dashboard
from commonplace.web.rest import briefing, catalog, documentation, reviews, sync, sync_status
from commonplace.web.rest import health as health_warnings
from commonplace.web.rest.apps import admin, conversations
from commonplace.web.rest.apps import routes as rest
from commonplace.web.rest.knowledge import consolidation, entities, lists, upkeep
from commonplace.web.rest.knowledge import memories as knowledge
from commonplace.web.rest.operational import routes as operational
from commonplace.web.rest.workspace import routes as workspace

DESCRIPTION: Final = """\
Memory of AI agents. Names are in camel case, times are ISO 8601 in UTC, and errors are problem details (RFC 9457). \
Lists take `limit`, and `offset` or `cursor`; `nextOffset` or `nextCursor` leads to the next page. Send a token in \
the header `Authorization: Bearer cpl_…`. Its role, `reader`, `writer` or `admin`, decides what it may do."""


def create_app(
    memories: Memories,
    *,
    tokens: Tokens,
    security: SecurityOptions | None = None,
    settings: Settings | None = None,
    worker: bool = False,
    model: Model | None = None,
) -> FastAPI:
    """Return the service as an ASGI application; its lifespan runs the MCP servers.

    Args:
        memories: The memories, open while the application is served; the caller closes them.
        tokens: The token store, likewise.
        security: The access rules; by default those for loopback without a login.
        settings: The settings of the memories, for reports on background work.
        worker: Whether background work runs in this process.
        model: The model of consolidations on request; its counts are in the metrics.
    """
    options = security or SecurityOptions()
    servers = McpServers(memories)
    requested_sync = RequestedSync(
        memories.knowledge.database.settings, memories.knowledge, clock=memories.knowledge.clock
    )
    app = FastAPI(
        title="commonplace",
        summary="Persistent memory for AI agents",
        description=DESCRIPTION,
        version=version("commonplace"),
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        lifespan=_lifespan(servers, requested_sync),
    )
    app.router.routes.extend(_router().routes)
    app.state.memories = memories
    app.state.draining = False
    app.state.checks = health.Checks(
        memories=memories, settings=settings, worker=worker, ledger=model.ledger if model else None
    )
    app.state.model = model
    app.state.requested_sync = requested_sync
    app.state.logins = Logins(tokens)
    app.state.process_registry = registry = monitoring.process_registry()
    app.state.limiter = Limiter(options.rate_limits, registry)
    app.openapi = partial(documentation.describe, app)
    tell_problems(app)
    servers.mount(app)
    app.mount(assets.STATIC_PATH, assets.static_app(), name="static")
    _add_guards(app, tokens, options)
    return app


def _lifespan(
    servers: McpServers, requested_sync: RequestedSync
) -> Callable[[FastAPI], AbstractAsyncContextManager[None]]:
    """Return the lifespan of the application: its MCP servers run, and a sync ends before the memories close."""

    @asynccontextmanager
    async def running(app: FastAPI) -> AsyncGenerator[None]:
        async with servers.running(app), aclosing(requested_sync):
            yield

    return running


@cache
def _router() -> APIRouter:
    """Return the routes of every application; the first request prepares them, which takes half a second."""
    router = APIRouter(dependencies=[Depends(acting), Depends(refuse_forgery)])
    answers = may_answer(FOREIGN_HOST, UNAUTHENTICATED, FORBIDDEN, FORGED, TOO_MANY, STORAGE_UNAVAILABLE)
    router.include_router(dashboard)  # First, because a request prepares every route before its own.
    apps = (admin, rest, conversations)
    knowing = (knowledge, lists, entities, upkeep, consolidation)
    for part in (
        *apps,
        operational,
        workspace,
        *knowing,
        briefing,
        catalog,
        reviews,
        sync,
        sync_status,
        health_warnings,
    ):
        router.include_router(part.api.router, responses=answers)
    router.include_router(health.router, responses=may_answer(FOREIGN_HOST, TOO_MANY))
    router.include_router(monitoring.router, responses=answers, dependencies=[Depends(installation_reader)])
    router.include_router(documentation.router)
    router.include_router(login.router)
    return router


def _add_guards(app: FastAPI, tokens: Tokens, options: SecurityOptions) -> None:
    """Add the middleware; a request passes the last one first."""
    app.add_middleware(Idempotency)
    app.add_middleware(Authentication, tokens=tokens, options=options, limiter=app.state.limiter)
    app.add_middleware(BodyLimit, options=options)
    app.add_middleware(KnownHostsOnly, options=options)
    app.add_middleware(SecurityHeaders)
    app.add_middleware(RequestFigures, registry=app.state.process_registry)
    app.add_middleware(RequestSpans)
    if options.trusted_proxies:
        app.add_middleware(ProxyHeadersMiddleware, trusted_hosts=list(options.trusted_proxies))
