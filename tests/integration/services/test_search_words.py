"""A property of the search over all memories: every word of every stored text is found, in every kind."""

import asyncio
from uuid import uuid4

import hypothesis
import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.core.settings import Settings
from commonplace.services.memory_ids import MemoryKind
from commonplace.services.opening import Memories
from commonplace.services.search.items import MAX_LIMIT
from commonplace.services.search.searching import search_all
from support.service import open_memories

CHARACTERS = st.characters(
    categories=("L", "N", "P", "S", "Mn"), exclude_characters="\u0338", max_codepoint=0x1F9FF
)
"""Letters, digits, punctuation, symbols and accents of all scripts."""

WORDS = st.text(CHARACTERS, min_size=1, max_size=12).filter(lambda word: any(map(str.isalnum, word)))
TEXTS = st.lists(WORDS, min_size=1, max_size=8)


async def store_everywhere(memories: Memories, text: str) -> dict[tuple[MemoryKind, str], str]:
    """Store a text in every kind of memory, and return what is stored, by kind and id.

    A digest holds at most four sentences, so it may hold less than the text.
    """
    knowledge, key = memories.knowledge, uuid4().hex
    episode = await knowledge.store_episode(content=text, butler="dev", allow_secrets=True)
    fact = await knowledge.store_fact(subject=key, predicate="is", content=text, allow_secrets=True)
    rule = await knowledge.store_rule(content=text, allow_secrets=True)
    entity = await knowledge.entities.create(
        canonical_name=f"{text} {key}", entity_type="other", allow_secrets=True
    )
    lesson = await memories.operational.add(
        category="behavior", service=key, observation=text, allow_secrets=True
    )
    note = await memories.workspace.store(text, allow_secrets=True)
    await memories.apps.registry.register(key)
    moment = "2026-02-01T00:00:00Z"
    digest = {"content": text, "createdAt": moment, "updatedAt": moment}
    imported = await memories.apps.import_document(key, {"memories": [digest]})
    whole = {
        (MemoryKind.EPISODE, str(episode.id)),
        (MemoryKind.FACT, str(fact.id)),
        (MemoryKind.RULE, str(rule.id)),
        (MemoryKind.ENTITY, str(entity.id)),
        (MemoryKind.LESSON, str(lesson.id)),
        (MemoryKind.NOTE, note.id),
    }
    return dict.fromkeys(whole, text) | {
        (MemoryKind.DIGEST, str(one.id)): one.content for one in imported.added
    }


@pytest.mark.long
@pytest.mark.requirement("ONE-03.1")
async def test_every_word_of_every_text_is_found(settings: Settings, knowledge_url: str) -> None:
    """In every kind, whatever the other memories hold."""
    loop = asyncio.get_running_loop()
    async with open_memories(settings.model_copy(update={"postgres_url": knowledge_url})) as memories:

        async def check(words: list[str]) -> None:
            stored = await store_everywhere(memories, " ".join(words))
            for word in words:
                results = await search_all(memories, word, limit=MAX_LIMIT)
                literal = {(item.kind, item.id) for item in results.items if (item.score or 0) > 1}
                holders = {item for item, content in stored.items() if word in content}
                assert holders <= literal, (word, {kind for kind, _ in holders - literal})

        @hypothesis.settings(max_examples=25, deadline=None, database=None)
        @given(TEXTS)
        def property_of_all(words: list[str]) -> None:
            asyncio.run_coroutine_threadsafe(check(words), loop).result()

        await asyncio.to_thread(property_of_all)
