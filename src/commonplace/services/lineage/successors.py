"""The current memory that stands in the place of a fact or rule that was replaced."""

from uuid import UUID

from commonplace.knowledge import Fact, KnowledgeMemory, Memory, MemoryType, Relation, Rule, Validity


async def successor(knowledge: KnowledgeMemory, memory: Memory) -> Fact | Rule | None:
    """Return the current memory that replaced a fact or rule; ``None`` for one that is current or was forgotten.

    Raises:
        StorageError: A memory cannot be read.
    """
    if isinstance(memory, Fact) and memory.validity is Validity.SUPERSEDED:
        chain = await knowledge.history.chain(memory.id)
        return next((each for each in chain if each.is_current), None)
    if isinstance(memory, Rule) and memory.is_forgotten:
        return await _current_rule(knowledge, memory.id)
    return None


async def _current_rule(knowledge: KnowledgeMemory, rule_id: UUID) -> Rule | None:
    """Follow the links from a superseded rule to the rule that is not forgotten."""
    seen: set[UUID] = set()
    key: UUID | None = rule_id
    while key is not None and key not in seen:
        seen.add(key)
        links = await knowledge.links.list(MemoryType.RULE, key, direction="incoming")
        key = next((each.source_id for each in links if each.relation is Relation.SUPERSEDES), None)
        rule = None if key is None else await knowledge.read("rule", key)
        if rule is not None and rule.is_current:
            return rule
    return None
