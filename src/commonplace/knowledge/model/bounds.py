"""Bounds and defaults of knowledge memory; see :mod:`commonplace.core.bounds`."""

from typing import Annotated, Final

from annotated_types import Ge, Le, MaxLen, MinLen

DEFAULT_IMPORTANCE: Final = 5.0
MAX_IMPORTANCE: Final = 10.0
"""Importance ranges from 0 to this."""

MAX_CONTENT_CHARS: Final = 1_000_000
MAX_STATEMENT_CHARS: Final = 20_000
"""Maximum number of characters of a fact or rule; a longer text is a document, of which a block shows little."""

MAX_KEY_CHARS: Final = 256
"""Maximum number of characters of a subject or predicate, because an index entry of 2,700 bytes holds both."""

MAX_SCOPE_CHARS: Final = 100
MAX_TAGS: Final = 50
MAX_TAG_CHARS: Final = 100
MAX_QUERY_CHARS: Final = 10_000
MAX_BATCH_ROWS: Final = 5_000

MAX_LIMIT: Final = 1_000
"""Maximum number of results of one search or list."""

DEFAULT_LIMIT: Final = 10
"""Number of results of a search or recall without a limit, unless configured. Source: KNW-19.5."""

LIST_LIMIT: Final = 50
"""Number of items of a list that is called without a limit."""

DEFAULT_MIN_CONFIDENCE: Final = 0.2
DEFAULT_BUDGET_TOKENS: Final = 3_000
DEFAULT_MAX_ENTRIES: Final = 10_000
"""Number of episodes of a tenant that a cleanup keeps. Source: KNW-19.7."""

Content = Annotated[str, MinLen(1), MaxLen(MAX_CONTENT_CHARS)]
"""The text of a memory."""

Key = Annotated[str, MinLen(1), MaxLen(MAX_KEY_CHARS)]
"""A subject or a predicate."""

Scope = Annotated[str, MinLen(1), MaxLen(MAX_SCOPE_CHARS)]
"""The name of a scope or a butler."""

Tag = Annotated[str, MinLen(1), MaxLen(MAX_TAG_CHARS)]
Tags = Annotated[list[Tag], MaxLen(MAX_TAGS)]
"""Labels of a memory; in memory, the tag ``pinned`` does not count."""

Importance = Annotated[float, Ge(0.0), Le(MAX_IMPORTANCE)]
Query = Annotated[str, MaxLen(MAX_QUERY_CHARS)]
"""The words of a search, or the topic of a recall."""

Limit = Annotated[int, Ge(1), Le(MAX_LIMIT)]
"""The maximum number of results of a search or list."""

MaxEntries = Annotated[int, Ge(0), Le(100_000_000)]
"""The number of episodes that a cleanup keeps."""
