"""All routes of the dashboard."""

from typing import Final

from fastapi import APIRouter

from commonplace.web.apps.pages import app_changes, apps
from commonplace.web.dashboard import overview, reviewing, sample_home, searching, trial, week
from commonplace.web.knowledge import pages as knowledge
from commonplace.web.operational.pages import (
    cooldowns,
    events,
    memories,
    memory_changes,
    session_forgetting,
    sessions,
)
from commonplace.web.workspace.pages import workspace

PAGES: Final = (
    *(
        overview,
        sample_home,
        searching,
        trial,
        week,
        session_forgetting,
        sessions,
        events,
        memory_changes,
        memories,
        cooldowns,
        reviewing,
    ),
    *(app_changes, apps, workspace, *knowledge.PAGES),
)

router = APIRouter()
for _page in PAGES:
    router.include_router(_page.router)
