"""The work that the service does when it starts, so that no visitor waits for it."""

from commonplace.access import Tokens
from commonplace.core.settings import Settings
from commonplace.web.service import create_app
from commonplace.web.warming import NOWHERE, warm
from support.service import open_memories


async def test_a_warm_service_answers_as_before(settings: Settings) -> None:
    """Every route was compared with a request that none of them answers."""
    async with open_memories(settings) as memories, Tokens.open(settings) as tokens:
        app = create_app(memories, tokens=tokens, settings=settings)
        before = len(app.routes)
        await warm(app)
    assert len(app.routes) == before
    assert not any(route.matches(NOWHERE)[1].get("endpoint") for route in app.routes)
