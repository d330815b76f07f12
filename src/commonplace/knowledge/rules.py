"""Storing rules: guidance for how to act, at first as candidates."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

import asyncpg

from commonplace.core.clock import Clock, utc_now
from commonplace.embedding import EmbeddingEngine
from commonplace.knowledge import inputs
from commonplace.knowledge.drafts import checked, columns, known_sources
from commonplace.knowledge.kinds import GLOBAL_SCOPE
from commonplace.knowledge.unit_of_work import require_context, unit_of_work
from commonplace.knowledge.vectors import Embeddings, embed
from commonplace.storage.database import Statements

DECAY_RATE: Final = 0.01
"""The decay rate of every stored rule. Source: KNW-05.4, R-KNW-1."""

RESERVED_METADATA: Final = frozenset(
    {"status", "forgotten", "needs_inversion", "harmful_reasons", "original_content"}
)
"""Keys that the lifecycle sets in the metadata of a rule. Source: KNW-03.5, KNW-05.9, KNW-09.3, KNW-21."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleDraft:
    """A rule to store.

    Attributes:
        content: The guidance, 1 to 1,000,000 characters.
        scope: ``"global"``, or the butler that the rule is for.
        tags: At most 50, of at most 100 characters.
        source_butler: The butler that learned the rule.
        source_episode_id: The episode that the rule was learned from.
        metadata: A JSON object without the keys of :data:`RESERVED_METADATA`.
    """

    content: str
    scope: str = GLOBAL_SCOPE
    tags: Sequence[str] | None = None
    source_butler: str | None = None
    source_episode_id: UUID | str | None = None
    metadata: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleReceipt:
    """The outcome of storing a rule."""

    id: UUID


async def store_rule(
    pool: asyncpg.Pool,
    engine: EmbeddingEngine,
    *,
    content: str,
    scope: str = GLOBAL_SCOPE,
    tags: Sequence[str] | None = None,
    source_butler: str | None = None,
    source_episode_id: UUID | str | None = None,
    metadata: Mapping[str, Any] | None = None,
    allow_secrets: bool = False,
    clock: Clock = utc_now,
) -> UUID:
    """Store a rule and return its id; see :class:`RuleDraft` and :func:`store_rules`.

    Source: KNW-05.4.
    """
    draft = RuleDraft(
        content=content,
        scope=scope,
        tags=tags,
        source_butler=source_butler,
        source_episode_id=source_episode_id,
        metadata=metadata,
    )
    (receipt,) = await store_rules(pool, engine, [draft], allow_secrets=allow_secrets, clock=clock)
    return receipt.id


async def store_rules(
    pool: asyncpg.Pool,
    engine: EmbeddingEngine,
    drafts: Sequence[RuleDraft],
    *,
    allow_secrets: bool = False,
    clock: Clock = utc_now,
) -> list[RuleReceipt]:
    """Store up to 5,000 rules with one computation of vectors and one statement, all or none.

    Returns:
        A receipt for each draft, in the order of the drafts.

    Raises:
        InvalidInputError: A value of a draft is invalid, or names an episode that does not exist; the message names
            the field.
        SecretRefusedError: A text looks like a secret, and ``allow_secrets`` is not set.
        TenantUnsetError: No request context is set.
        EmbeddingError: The model cannot be used.
        StorageUnavailableError: The server cannot be reached.
    """
    require_context()
    if not drafts:
        return []
    rules = [checked_rule(draft, allow_secrets=allow_secrets) for draft in inputs.require_batch(drafts)]
    embeddings = await embed(engine, [rule.content for rule in rules])
    async with unit_of_work(pool) as sql:
        return await insert_rules(sql, rules, embeddings, now=clock())


def checked_rule(draft: RuleDraft, *, allow_secrets: bool = False) -> RuleDraft:
    """Return a draft that can be stored; see :func:`~commonplace.knowledge.drafts.checked`."""
    return checked(draft, reserved=RESERVED_METADATA, allow_secrets=allow_secrets)


async def insert_rules(
    sql: Statements, rules: Sequence[RuleDraft], embeddings: Embeddings, *, now: datetime
) -> list[RuleReceipt]:
    """Insert rules within an open transaction.

    Args:
        sql: The transaction.
        rules: From :func:`checked_rule`, at least one.
        embeddings: Of the content of each rule.
        now: The present.

    Returns:
        A receipt for each rule, in the order of the rules.

    Raises:
        InvalidInputError: A rule names an episode that does not exist; roll back the transaction or savepoint.
    """
    parameters = columns(rules, [rule.content for rule in rules], embeddings)
    with known_sources(rules):
        await sql.insert_rules(**parameters, decay_rate=DECAY_RATE, now=now)
    return [RuleReceipt(id=rule_id) for rule_id in parameters["id"]]
