"""Feedback on rules: helpful and harmful applications, and the inversion of a rule into a warning."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Final
from uuid import UUID

from commonplace.core.errors import InvalidInputError, NotFoundError
from commonplace.core.text import clean_text, collapse_whitespace, trim_to
from commonplace.knowledge import inputs
from commonplace.knowledge.connection.session import KnowledgeSession, storage_function
from commonplace.knowledge.connection.vectors import embed
from commonplace.knowledge.events import EventType, record_event
from commonplace.knowledge.kinds import MemoryType, Rule
from commonplace.knowledge.lifecycle import maturity
from commonplace.knowledge.lifecycle.maturity import Maturity, Standing
from commonplace.knowledge.search.search_text import search_text
from commonplace.knowledge.short_ids import find_id, parse_id
from commonplace.storage.database import Statements
from commonplace.storage.nouns import Noun

MAX_REASON_CHARS: Final = 1_000
MAX_REASONS: Final = 100
"""The number of latest reasons in a rule's metadata; ``rule_applications`` keeps all."""


class Outcome(StrEnum):
    """The outcome of an application of a rule."""

    HELPFUL = "helpful"
    HARMFUL = "harmful"


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleApplication(Noun):
    """An application of a rule, and the feedback on it."""

    outcome: Outcome
    reason: str | None
    actor: str | None
    applied_at: datetime
    context: Mapping[str, Any]


class FeedbackMethods(KnowledgeSession):
    """The methods of knowledge memory for feedback on rules."""

    async def mark_helpful(self, rule_id: UUID | str, *, context: Mapping[str, Any] | None = None) -> Rule:
        """Count a helpful application of a rule, and promote the rule if it qualifies.

        Args:
            rule_id: The id or the short id of the rule.
            context: A JSON object about the application, for ``rule_applications``.

        Returns:
            The rule as it is now.

        Raises:
            InvalidInputError: ``rule_id`` or ``context`` is malformed, or several rules have the short id.
            NotFoundError: The rule does not exist, or is forgotten.
            StorageUnavailableError: The server cannot be reached.

        Source: KNW-21.1, KNW-30.1.
        """
        return await self._mark(rule_id, Outcome.HELPFUL, None, context)

    async def mark_harmful(
        self, rule_id: UUID | str, *, reason: str | None = None, context: Mapping[str, Any] | None = None
    ) -> Rule:
        """Count a harmful application of a rule, which weighs four times, and demote the rule if necessary.

        Args:
            rule_id: The id or the short id of the rule.
            reason: The harm, added to ``metadata.harmful_reasons``; shortened to 1,000 characters.
            context: A JSON object about the application, for ``rule_applications``.

        Returns:
            The rule as it is now, with ``metadata.needs_inversion`` if its opposite has become the better rule.

        Raises:
            InvalidInputError: A parameter is malformed, or several rules have the short id.
            NotFoundError: The rule does not exist, or is forgotten.
            SecretRefusedError: The reason looks like a secret.
            StorageUnavailableError: The server cannot be reached.

        Source: KNW-21.2, KNW-21.3, KNW-30.1.
        """
        return await self._mark(rule_id, Outcome.HARMFUL, _reason(reason), context)

    async def invert_to_anti_pattern(self, rule_id: UUID | str) -> Rule:
        """Rewrite a harmful rule as a warning, and make the warning findable.

        Returns:
            The rule as it is now; unchanged if it was inverted before.

        Raises:
            InvalidInputError: The rule has fewer than three harmful marks, or an effectiveness of 0.3 or more.
            NotFoundError: The rule does not exist, or is forgotten.
            EmbeddingError: The model cannot be used.
            StorageUnavailableError: The server cannot be reached.

        Source: KNW-03.5.
        """
        key = inputs.require_id(rule_id, field="rule_id")
        async with self._writing() as sql:
            rule = await _lock(sql, key, self.clock())
        text = maturity.anti_pattern_text(rule.content, rule.metadata.get("harmful_reasons", []))
        embeddings = await embed(self.engine, [text])
        now = self.clock()
        async with self._writing() as sql:
            current = await _lock(sql, key, now)
            if current.maturity is Maturity.ANTI_PATTERN:
                return current
            before = _standing(current)
            _require_inversion(key, before)
            metadata = {name: value for name, value in current.metadata.items() if name != "needs_inversion"}
            metadata["original_content"] = rule.content
            inverted = await sql.invert_rule(
                id=key,
                content=text,
                search_text=search_text(text),
                embedding=embeddings.vectors[0],
                model=embeddings.model,
                version=embeddings.version,
                metadata=metadata,
                now=now,
            )
            states = {"before": {"maturity": before.maturity}, "after": {"maturity": Maturity.ANTI_PATTERN}}
            await _record(sql, EventType.RULE_INVERTED, key, **states)
            return Rule.from_row(inverted, now=now)

    async def _mark(self, rule_id: UUID | str, outcome: Outcome, reason: str | None, context: object) -> Rule:
        now = self.clock()
        details = inputs.require_metadata(context, allow_secrets=False)
        wanted = parse_id(rule_id, MemoryType.RULE, field="rule_id")
        async with self._writing() as sql:
            key = await find_id(sql, wanted, MemoryType.RULE, field="rule_id")
            rule = await _lock(sql, key, now)
            before, metadata = _standing(rule), dict(rule.metadata)
            if outcome is Outcome.HELPFUL:
                event, after = (
                    EventType.RULE_HELPFUL,
                    maturity.after_helpful(before, age=now - rule.created_at),
                )
            else:
                event, after = EventType.RULE_HARMFUL, maturity.after_harmful(before)
                if reason is not None:
                    metadata["harmful_reasons"] = [*metadata.get("harmful_reasons", []), reason][
                        -MAX_REASONS:
                    ]
                if after.needs_inversion:
                    metadata["needs_inversion"] = True
            await sql.record_application(
                rule_id=key, outcome=outcome, reason=reason, context=details, now=now
            )
            row = await sql.mark_rule(id=key, **asdict(after), metadata=metadata, now=now)
            await _record(sql, event, key, before=asdict(before), after=asdict(after))
            return Rule.from_row(row, now=now)


mark_helpful = storage_function(FeedbackMethods, FeedbackMethods.mark_helpful)
mark_harmful = storage_function(FeedbackMethods, FeedbackMethods.mark_harmful)
invert_to_anti_pattern = storage_function(
    FeedbackMethods, FeedbackMethods.invert_to_anti_pattern, needs_engine=True
)


def _require_inversion(rule_id: UUID, standing: Standing) -> None:
    if not standing.needs_inversion:
        raise InvalidInputError(
            "rule_id",
            f"a rule with at least {maturity.INVERSION_HARMS} harmful marks and an effectiveness below "
            f"{maturity.INVERSION_EFFECTIVENESS}",
            f"{rule_id}: {standing.harms} marks, effectiveness {standing.effectiveness:.2f}",
        )


async def _lock(sql: Statements, rule_id: UUID, now: datetime) -> Rule:
    row = await sql.lock_rule(id=rule_id)
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


async def _record(sql: Statements, event: EventType, rule_id: UUID, **states: object) -> None:
    payload = {"memory_type": "rule", "memory_id": str(rule_id), **states}
    await record_event(sql, event, payload=payload)


def _reason(reason: str | None) -> str | None:
    if reason is None:
        return None
    shortened = trim_to(collapse_whitespace(clean_text(reason)), MAX_REASON_CHARS)
    return inputs.require_content(shortened, field="reason", allow_secrets=False) if shortened else None
