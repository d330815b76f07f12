"""Work that the first visitor of a page would otherwise wait for, done when the service starts.

FastAPI prepares a route when a request is first compared with it, and Jinja compiles a template when a page first needs
it. Together these take longer than most pages do.
"""

import asyncio
from typing import Final

from fastapi import FastAPI
from starlette.types import Scope

from commonplace.web.pages.layout.rendering import compile_templates

PAUSE_S: Final = 0.02
"""Requests come first: a page that is asked for meanwhile waits for few steps."""

NOWHERE: Final[Scope] = {"type": "http", "method": "GET", "path": "/-", "root_path": "", "headers": []}
"""A request that no route answers, so that it is compared with all of them."""


async def warm(app: FastAPI) -> None:
    """Prepare the templates and the routes in small steps; requests are answered in between."""
    for _ in compile_templates():
        await asyncio.sleep(PAUSE_S)
    for route in app.routes:
        route.matches(NOWHERE)
        await asyncio.sleep(PAUSE_S)
