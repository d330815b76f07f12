"""Storage of rules: guidance for how to act, initially as candidates."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final, cast
from uuid import UUID

from commonplace.core.sources import RANKS, Source
from commonplace.judge import Relatives
from commonplace.knowledge.browse.single_memories import read_one
from commonplace.knowledge.memories.links import Relation
from commonplace.knowledge.memories.replaced import find_replaced, oppose
from commonplace.knowledge.memories.rule_relatives import relate
from commonplace.knowledge.model import inputs
from commonplace.knowledge.model.drafts import LIFECYCLE_METADATA, Draft, checked
from commonplace.knowledge.model.kinds import GLOBAL_SCOPE, PINNED, Memory, MemoryType, Moment, Rule
from commonplace.knowledge.store.draft_rows import columns, known_sources
from commonplace.knowledge.store.passages import store_passages
from commonplace.knowledge.store.session import KnowledgeSession
from commonplace.knowledge.store.statements import KnowledgeStatements
from commonplace.knowledge.store.traced import traced
from commonplace.knowledge.store.unit_of_work import of_kind
from commonplace.knowledge.store.vectors import EmbeddedText, Embeddings, embed_memories
from commonplace.language.relative_days import with_dates

_ALL_RULES: Final = "rules"
"""The key of the lock of a tenant's stores of rules."""

DECAY_RATE: Final = 0.01
"""The decay rate of every stored rule. Source: KNW-05.4, R-KNW-1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleDraft(Draft):
    """A rule to store.

    Attributes:
        content: The guidance, 1 to 20,000 characters.
        scope: ``"global"``, or the butler that the rule is for.
        tags: At most 50, of at most 100 characters.
        source_butler: The butler that learned the rule.
        source_episode_id: The episode that the rule was learned from.
        metadata: A JSON object without the keys of :data:`~commonplace.knowledge.model.drafts.LIFECYCLE_METADATA`.
        source: Where the guidance comes from, if that is less trusted than the session that stores it: a
            :class:`~commonplace.core.sources.Source`. A memory with a source episode is at most as trusted as the
            episode.
        last_confirmed_at: When the rule was last confirmed; its confidence decays from there. ``None`` for the time of
            storing, as which a later time counts too.
    """

    content: str
    scope: str = GLOBAL_SCOPE
    tags: Sequence[str] | None = None
    source_butler: str | None = None
    source_episode_id: UUID | str | None = None
    metadata: Mapping[str, Any] | None = None
    source: str | None = None
    last_confirmed_at: Moment | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleReceipt:
    """The outcome of storing a rule.

    Attributes:
        id: The rule.
        flags: The reasons why the text looks like an instruction; blocks leave the rule out until a person confirms it.
        repeated: Whether the rule was there before, with the same words, scope and tags. It is confirmed, and nothing
            else was written.
        same_ids: Older rules that say the same in other words; searches and blocks show one of them.
        opposed_ids: Older rules that the rule may contradict, and the more trusted rule that it may not replace; each
            pair waits for a person.
        superseded_id: The rule that was replaced, if the call named one.
        superseded_text: The text of that rule.
    """

    id: UUID
    flags: tuple[str, ...] = ()
    repeated: bool = False
    same_ids: tuple[UUID, ...] = ()
    opposed_ids: tuple[UUID, ...] = ()
    superseded_id: UUID | None = None
    superseded_text: str | None = None


class Rules:
    """Storing of rules."""

    def __init__(self, session: KnowledgeSession) -> None:
        self._session = session

    async def store(
        self,
        *,
        content: str,
        scope: str = GLOBAL_SCOPE,
        tags: Sequence[str] | None = None,
        source_butler: str | None = None,
        source_episode_id: UUID | str | None = None,
        metadata: Mapping[str, Any] | None = None,
        source: str | None = None,
        replaces: UUID | str | None = None,
        allow_secrets: bool = False,
        repeats: bool = False,
    ) -> RuleReceipt:
        """Store a rule as a candidate, in place of the rule that it names; words such as "tomorrow" get their date."""
        draft = RuleDraft(
            content=with_dates(content, self._session.local_now()) if isinstance(content, str) else content,  # pyright: ignore[reportUnnecessaryIsInstance] - from tools
            scope=scope,
            tags=tags,
            source_butler=source_butler,
            source_episode_id=source_episode_id,
            metadata=metadata,
            source=source,
        )
        (receipt,) = await self._store(
            [draft], replaces=replaces, allow_secrets=allow_secrets, repeats=repeats
        )
        return receipt

    async def store_many(
        self, drafts: Sequence[RuleDraft], *, allow_secrets: bool = False, repeats: bool = False
    ) -> list[RuleReceipt]:
        """Store up to 5,000 rules, all or none, with one embedding call and one statement.

        Args:
            drafts: The rules.
            allow_secrets: Whether to store texts that look like secrets.
            repeats: Whether to store a rule that is there already, as the specification has it. Otherwise its receipt
                names the rule that is there.
        """
        return await self._store(drafts, allow_secrets=allow_secrets, repeats=repeats)

    async def _store(
        self,
        drafts: Sequence[RuleDraft],
        *,
        replaces: UUID | str | None = None,
        allow_secrets: bool,
        repeats: bool,
    ) -> list[RuleReceipt]:
        """Store rules; only a single rule may replace another."""
        if not drafts:
            return []
        rules = [checked_rule(draft, allow_secrets=allow_secrets) for draft in inputs.require_batch(drafts)]
        embeddings = await embed_memories(
            self._session.engine, [EmbeddedText(content=rule.content) for rule in rules]
        )
        now = self._session.clock()
        async with traced(self._session, "create_memory") as note, self._session.writing() as sql:
            # Of two equal or opposed rules that are stored at once, the later transaction sees the earlier one.
            await sql.serialise_fact_keys(keys=[_ALL_RULES])
            old = None
            if replaces is not None:
                old = await _lock_replaced(sql, replaces, now=now)
                rules = [_pinned_as(rules[0], old)]
            known = {} if repeats else await _repeated(sql, rules, now=now)
            fresh = [place for place in range(len(rules)) if place not in known]
            if fresh:
                new = [rules[place] for place in fresh]
                rate = self._session.database.settings.rule_decay_rate
                receipts = await insert_rules(sql, new, embeddings.only(*fresh), now=now, decay_rate=rate)
                known |= dict(zip(fresh, receipts, strict=True))
            if old is not None:
                known[0] = await _replaced(sql, rules[0], known[0], old, now=now)
            return note([known[place] for place in range(len(rules))])


async def _lock_replaced(sql: KnowledgeStatements, replaces: UUID | str, *, now: datetime) -> Rule:
    """Lock the rule that a new rule replaces, and return it; for the errors see :func:`find_replaced`."""
    named = await find_replaced(sql, replaces, MemoryType.RULE, now=now)
    await of_kind(MemoryType.RULE, sql).lock(ids=[named.id])
    old = await find_replaced(sql, named.id, MemoryType.RULE, now=now)  # It may have changed before the lock.
    return cast("Rule", old)


def _pinned_as(rule: RuleDraft, old: Rule) -> RuleDraft:
    """Return a draft that is pinned if the rule that it replaces is."""
    tags = list(rule.tags or ())
    return replace(rule, tags=[*tags, PINNED]) if PINNED in old.tags and PINNED not in tags else rule


async def _replaced(
    sql: KnowledgeStatements, draft: RuleDraft, receipt: RuleReceipt, old: Rule, *, now: datetime
) -> RuleReceipt:
    """Let a stored rule supersede an old one, or let the pair wait if it may not; return the receipt."""
    if receipt.id == old.id:
        return receipt
    new = cast("Rule", await read_one(sql, MemoryType.RULE, receipt.id, now=now))
    same = tuple(each for each in receipt.same_ids if each != old.id)
    opposed = tuple(each for each in receipt.opposed_ids if each != old.id)
    # The writer may be less trusted than a rule that only repeats the draft.
    writes_less = draft.source is not None and RANKS[Source(draft.source)] < RANKS[old.trust]
    if writes_less or is_displaced(old, new) or await of_kind(MemoryType.RULE, sql).is_outranked(id=old.id):
        await oppose(sql, MemoryType.RULE, new.id, old.id, now=now)
        return replace(receipt, same_ids=same, opposed_ids=(old.id, *opposed))
    await supersede_rule(sql, old.id, by_id=new.id, now=now)
    return replace(
        receipt, same_ids=same, opposed_ids=opposed, superseded_id=old.id, superseded_text=old.content
    )


def is_displaced(old: Memory, new: Memory) -> bool:
    """Return whether a new memory would replace a more trusted one, or one without flags although it has some."""
    return RANKS[new.trust] < RANKS[old.trust] or (new.is_quarantined and not old.is_quarantined)


async def _repeated(
    sql: KnowledgeStatements, rules: Sequence[RuleDraft], *, now: datetime
) -> dict[int, RuleReceipt]:
    """Confirm the rules that drafts only repeat, and return their receipts by the place of the draft, from 0."""
    rows = await sql.repeated_rules(
        content=[rule.content for rule in rules],
        scope=[rule.scope for rule in rules],
        tags=[inputs.json_text(rule.tags) for rule in rules],
        metadata=[inputs.json_text(rule.metadata) for rule in rules],
        source_butler=[rule.source_butler for rule in rules],
        source_episode_id=[rule.source_episode_id for rule in rules],
    )
    receipts: dict[int, RuleReceipt] = {}
    for row in rows:
        place = row["place"] - 1
        if row["may_confirm"] and rules[place].source is None:
            await of_kind(MemoryType.RULE, sql).confirm(id=row["id"], now=now)
        receipts[place] = RuleReceipt(id=row["id"], flags=tuple(row["flags"]), repeated=True)
    return receipts


def checked_rule(draft: RuleDraft, *, allow_secrets: bool = False) -> RuleDraft:
    """Return a draft that can be stored; see :func:`~commonplace.knowledge.model.drafts.checked`."""
    return checked(draft, reserved=LIFECYCLE_METADATA, allow_secrets=allow_secrets)


async def supersede_rule(sql: KnowledgeStatements, rule_id: UUID, *, by_id: UUID, now: datetime) -> None:
    """Forget a rule in favour of another rule, and link the two, within an open transaction."""
    await sql.forget_rule(id=rule_id)
    await of_kind(MemoryType.RULE, sql).unlink_opposed(
        newer_id=by_id, older_id=rule_id
    )  # A pair has one link.
    await sql.create_link(
        source_type=MemoryType.RULE,
        source_id=by_id,
        target_type=MemoryType.RULE,
        target_id=rule_id,
        relation=Relation.SUPERSEDES,
        now=now,
    )


async def insert_rules(
    sql: KnowledgeStatements,
    rules: Sequence[RuleDraft],
    embeddings: Embeddings,
    *,
    now: datetime,
    decay_rate: float = DECAY_RATE,
) -> list[RuleReceipt]:
    """Insert rules from :func:`checked_rule` within an open transaction, and return receipts in their order.

    Each is linked to the older rules that it may contradict.

    Raises:
        InvalidInputError: A rule names an episode that does not exist; roll back the transaction or savepoint.
    """
    parameters = columns(rules, [rule.content for rule in rules], embeddings)
    with known_sources(rules):
        stored = await sql.insert_rules(**parameters, decay_rate=decay_rate, now=now)
    await store_passages(sql, MemoryType.RULE, parameters["id"], embeddings)
    flags = {row["id"]: tuple(row["flags"]) for row in stored}
    texts = [(rule_id, rule.content) for rule_id, rule in zip(parameters["id"], rules, strict=True)]
    related = await relate(sql, texts, now=now)
    return [_receipt(rule_id, flags[rule_id], related.get(rule_id, Relatives())) for rule_id, _ in texts]


def _receipt(rule_id: UUID, flags: tuple[str, ...], related: Relatives[UUID]) -> RuleReceipt:
    opposed = tuple(each.other for each in related.opposed)
    return RuleReceipt(id=rule_id, flags=flags, same_ids=related.same, opposed_ids=opposed)
