"""All routes of the dashboard."""

from typing import Final

from fastapi import APIRouter

from commonplace.web.apps.pages import app_changes, apps
from commonplace.web.dashboard import overview
from commonplace.web.knowledge import pages as knowledge
from commonplace.web.operational.pages import cooldowns, events, memories, memory_changes, sessions
from commonplace.web.workspace.pages import workspace

ROUTERS: Final = (
    overview.router,
    sessions.router,
    events.router,
    memory_changes.router,
    memories.router,
    cooldowns.router,
    app_changes.router,
    apps.router,
    workspace.router,
    *knowledge.ROUTERS,
)

router = APIRouter()
for _part in ROUTERS:
    router.include_router(_part)
