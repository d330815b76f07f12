"""Feedback on rules: what helped, what harmed, and the inversion of a rule into the warning against itself."""

from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime
from typing import Any, Final, Literal
from uuid import UUID

import asyncpg

from commonplace.core.clock import Clock, utc_now
from commonplace.core.errors import InvalidInputError
from commonplace.core.text import clean_text, collapse_whitespace, trim_to
from commonplace.embedding import EmbeddingEngine
from commonplace.knowledge import inputs
from commonplace.knowledge.embeddings import embed
from commonplace.knowledge.events import EventType, record_event
from commonplace.knowledge.lifecycle import maturity
from commonplace.knowledge.lifecycle.maturity import Maturity, Standing
from commonplace.knowledge.search_text import search_text
from commonplace.knowledge.unit_of_work import unit_of_work
from commonplace.storage.database import Row, Statements

MAX_REASON_CHARS: Final = 1_000
MAX_REASONS: Final = 100
"""Kept in a rule's metadata, the latest; ``rule_applications`` keeps all."""

Outcome = Literal["helpful", "harmful"]


async def mark_helpful(
    pool: asyncpg.Pool,
    rule_id: UUID | str,
    *,
    context: Mapping[str, Any] | None = None,
    clock: Clock = utc_now,
) -> dict[str, Any] | None:
    """Count an application of a rule that helped, and promote the rule where it has earned that.

    Args:
        pool: Of the database.
        rule_id: The rule.
        context: What it was applied to: a JSON object for ``rule_applications``.
        clock: The present.

    Returns:
        The rule as it is now, or ``None`` where there is none or it is forgotten.

    Raises:
        InvalidInputError: ``rule_id`` or ``context`` is malformed.
        TenantUnsetError: No request context is set.
        StorageUnavailableError: The server cannot be reached.

    Source: KNW-21.1, KNW-30.1.
    """
    details = inputs.require_metadata(context, allow_secrets=False)
    now = clock()
    async with unit_of_work(pool) as sql:
        key = inputs.require_id(rule_id, field="rule_id")
        rule = await sql.lock_rule(id=key)
        if rule is None:
            return None
        before = _standing(rule)
        after = maturity.after_helpful(before, age=now - rule["created_at"])
        await sql.record_application(rule_id=key, outcome="helpful", reason=None, context=details, now=now)
        return await _write(sql, key, "helpful", before, after, metadata=rule["metadata"], now=now)


async def mark_harmful(
    pool: asyncpg.Pool,
    rule_id: UUID | str,
    *,
    reason: str | None = None,
    context: Mapping[str, Any] | None = None,
    clock: Clock = utc_now,
) -> dict[str, Any] | None:
    """Count an application of a rule that did harm, which weighs four times, and demote the rule where that is due.

    Args:
        pool: Of the database.
        rule_id: The rule.
        reason: Why, added to ``metadata.harmful_reasons``; shortened to 1,000 characters.
        context: What it was applied to: a JSON object for ``rule_applications``.
        clock: The present.

    Returns:
        The rule as it is now, with ``metadata.needs_inversion`` where its opposite has become the better rule;
        or ``None`` where there is none or it is forgotten.

    Raises:
        InvalidInputError: A parameter is malformed.
        SecretRefusedError: The reason looks like it holds a secret.
        TenantUnsetError: No request context is set.
        StorageUnavailableError: The server cannot be reached.

    Source: KNW-21.2, KNW-21.3, KNW-30.1.
    """
    why = _reason(reason)
    details = inputs.require_metadata(context, allow_secrets=False)
    now = clock()
    async with unit_of_work(pool) as sql:
        key = inputs.require_id(rule_id, field="rule_id")
        rule = await sql.lock_rule(id=key)
        if rule is None:
            return None
        before = _standing(rule)
        after = maturity.after_harmful(before)
        metadata = dict(rule["metadata"])
        if why is not None:
            metadata["harmful_reasons"] = [*metadata.get("harmful_reasons", []), why][-MAX_REASONS:]
        if after.needs_inversion:
            metadata["needs_inversion"] = True
        await sql.record_application(rule_id=key, outcome="harmful", reason=why, context=details, now=now)
        return await _write(sql, key, "harmful", before, after, metadata=metadata, now=now)


async def invert_to_anti_pattern(
    pool: asyncpg.Pool, engine: EmbeddingEngine, rule_id: UUID | str, *, clock: Clock = utc_now
) -> dict[str, Any] | None:
    """Rewrite a rule that keeps doing harm as the warning against itself, and make it findable as that.

    Returns:
        The rule as it is now; unchanged where it was inverted before. ``None`` where there is none or it is
        forgotten.

    Raises:
        InvalidInputError: The rule has fewer than three harmful marks, or an effectiveness of 0.3 or more.
        TenantUnsetError: No request context is set.
        EmbeddingError: The model cannot be used.
        StorageUnavailableError: The server cannot be reached.

    Source: KNW-03.5.
    """
    key = inputs.require_id(rule_id, field="rule_id")
    async with unit_of_work(pool) as sql:
        rule = await sql.lock_rule(id=key)
    if rule is None:
        return None
    text = maturity.anti_pattern_text(rule["content"], rule["metadata"].get("harmful_reasons", []))
    embeddings = await embed(engine, [text])
    now = clock()
    async with unit_of_work(pool) as sql:
        current = await sql.lock_rule(id=key)
        if current is None:
            return None
        if current["maturity"] == Maturity.ANTI_PATTERN:
            return dict(await sql.bump_rule(id=key, now=now))
        before = _standing(current)
        _require_inversion(key, before)
        metadata = {name: value for name, value in current["metadata"].items() if name != "needs_inversion"}
        metadata["original_content"] = rule["content"]
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
        payload = _payload(key, {"maturity": before.maturity}, {"maturity": Maturity.ANTI_PATTERN})
        await record_event(sql, EventType.RULE_INVERTED, payload=payload)
        return dict(inverted)


def _require_inversion(rule_id: UUID, standing: Standing) -> None:
    if not standing.needs_inversion:
        raise InvalidInputError(
            "rule_id",
            f"a rule with at least {maturity.INVERSION_HARMS} harmful marks and an effectiveness below "
            f"{maturity.INVERSION_EFFECTIVENESS}",
            f"{rule_id}: {standing.harms} marks, effectiveness {standing.effectiveness:.2f}",
        )


def _standing(rule: Row) -> Standing:
    return Standing(
        maturity=Maturity(rule["maturity"]),
        effectiveness=rule["effectiveness_score"],
        applied=rule["applied_count"],
        successes=rule["success_count"],
        harms=rule["harmful_count"],
    )


async def _write(
    sql: Statements,
    rule_id: UUID,
    outcome: Outcome,
    before: Standing,
    after: Standing,
    *,
    metadata: Mapping[str, Any],
    now: datetime,
) -> dict[str, Any]:
    row = await sql.mark_rule(id=rule_id, **asdict(after), metadata=dict(metadata), now=now)
    event = EventType.RULE_HELPFUL if outcome == "helpful" else EventType.RULE_HARMFUL
    await record_event(sql, event, payload=_payload(rule_id, asdict(before), asdict(after)))
    return dict(row)


def _payload(rule_id: UUID, before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    return {"memory_type": "rule", "memory_id": str(rule_id), "before": dict(before), "after": dict(after)}


def _reason(reason: str | None) -> str | None:
    if reason is None:
        return None
    shortened = trim_to(collapse_whitespace(clean_text(reason)), MAX_REASON_CHARS)
    return inputs.require_content(shortened, field="reason", allow_secrets=False) if shortened else None
