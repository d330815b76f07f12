"""The service, put together: routes, guards, errors and documentation over memories that are open."""

from collections.abc import AsyncGenerator
from functools import partial
from importlib.metadata import version
from typing import Final

from fastapi import Depends, FastAPI

from commonplace.apps.memory import AppMemory
from commonplace.core.context import request_context
from commonplace.web import documentation, health, monitoring
from commonplace.web.apps import admin, rest
from commonplace.web.guards import BodyLimit, LoopbackHostOnly
from commonplace.web.problems import FOREIGN_HOST, STORAGE_UNAVAILABLE, may_answer, tell_problems

ACTOR: Final = "web"
"""Who the history says it was; nobody is told apart before there is a login."""

DESCRIPTION: Final = """\
Memory of AI agents. Names are in camel case, times are ISO 8601 in UTC, and errors are problem details (RFC 9457). \
Lists take `limit` and `offset`; `nextOffset` says where the next page begins."""


async def acting() -> AsyncGenerator[None]:
    """Put a request into its context, for the history of what it changes."""
    with request_context(actor=ACTOR):
        yield


def create_app(app_memory: AppMemory) -> FastAPI:
    """Return the service as an ASGI application.

    Args:
        app_memory: Open for as long as the application is served; who opened it closes it.
    """
    app = FastAPI(
        title="commonplace",
        summary="Persistent memory for AI agents",
        description=DESCRIPTION,
        version=version("commonplace"),
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        dependencies=[Depends(acting)],
    )
    app.state.app_memory = app_memory
    app.state.process_registry = monitoring.process_registry()
    app.openapi = partial(documentation.describe, app)
    tell_problems(app)
    for router in (admin.router, rest.router, health.router, monitoring.router):
        app.include_router(router, responses=may_answer(FOREIGN_HOST, STORAGE_UNAVAILABLE))
    app.include_router(documentation.router)
    app.add_middleware(BodyLimit)
    app.add_middleware(LoopbackHostOnly)
    return app
