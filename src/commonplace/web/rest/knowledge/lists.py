"""Lists under ``/api/v1/knowledge``: facts, rules, episodes and entities with filters, a page at a time.

A page ends with the cursor of the next page. Writes between two pages neither repeat nor skip an item.
"""

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Annotated, TypeVar

from fastapi import Query

from commonplace.knowledge import (
    EntityType,
    EpisodeStatus,
    FactCriteria,
    FactOrder,
    Key,
    ListedEntity,
    Lists,
    Maturity,
    Memory,
    Narrowing,
    RuleCriteria,
    RuleOrder,
    Scope,
    Validity,
)
from commonplace.web.http.access import KnowledgeOfCaller, reader
from commonplace.web.http.limits import MAX_CURSOR_CHARS, WITHOUT_NUL, FilterText
from commonplace.web.http.paging import DEFAULT_LIMIT, Limit
from commonplace.web.rest.api import Api
from commonplace.web.rest.knowledge.memories import OUTAGES
from commonplace.web.rest.knowledge.narrowing import WithinFacts, WithinRules
from commonplace.web.rest.knowledge.shapes import EntityListShape, KnownListShape

Cursor = Annotated[
    str | None,
    Query(
        max_length=MAX_CURSOR_CHARS,
        description="the `nextCursor` of the previous page; leave it out for the first page",
    ),
]

KeyFilter = Annotated[Key | None, Query(pattern=WITHOUT_NUL)]

_Item = TypeVar("_Item", bound=Memory | ListedEntity)

api = Api("/api/v1/knowledge", "knowledge memory")


@api("GET /facts", reader, "The facts of the page", *OUTAGES)
async def list_facts(
    memory: KnowledgeOfCaller,
    narrowing: WithinFacts,
    validity: Validity = Validity.ACTIVE,
    subject: KeyFilter = None,
    predicate: KeyFilter = None,
    sort: FactOrder = FactOrder.STORED,
    limit: Limit = DEFAULT_LIMIT,
    cursor: Cursor = None,
    *,
    fading: bool | None = None,
    reverse: bool = False,
) -> KnownListShape:
    """List facts.

    Newest first by default. A cursor is valid only for the order of its page. Listing does not count as a use.

    Parameters:
        validity: the state of the facts
        subject: only facts with exactly this subject
        predicate: only facts with exactly this predicate
        fading: only fading facts, or only other facts
        sort: the order of the list
        reverse: list in the opposite order
    """
    facts = partial(
        memory.lists.facts,
        validity=None if narrowing.is_past else validity,
        narrowing=narrowing,
        criteria=FactCriteria(fading=fading, subject=subject, predicate=predicate),
        sort=sort,
        reverse=reverse,
    )
    return await _known(facts, limit, cursor, sort)


@api("GET /rules", reader, "The rules of the page", *OUTAGES)
async def list_rules(
    memory: KnowledgeOfCaller,
    narrowing: WithinRules,
    maturity: Maturity | None = None,
    sort: RuleOrder = RuleOrder.STORED,
    limit: Limit = DEFAULT_LIMIT,
    cursor: Cursor = None,
    *,
    forgotten: bool = False,
    reverse: bool = False,
) -> KnownListShape:
    """List rules.

    Newest first by default. A cursor is valid only for the order of its page. Listing does not count as a use.

    Parameters:
        maturity: only rules of this maturity
        forgotten: only forgotten rules, instead of the others
        sort: the order of the list
        reverse: list in the opposite order
    """
    rules = partial(
        memory.lists.rules,
        forgotten=forgotten,
        narrowing=narrowing,
        criteria=RuleCriteria(maturity=maturity),
        sort=sort,
        reverse=reverse,
    )
    return await _known(rules, limit, cursor, sort)


@api("GET /episodes", reader, "The episodes of the page", *OUTAGES)
async def list_episodes(
    memory: KnowledgeOfCaller,
    status: EpisodeStatus | None = None,
    butler: Scope | None = None,
    limit: Limit = DEFAULT_LIMIT,
    cursor: Cursor = None,
    *,
    expired: bool = False,
) -> KnownListShape:
    """List episodes.

    Newest first. Listing does not count as a use.

    Parameters:
        status: only episodes in this state of consolidation
        butler: only episodes of this butler
        expired: include expired and forgotten episodes that wait for cleanup
    """
    episodes = partial(
        memory.lists.episodes, status=status, narrowing=Narrowing(scope=butler), live=not expired
    )
    return await _known(episodes, limit, cursor)


@api("GET /entities", reader, "The entities of the page", *OUTAGES)
async def list_entities(
    memory: KnowledgeOfCaller,
    name: FilterText = None,
    entity_type: Annotated[EntityType | None, Query(alias="entityType")] = None,
    limit: Limit = DEFAULT_LIMIT,
    cursor: Cursor = None,
    *,
    merged: bool = False,
) -> EntityListShape:
    """List entities.

    Return entities by name, with the number of their active facts.

    Parameters:
        name: only entities with this text in one of their names, ignoring case
        entityType: only entities of this type
        merged: only entities that were merged into another, instead of the others
    """
    entities = partial(memory.lists.entities, name=name, entity_type=entity_type, merged=merged)
    found, following = await _page(entities, limit, cursor)
    return EntityListShape.model_validate({"entities": found, "next_cursor": following})


async def _known(
    read: Callable[..., Awaitable[Sequence[Memory]]],
    limit: int,
    cursor: str | None,
    sort: str = FactOrder.STORED,
) -> KnownListShape:
    found, following = await _page(read, limit, cursor, sort)
    return KnownListShape.model_validate({"memories": found, "next_cursor": following})


async def _page(
    read: Callable[..., Awaitable[Sequence[_Item]]],
    limit: int,
    cursor: str | None,
    sort: str = FactOrder.STORED,
) -> tuple[Sequence[_Item], str | None]:
    """Return a page of a list, and the cursor of the next page; ``None`` if no item follows."""
    found = await read(limit=limit, after=cursor)
    if len(found) < limit:
        return found, None
    last = Lists.cursor_of(found[-1], sort=sort)
    return found, last if await read(limit=1, after=last) else None
