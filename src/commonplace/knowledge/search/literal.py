"""Literal search: the memories and entities that hold words or parts of words.

The database selects by regular expressions over bare text (:func:`~commonplace.language.literal.bare`), which it makes
as Python does, but for a few letters of old versions of Unicode. What it selects holds every match and few others; the
caller compares the texts again.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from commonplace.core.choices import require_items
from commonplace.core.errors import InvalidInputError
from commonplace.knowledge.browse.lists import require_page
from commonplace.knowledge.model import inputs
from commonplace.knowledge.model.entries import ListedEntity
from commonplace.knowledge.model.kinds import Memory, MemoryType
from commonplace.knowledge.model.narrowing import EVERYTHING, Narrowing
from commonplace.knowledge.search.request import make_request
from commonplace.knowledge.store.search_statements import TABLES, literal_entity_queries, literal_queries
from commonplace.knowledge.store.session import KnowledgeSession
from commonplace.language.literal import QueryWord, is_joined, is_short

_SPACE: Final = re.compile(r" +")
_BEFORE: Final = "(^|[^[:alnum:]])"
_BEHIND: Final = "($|[^[:alnum:]])"


@dataclass(frozen=True, slots=True, kw_only=True)
class AboutFilter:
    """Whom or what memories are about; a memory that holds one of the names or has one of the entities is about it.

    Attributes:
        names: The names, as words of a query.
        entity_ids: The entities.
    """

    names: Sequence[QueryWord]
    entity_ids: Collection[UUID] = ()


class LiteralSearch:
    """Memories and entities that hold words: ``memory.literal``. Reading them does not count as a use."""

    def __init__(self, session: KnowledgeSession) -> None:
        self._session = session

    async def memories(
        self,
        words: Sequence[QueryWord],
        kind: MemoryType,
        *,
        narrowing: Narrowing = EVERYTHING,
        topic: AboutFilter | None = None,
        limit: int,
    ) -> list[Memory]:
        """Return the memories of a kind that a search may find and that hold any of some words.

        Args:
            words: The words; none for the newest memories.
            kind: The kind of the memories.
            narrowing: The memories that are considered. With a scope, only memories of exactly this scope.
            topic: What the memories must be about.
            limit: Maximum number of memories, 1 to 1,000.

        Returns:
            Those with the rarest words first, then the newest.
        """
        require_page(limit)
        memory_type = inputs.require_memory_type(kind, field="kind")
        request = make_request(limit=limit, narrowing=narrowing, now=self._session.clock())
        table = next(each for each in TABLES.values() if each.memory_type is memory_type)
        parameters = {
            **request.parameters,
            **_of_words(words),
            **_of_topic(topic),
            "scopes": [narrowing.scope],
        }
        async with self._session.reading() as sql:
            statements = literal_queries(table, request.form).on(sql.connection)
            rows = await statements.literal_search(**parameters)
        return [table.noun.from_row(row, now=request.now) for row in rows]

    async def entities(
        self,
        words: Sequence[QueryWord],
        *,
        narrowing: Narrowing = EVERYTHING,
        topic: AboutFilter | None = None,
        limit: int,
    ) -> list[ListedEntity]:
        """Return the entities with any of some words in their names, the newest first.

        The parameters are those of :meth:`memories`; of the narrowing, only the moments count.
        """
        require_page(limit)
        async with self._session.reading() as sql:
            statements = literal_entity_queries().on(sql.connection)
            rows = await statements.literal_entities(
                **_of_words(words),
                **_of_topic(topic),
                since=narrowing.since,
                until=narrowing.until,
                as_of=narrowing.as_of,
                limit=limit,
            )
        return ListedEntity.from_rows(rows)


def word_pattern(word: QueryWord, *, whole: bool = False) -> str:
    """Return a regular expression of PostgreSQL that matches every bare text that holds a word, and few others.

    ``whole`` matches whole words only.
    """
    parts = [_pattern(each, whole=whole or is_short(each)) for each in word.spellings]
    parts += [_pattern(each, whole=True) for each in word.whole_spellings]
    if word.stem and not whole:
        parts.append(_BEFORE + _escaped(word.stem))
    return "|".join(parts)


def _pattern(spelling: str, *, whole: bool) -> str:
    before = _BEFORE if whole and is_joined(spelling[0]) else ""
    behind = _BEHIND if whole and is_joined(spelling[-1]) else ""
    return f"{before}{_escaped(spelling)}{behind}"


def _escaped(spelling: str) -> str:
    signs = (
        each if each.isalnum() or not each.isascii() or each == " " else f"\\{each}" for each in spelling
    )
    return _SPACE.sub(r"\\s+", "".join(signs))


def _of_words(words: Sequence[QueryWord]) -> Mapping[str, object]:
    if not all(isinstance(each, QueryWord) for each in require_items(words, field="words")):
        raise InvalidInputError("words", "a list of words of a query", words)
    patterns = [word_pattern(each) for each in words]
    return {"patterns": patterns, "any_word": "|".join(patterns) or None}


def _of_topic(topic: AboutFilter | None) -> Mapping[str, object]:
    if topic is None:
        return {"about": None, "about_ids": []}
    names = "|".join(word_pattern(each, whole=True) for each in topic.names)
    return {"about": names or "^$", "about_ids": list(topic.entity_ids)}
