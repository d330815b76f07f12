"""The classes of the specification: a host that calls them by their names makes and shows memories."""

import pytest

from commonplace.apps import AppMemory, MemorySubAgent, SensitiveLoop
from commonplace.apps.model.compaction import MemoryCompactionRequest
from commonplace.apps.model.digests import MemoryCreationRequest
from commonplace.core.clock import ManualClock
from commonplace.core.settings import Settings
from commonplace.embedding import EmbeddingEngine
from commonplace.llm import Script
from support.apps import said

PREFERENCE = "User prefers meetings after 2pm on weekdays."
EDITOR = "User writes in the editor Helix."


@pytest.mark.requirement("APP-02.1", "APP-07.1", "APP-11.2")
async def test_a_host_uses_the_names_of_the_specification(
    database: Settings, clock: ManualClock, engine: EmbeddingEngine
) -> None:
    """The loop ends a conversation and builds the context; the sub-agent makes, counts and deletes memories."""
    model = Script(PREFERENCE, EDITOR).model()
    async with AppMemory.open(database, model=model, engine=engine, clock=clock) as apps:
        loop, subagent = SensitiveLoop(apps), MemorySubAgent(apps)
        app = await apps.registry.register("cal", name="Calendar")
        await apps.begin_conversation("cal", "c-1")
        await apps.add_message("c-1", "user", "Only after 2pm, please.")
        first = (await (await loop.end_conversation("c-1", "the user left")).digested()).memory
        request = MemoryCreationRequest(
            app_id="cal", conversation_id="c-2", messages=tuple(said("I write in Helix."))
        )
        second = await subagent.create_memory(request)
        assert (first and first.content, second and second.content) == (PREFERENCE, EDITOR)
        assert second is not None

        shown = await loop.get_memories_for_app("cal")
        assert shown == await subagent.get_memories("cal", 10) == [second, first]
        block = loop.format_memories_for_context(app, shown)
        assert block == (await apps.context("cal")).text
        assert block.startswith("(memories for app: Calendar)")

        room = MemoryCompactionRequest(app_id="cal", existing_memories=(), new_memory=second)
        assert (await subagent.compact_memories(room)).reason == "the space has room"
        assert 20 <= subagent.get_energy_consumed_since_last_poll() <= 30
        assert subagent.get_energy_consumed_since_last_poll() == 0
        assert await subagent.get_memory_count("cal") == 2
        assert (await subagent.delete_app_memories("cal")).deleted == 2
