"""Dashboard pages of knowledge memory, for the tenant of the caller.

Readers view. Writers confirm, correct and forget single memories. Admins merge, unmerge, undo and requeue.
"""

from typing import Final

from commonplace.web.knowledge.pages import (
    audit,
    entities,
    episodes,
    fact_changes,
    facts,
    graph,
    merging,
    rules,
    runs,
    search,
    workers,
)

ROUTERS: Final = (
    search.router,
    facts.router,
    fact_changes.router,
    rules.router,
    episodes.router,
    entities.router,
    merging.router,
    graph.router,
    audit.router,
    runs.router,
    workers.router,
)
