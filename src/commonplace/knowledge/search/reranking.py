"""Reranking of the memories nearest to a prompt by a network that reads a memory and the prompt together.

A block keeps the memories that help with its prompt; recall ranks memories by how much they help with its topic.

Source: SHW-04, SHW-09, SHW-10.
"""

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from commonplace import reranker
from commonplace.knowledge.model.bounds import DEFAULT_IMPORTANCE
from commonplace.knowledge.model.candidates import Candidates
from commonplace.knowledge.model.kinds import Fact, Memory
from commonplace.knowledge.rules.excerpt import excerpt
from commonplace.knowledge.rules.helpfulness import (
    LEARNED,
    ODDS_ALONE,
    HelpWeights,
    Reading,
    by_help,
    helpful,
)
from commonplace.knowledge.rules.passages import PassageSpan
from commonplace.knowledge.rules.relevance import Relevance, relevant
from commonplace.knowledge.search.candidates import ReadMemories
from commonplace.knowledge.search.request import SearchRequest
from commonplace.knowledge.store.session import KnowledgeSession

if TYPE_CHECKING:
    from commonplace.reranker import Reranker

MOST_CHARS: Final = 280
"""The part of a memory that is read: about as many characters as the network reads tokens of it."""

MOST_REREAD: Final = 20
"""The number of memories that are read together with a prompt; four more take as much longer as a hook may take."""

MOST_RANKED: Final = 10
"""The number of memories that recall reads together with a topic."""


def reranker_for(session: KnowledgeSession) -> "Reranker | None":
    """Return the reranker of a session: that of the settings, unless the configuration has none."""
    return reranker.reranker_of(session.database.settings) if session.config.retrieval.reranks else None


async def can_reread(request: SearchRequest, reader: "Reranker") -> bool:
    """Return whether a request has a vector and the reranker's network is open, within the reranker's patience.

    If the network takes longer to open, its thread continues.
    """
    if request.vector is None:
        return False
    opening = asyncio.ensure_future(asyncio.to_thread(reader.prepare))
    try:
        return await asyncio.wait_for(asyncio.shield(opening), reader.patience_s)
    except TimeoutError:
        return False


def nearest(candidates: Candidates, request: SearchRequest) -> list[Relevance]:
    """Return the memories nearest to a prompt, however far they are."""
    return relevant(
        candidates, min_relevance=0.0, scoped=request.is_scoped, by_meaning=True, limit=MOST_REREAD
    )


async def reread(
    relevances: Sequence[Relevance], memories: ReadMemories, request: SearchRequest, reader: "Reranker"
) -> list[Relevance]:
    """Return the memories that help with a prompt, the most helpful first.

    Args:
        relevances: From :func:`nearest`.
        memories: The memories with this relevance, without those that were deleted meanwhile.
        request: The prompt.
        reader: A reranker that :func:`can_reread`.
    """
    present = [each for each in relevances if each.place in memories.by_place]
    readings = await _readings(present, memories, request, reader)
    return helpful(present, readings, _weights(reader), min_relevance=request.min_relevance)


async def rank_by_help(
    relevances: Sequence[Relevance], memories: ReadMemories, request: SearchRequest, reader: "Reranker"
) -> list[Relevance]:
    """Return memories by how much they help with a topic.

    Only the first :data:`MOST_RANKED` are ranked; the others follow in their order. Importance does not count here,
    because it is a part of the score of recall.

    Args:
        relevances: The memories above the floor, the most alike first.
        memories: The memories with this relevance, without those that were deleted meanwhile.
        request: The topic.
        reader: A reranker that :func:`can_reread`.
    """
    present = [each for each in relevances if each.place in memories.by_place]
    readings = await _readings(present[:MOST_RANKED], memories, request, reader)
    return by_help(present, readings, _weights(reader)._replace(importance=0.0))


def _weights(reader: "Reranker") -> HelpWeights:
    return ODDS_ALONE if reader.odds_alone else LEARNED


async def _readings(
    relevances: Sequence[Relevance], memories: ReadMemories, request: SearchRequest, reader: "Reranker"
) -> list[Reading]:
    """Return the reading of each memory by the reranker."""
    ordered = [memories.by_place[each.place] for each in relevances]
    texts = [_text(each, request.query, memories.passages.get(each.id)) for each in ordered]
    odds = await _odds(reader, request.query, texts)
    return [Reading(each, _importance(memory)) for each, memory in zip(odds, ordered, strict=True)]


async def _odds(reader: "Reranker", prompt: str, texts: Sequence[str]) -> list[float]:
    """Return the odds of each text; two threads read half of them each, because a prompt waits."""
    half = -(-len(texts) // 2)
    halves = await asyncio.gather(
        *(asyncio.to_thread(reader.odds, prompt, part) for part in (texts[:half], texts[half:]))
    )
    return [*halves[0], *halves[1]]


def _importance(memory: Memory) -> float:
    return memory.importance if isinstance(memory, Fact) else DEFAULT_IMPORTANCE


def _text(memory: Memory, prompt: str, passage: PassageSpan | None) -> str:
    """Return the text of a memory; of a long memory, the passage that a line of a block would show."""
    content = excerpt(memory.content, prompt, MOST_CHARS, nearest=passage)
    if isinstance(memory, Fact):
        return reranker.memory_text(content, memory.subject, memory.predicate)
    return reranker.memory_text(content)
