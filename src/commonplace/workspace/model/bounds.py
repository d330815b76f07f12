"""Bounds and defaults of workspace memory; see :mod:`commonplace.core.bounds`."""

from typing import Annotated, Final

from annotated_types import Ge, MaxLen, MinLen

MAX_TEXT_CHARS: Final = 500
MAX_TAGS: Final = 5
MAX_TAG_CHARS: Final = 50

MAX_RESULTS: Final = 20
"""The number of results of a search without a limit."""

Text = Annotated[str, MinLen(1), MaxLen(MAX_TEXT_CHARS)]
Tag = Annotated[str, MinLen(1), MaxLen(MAX_TAG_CHARS)]
Tags = Annotated[list[Tag], MaxLen(MAX_TAGS)]
Limit = Annotated[int, Ge(1)]
