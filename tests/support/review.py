"""The review queue as doors open it."""

from dataclasses import replace

from commonplace.core.sources import Source
from commonplace.services.opening import Memories
from commonplace.services.review.queue import ReviewQueue


def queue_of(memories: Memories, *, source: Source = Source.PERSON) -> ReviewQueue:
    """Return the queue of a caller of the installation, by default of a person."""
    knowledge = memories.knowledge
    own = knowledge.acting_for(tenant_id=knowledge.tenant_id, actor="ada", source=source)
    return ReviewQueue(memories=replace(memories, knowledge=own))
