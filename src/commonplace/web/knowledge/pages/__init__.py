"""The dashboard's pages of knowledge memory, each as the tenant of who looks.

Readers look, writers confirm, correct and forget single memories, and an admin merges, unmerges, undoes and requeues.
:mod:`.listing` has what all of them share.
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
