"""All routes of the dashboard."""

from typing import Final

from fastapi import APIRouter

from commonplace.web.pages import knowledge
from commonplace.web.pages.apps import app_changes, apps
from commonplace.web.pages.catalog import comparing, quick, showing, verbs
from commonplace.web.pages.home import (
    devices,
    overview,
    reviewing,
    safety,
    sample_home,
    searching,
    trial,
    week,
)
from commonplace.web.pages.operational import (
    cooldowns,
    events,
    memories,
    memory_changes,
    session_forgetting,
    sessions,
)
from commonplace.web.pages.workspace import workspace

PAGES: Final = (
    *(
        overview,
        sample_home,
        searching,
        quick,
        verbs,
        showing,
        comparing,
        trial,
        week,
        safety,
        devices,
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
