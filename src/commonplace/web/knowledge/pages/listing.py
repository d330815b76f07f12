"""Parameters and the refresh event that the pages of knowledge memory share."""

from typing import Annotated, Final
from uuid import UUID

from fastapi import Path, Query

CHANGED: Final = "knowledge-changed"
"""The event by which parts of these pages refresh themselves."""

MAX_NAME_CHARS: Final = 200

Name = Annotated[str, Query(max_length=MAX_NAME_CHARS)]
SomeId = Annotated[UUID | None, Query()]
ItemId = Annotated[UUID, Path()]
