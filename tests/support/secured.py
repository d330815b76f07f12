"""The service where every request needs a token, with a token of each role and of another tenant."""

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

import httpx2
from fastapi import FastAPI

from commonplace.access import IssuedToken, Role, Tokens
from commonplace.core.clock import Clock, utc_now
from commonplace.core.settings import Settings
from commonplace.services.opening import Memories
from commonplace.web.http.security import SecurityOptions
from commonplace.web.service import create_app
from support.deadlines import DEADLINE_S
from support.service import open_memories, serving_app

OTHER_TENANT = "acme"
STRANGER = "stranger"
"""An admin of the other tenant."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Secured:
    """A service as it runs; ``issued`` has a token for each role, and one for a stranger."""

    url: str
    app: FastAPI
    memories: Memories
    tokens: Tokens
    issued: Mapping[str, IssuedToken]

    def client(self, who: str | None = None, **headers: str) -> httpx2.AsyncClient:
        """Return a client with the token of a role, of the stranger, or with none."""
        if who is not None:
            headers["Authorization"] = f"Bearer {self.issued[who].secret}"
        return httpx2.AsyncClient(base_url=self.url, headers=headers, timeout=DEADLINE_S)


@asynccontextmanager
async def secured(
    settings: Settings, *, security: SecurityOptions | None = None, clock: Clock = utc_now
) -> AsyncIterator[Secured]:
    """Serve empty memories to whoever has a token."""
    async with AsyncExitStack() as stack:
        memories = await stack.enter_async_context(open_memories(settings, clock=clock))
        tokens = await stack.enter_async_context(Tokens.open(settings, clock=clock))
        issued = {str(role): await tokens.create(role=role, name=f"the {role}") for role in Role}
        issued[STRANGER] = await tokens.create(role=Role.ADMIN, tenant_id=OTHER_TENANT, name=STRANGER)
        app = create_app(memories, tokens=tokens, security=security or SecurityOptions(login_required=True))
        url = await stack.enter_async_context(serving_app(app))
        yield Secured(url=url, app=app, memories=memories, tokens=tokens, issued=issued)
