"""The memories that a mirror shows.

Source: MIR-01.
"""

from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import cast

from commonplace.core.sources import Source
from commonplace.knowledge import PINNED, Fact, KnowledgeMemory, Narrowing, Rule, Validity
from commonplace.services.mirrors.registry import Choice, Mirror
from commonplace.services.sources.follower import ORIGIN
from commonplace.services.transfer.exporting import PAGE, all_of


async def chosen(memory: KnowledgeMemory, mirror: Mirror) -> list[Fact | Rule]:
    """Return the current facts and rules of a mirror's scope that it shows, the oldest first.

    Memories in quarantine are left out, and those that were read from the mirror's own folder.

    Raises:
        StorageError: The memories cannot be read.
    """
    memories = [each async for each in _of_scope(memory, mirror.scope) if _is_chosen(each, mirror)]
    return sorted(memories, key=lambda each: (each.created_at, each.id))


async def _of_scope(memory: KnowledgeMemory, scope: str) -> AsyncIterator[Fact | Rule]:
    narrowing = Narrowing(scope=scope)
    async for rule in all_of(
        lambda after: memory.lists.rules(forgotten=False, narrowing=narrowing, limit=PAGE, after=after)
    ):
        yield rule
    async for fact in all_of(
        lambda after: memory.lists.facts(
            validity=Validity.ACTIVE, narrowing=narrowing, limit=PAGE, after=after
        )
    ):
        yield fact


def _is_chosen(memory: Fact | Rule, mirror: Mirror) -> bool:
    is_pinned = PINNED in memory.tags
    fits = {
        Choice.PINNED: is_pinned,
        Choice.CONFIRMED: is_pinned or memory.trust is Source.PERSON,
        Choice.ALL: True,
    }
    return fits[mirror.choice] and not memory.is_quarantined and not _comes_from(memory, mirror.path)


def _comes_from(memory: Fact | Rule, path: Path) -> bool:
    """Return whether a memory was read from a followed file at or below a path."""
    origin = cast("Mapping[str, object]", memory.metadata.get(ORIGIN) or {})
    file = origin.get("path")
    return isinstance(file, str) and Path(file).is_relative_to(path)
