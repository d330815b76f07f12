"""Feedback on rules: helpful and harmful applications, and the inversion of a rule into a warning."""

import logging
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from commonplace.core.errors import EmbeddingError, InvalidInputError, NotFoundError, StorageError
from commonplace.core.text import collapse_whitespace, trim_to
from commonplace.knowledge.model import inputs
from commonplace.knowledge.model.events import EventType
from commonplace.knowledge.model.feedback import Outcome
from commonplace.knowledge.model.kinds import MemoryType, Rule
from commonplace.knowledge.model.maturity import Maturity
from commonplace.knowledge.model.search_text import search_text
from commonplace.knowledge.rules import maturity
from commonplace.knowledge.rules.maturity import Standing
from commonplace.knowledge.store.events import record_event
from commonplace.knowledge.store.id_lookup import find_id
from commonplace.knowledge.store.passages import store_passages
from commonplace.knowledge.store.session import KnowledgeSession
from commonplace.knowledge.store.statements import KnowledgeStatements
from commonplace.knowledge.store.vectors import EmbeddedText, embed_memories
from commonplace.storage.database import Row

_log = logging.getLogger(__name__)

MAX_REASON_CHARS: Final = 1_000
MAX_REASONS: Final = 100
"""The number of latest reasons in a rule's metadata; ``rule_applications`` keeps all reasons."""


class RuleFeedback:
    """Feedback on rules."""

    def __init__(self, session: KnowledgeSession) -> None:
        self._session = session

    async def mark_helpful(self, rule_id: UUID | str, *, context: Mapping[str, Any] | None = None) -> Rule:
        """Count a helpful application of a rule, confirm the rule, and promote it if it qualifies."""
        return await self._mark(rule_id, Outcome.HELPFUL, None, context)

    async def mark_harmful(
        self, rule_id: UUID | str, *, reason: str | None = None, context: Mapping[str, Any] | None = None
    ) -> Rule:
        """Count a harmful application of a rule, weighted four times, and demote or invert the rule if necessary."""
        marked = await self.count_harmful(rule_id, reason=reason, context=context)
        if not marked.needs_inversion:
            return marked
        try:
            return await self.invert(marked.id)
        except (EmbeddingError, StorageError) as error:
            _log.error("rule %s is not inverted yet: %s", marked.id, error)
            return marked

    async def count_harmful(
        self, rule_id: UUID | str, *, reason: str | None = None, context: Mapping[str, Any] | None = None
    ) -> Rule:
        """Count a harmful application of a rule as :meth:`mark_harmful` does, without the inversion."""
        return await self._mark(rule_id, Outcome.HARMFUL, _reason(reason), context)

    async def invert_all(self) -> list[Rule]:
        """Invert the rules that need it and are not inverted yet, and return them."""
        async with self._session.reading() as sql:
            waiting = [row["id"] for row in await sql.rules_to_invert()]
        inverted: list[Rule] = []
        for rule_id in waiting:
            # In the meantime, the rule was marked as helpful or was forgotten.
            with suppress(InvalidInputError, NotFoundError):
                inverted.append(await self.invert(rule_id))
        return inverted

    async def invert(self, rule_id: UUID | str) -> Rule:
        """Rewrite a harmful rule as a warning, make the warning findable, and restart its decay."""
        key = inputs.require_id(rule_id, field="rule_id")
        async with self._session.writing() as sql:
            rule = await _lock(sql, key, self._session.clock())
        text = maturity.anti_pattern_text(rule.content, rule.metadata.get("harmful_reasons", []))
        embeddings = await embed_memories(self._session.engine, [EmbeddedText(content=text)])
        now = self._session.clock()
        async with self._session.writing() as sql:
            current = await _lock(sql, key, now)
            if current.maturity is Maturity.ANTI_PATTERN:
                return current
            before = _standing(current)
            _require_inversion(key, before)
            metadata = {name: value for name, value in current.metadata.items() if name != "needs_inversion"}
            metadata["original_content"] = rule.content
            row = await sql.invert_rule(
                id=key,
                content=text,
                search_text=search_text(text),
                embedding=embeddings.vectors[0],
                model=embeddings.model,
                version=embeddings.version,
                metadata=metadata,
                now=now,
            )
            inverted = _existing(row, key, now)
            await store_passages(sql, MemoryType.RULE, [key], embeddings)
            states = (
                {"maturity": each.maturity, "last_confirmed_at": each.last_confirmed_at}
                for each in (current, inverted)
            )
            await _record(sql, EventType.RULE_INVERTED, key, *states)
            return inverted

    async def _mark(self, rule_id: UUID | str, outcome: Outcome, reason: str | None, context: object) -> Rule:
        now = self._session.clock()
        details = inputs.require_metadata(context, allow_secrets=False)
        async with self._session.writing() as sql:
            key = await find_id(sql, rule_id, MemoryType.RULE, field="rule_id")
            rule = await _lock(sql, key, now)
            before, helpful = _standing(rule), outcome is Outcome.HELPFUL
            after = (
                maturity.after_helpful(before, age=now - rule.created_at)
                if helpful
                else maturity.after_harmful(before)
            )
            confirmed_at = now if helpful else rule.last_confirmed_at
            await sql.record_application(
                rule_id=key, outcome=outcome, reason=reason, context=details, now=now
            )
            row = await sql.mark_rule(
                id=key,
                **asdict(after),
                helpful=helpful,
                confirmed_at=confirmed_at,
                metadata=_marked(rule.metadata, reason, needs_inversion=after.needs_inversion),
                now=now,
            )
            await _record(
                sql,
                EventType.RULE_HELPFUL if helpful else EventType.RULE_HARMFUL,
                key,
                asdict(before) | {"last_confirmed_at": rule.last_confirmed_at},
                asdict(after) | {"last_confirmed_at": confirmed_at},
            )
            return _existing(row, key, now)


def _require_inversion(rule_id: UUID, standing: Standing) -> None:
    if not standing.needs_inversion:
        raise InvalidInputError(
            "rule_id",
            f"a rule with at least {maturity.INVERSION_HARMS} harmful marks and an effectiveness below "
            f"{maturity.INVERSION_EFFECTIVENESS}",
            f"{rule_id}: {standing.harms} marks, effectiveness {standing.effectiveness:.2f}",
        )


async def _lock(sql: KnowledgeStatements, rule_id: UUID, now: datetime) -> Rule:
    return _existing(await sql.lock_rule(id=rule_id), rule_id, now)


def _existing(row: Row | None, rule_id: UUID, now: datetime) -> Rule:
    if row is None:
        raise NotFoundError("rule", str(rule_id))
    return Rule.from_row(row, now=now)


def _standing(rule: Rule) -> Standing:
    return Standing(
        maturity=rule.maturity,
        effectiveness=rule.effectiveness_score,
        applied=rule.applied_count,
        successes=rule.success_count,
        harms=rule.harmful_count,
    )


async def _record(
    sql: KnowledgeStatements, event: EventType, rule_id: UUID, before: dict[str, Any], after: dict[str, Any]
) -> None:
    payload = {"memory_type": MemoryType.RULE, "memory_id": rule_id, "before": before, "after": after}
    await record_event(sql, event, payload=payload)


def _marked(metadata: Mapping[str, Any], reason: str | None, *, needs_inversion: bool) -> dict[str, Any]:
    """Return the metadata of a rule after a mark, with distinct reasons and whether the rule waits for inversion."""
    marked = {name: value for name, value in metadata.items() if name != "needs_inversion"}
    if reason is not None:
        reasons = maturity.distinct_reasons([*metadata.get("harmful_reasons", []), reason])
        marked["harmful_reasons"] = reasons[-MAX_REASONS:]
    return marked | ({"needs_inversion": True} if needs_inversion else {})


def _reason(reason: str | None) -> str | None:
    if reason is None:
        return None
    shortened = trim_to(
        collapse_whitespace(inputs.optional_filter(reason, field="reason") or ""), MAX_REASON_CHARS
    )
    return inputs.require_content(shortened, field="reason", allow_secrets=False) if shortened else None
