"""Bounds and defaults of app memory; see :mod:`commonplace.core.bounds`."""

from typing import Annotated, Final

from annotated_types import MaxLen, MinLen

MAX_ID_CHARS: Final = 200
MAX_NAME_CHARS: Final = 100
MAX_MESSAGE_CHARS: Final = 1_000_000
MAX_REASON_CHARS: Final = 500
MAX_MESSAGES: Final = 1_000

MAX_MEMORIES: Final = 10
"""The limit of one space: an app's common space, or the space of one of its users. Source: APP-03."""

MAX_CONTENT_CHARS: Final = 200
"""Source: APP-02.3, R-APP-4."""

MAX_IMPORTANCE: Final = 10.0

Id = Annotated[str, MinLen(1), MaxLen(MAX_ID_CHARS)]
"""The id of a conversation or a user."""

Name = Annotated[str, MinLen(1), MaxLen(MAX_NAME_CHARS)]
"""The name of an app."""

MessageText = Annotated[str, MaxLen(MAX_MESSAGE_CHARS)]
Reason = Annotated[str, MinLen(1), MaxLen(MAX_REASON_CHARS)]
"""The reason why a conversation ended."""
