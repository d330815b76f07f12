"""Whether the service works, found out by reading from its database."""

import asyncio
from importlib.metadata import version
from time import perf_counter
from typing import Final, Literal

from fastapi import APIRouter
from pydantic import Field

from commonplace.core.errors import StorageUnavailableError
from commonplace.web.apps.parameters import OpenAppMemory
from commonplace.web.shape import Shape

TIMEOUT_S: Final = 3.0
"""Load balancers and supervisors give up after a few seconds; a database that takes longer is not well."""


class HealthShape(Shape):
    """The service works."""

    status: Literal["ok"] = "ok"
    version: str = Field(description="of commonplace")
    database_ms: float = Field(description="how long a read in the database took")


router = APIRouter(tags=["operations"])


@router.get(
    "/healthz", operation_id="health", response_description="It works", summary="Check that the service works"
)
async def health(memory: OpenAppMemory) -> HealthShape:
    """Read from the database: 200 if that works, 503 if it does not, or takes more than three seconds."""
    began = perf_counter()
    try:
        async with asyncio.timeout(TIMEOUT_S):
            await memory.registry.list_apps(limit=1)
    except TimeoutError:
        raise StorageUnavailableError(f"the database did not answer within {TIMEOUT_S:g} s") from None
    return HealthShape(version=version("commonplace"), database_ms=round((perf_counter() - began) * 1000, 2))
