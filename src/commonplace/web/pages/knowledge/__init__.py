"""Dashboard pages of knowledge memory, for the tenant of the caller.

Readers view. Writers confirm, correct and forget named memories. Admins merge, unmerge, undo and requeue.
"""

from typing import Final

from commonplace.web.pages.knowledge import (
    adding,
    audit,
    entities,
    episodes,
    facts,
    graph,
    harm,
    merging,
    rules,
    runs,
    search,
    unused,
    workers,
)

PAGES: Final = (
    search,
    adding,
    facts,
    rules,
    episodes,
    entities,
    merging,
    graph,
    harm,
    unused,
    audit,
    runs,
    workers,
)
