"""Parameters and the refresh event that the pages of knowledge memory share."""

from datetime import UTC, date, datetime, time
from typing import Annotated, Final, Literal
from uuid import UUID

from fastapi import Path, Query
from pydantic import BeforeValidator

CHANGED: Final = "knowledge-changed"
"""The event by which parts of these pages refresh themselves."""

MAX_NAME_CHARS: Final = 200
MAX_SEARCH_CHARS: Final = 1_000

Used = Literal["", "yes", "no"]
USES: Final = (("", "Any"), ("yes", "Used"), ("no", "Never used"))
UNUSED: Final = {"yes": False, "no": True}
"""The filter of knowledge memory for each choice of the page."""

Name = Annotated[str, Query(max_length=MAX_NAME_CHARS)]
SearchText = Annotated[str, Query(max_length=MAX_SEARCH_CHARS)]
Day = Annotated[date | None, BeforeValidator(lambda value: value or None), Query()]
SomeId = Annotated[UUID | None, Query()]
ItemId = Annotated[UUID, Path()]


def end_of(day: date | None) -> datetime | None:
    """Return the last moment of a day in UTC."""
    return None if day is None else datetime.combine(day, time.max, UTC)
