"""Editing of the text of a fact or rule: the new text supersedes the old text, which stays in the audit trail."""

from dataclasses import replace
from uuid import UUID

from commonplace.core.errors import ConflictError, InvalidInputError
from commonplace.core.sources import Source
from commonplace.knowledge.browse.single_memories import MemoryReader, read_one
from commonplace.knowledge.memories.facts import embed_facts, insert_facts, with_entities
from commonplace.knowledge.memories.rules import (
    RuleDraft,
    checked_rule,
    insert_rules,
    is_displaced,
    supersede_rule,
)
from commonplace.knowledge.model.fact_drafts import FactDraft, all_keys, checked_fact
from commonplace.knowledge.model.kinds import Episode, Fact, Memory, MemoryType, Rule
from commonplace.knowledge.store.session import KnowledgeSession
from commonplace.knowledge.store.unit_of_work import of_kind
from commonplace.knowledge.store.vectors import EmbeddedText, embed_memories
from commonplace.language.relative_days import with_new_dates


class Editing:
    """Editing of facts and rules."""

    def __init__(self, session: KnowledgeSession) -> None:
        self._session = session
        self._reader = MemoryReader(session)

    async def edit(
        self,
        memory_type: str,
        memory_id: UUID | str,
        content: str,
        *,
        allow_secrets: bool = False,
        is_new: bool = True,
    ) -> Memory:
        """Change the text of an active fact, or of a rule that is not forgotten, and return the new memory."""
        old = await self._reader.read(memory_type, memory_id)
        if is_new and isinstance(content, str):  # pyright: ignore[reportUnnecessaryIsInstance] - from tools
            content = with_new_dates(content, old.content, self._session.local_now())
        match _standing(old):
            case Fact() as fact if fact.content != content:
                return await self._edit_fact(fact, content, allow_secrets=allow_secrets)
            case Rule() as rule if rule.content != content:
                return await self._edit_rule(rule, content, allow_secrets=allow_secrets)
            case _:
                return old

    async def _edit_fact(self, old: Fact, content: str, *, allow_secrets: bool) -> Memory:
        now = self._session.clock()
        draft = replace(FactDraft.of(old), content=content, source=None, last_confirmed_at=now)
        fact = checked_fact(draft, allow_secrets=allow_secrets)
        embeddings = await embed_facts(self._session.engine, [fact])
        async with self._session.writing() as sql:
            facts, found = await with_entities(sql, [fact])
            await sql.serialise_fact_keys(keys=all_keys(facts))
            _standing(await read_one(sql, MemoryType.FACT, old.id, now=now))
            (placement,) = await insert_facts(sql, facts, embeddings, found=found, now=now)
            if self._session.source is Source.PERSON and placement.contradicts_id is not None:
                await sql.supersede_fact(id=placement.contradicts_id, by_id=placement.id, now=now)
                await sql.accept_fact(id=placement.id, now=now)
            elif self._session.source is Source.PERSON and old.source_episode_id is not None:
                await of_kind(MemoryType.FACT, sql).confirm(id=placement.id, now=now)
            return await read_one(sql, MemoryType.FACT, placement.id, now=now)

    async def _edit_rule(self, old: Rule, content: str, *, allow_secrets: bool) -> Memory:
        now = self._session.clock()
        draft = replace(RuleDraft.of(old), content=content, source=None, last_confirmed_at=now)
        rule = checked_rule(draft, allow_secrets=allow_secrets)
        embeddings = await embed_memories(self._session.engine, [EmbeddedText(content=rule.content)])
        async with self._session.writing() as sql:
            standing = _standing(await read_one(sql, MemoryType.RULE, old.id, now=now))
            rate = self._session.database.settings.rule_decay_rate
            (receipt,) = await insert_rules(sql, [rule], embeddings, now=now, decay_rate=rate)
            if self._session.source is Source.PERSON and old.source_episode_id is not None:
                await of_kind(MemoryType.RULE, sql).confirm(id=receipt.id, now=now)
            new = await read_one(sql, MemoryType.RULE, receipt.id, now=now)
            if is_displaced(standing, new):
                raise InvalidInputError(
                    "memory_id", "a rule that a person edits, because this edit is less trusted", str(old.id)
                )
            await supersede_rule(sql, old.id, by_id=receipt.id, now=now)
            return new


def _standing(memory: Memory) -> Fact | Rule:
    if isinstance(memory, Episode):
        raise InvalidInputError("memory_type", "fact or rule, because an episode is a record", "episode")
    if not memory.is_current:
        kind = memory.memory_type
        message = f"The {kind} {memory.id} no longer holds, so it cannot be edited. Edit or store a {kind} that holds."
        raise ConflictError("memory_id", message, str(memory.id))
    return memory
