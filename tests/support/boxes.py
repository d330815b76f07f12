"""A knowledge memory with more facts than a briefing shows, and one that only its prompt brings."""

from pathlib import Path

from commonplace.embedding import EmbeddingEngine
from commonplace.knowledge import FactDraft
from support.facade import open_knowledge

ERROR_E9 = (
    "The boiler shows error E9 when the pressure is under one bar; open the grey valve for ten seconds."
)
"""The fact of little importance."""

BOXES = 150


async def store_boxes(url: str, home: Path, engine: EmbeddingEngine) -> None:
    """Store :data:`ERROR_E9`, and more important facts than a briefing has room for."""
    boxes = [
        FactDraft(
            subject=f"box {number}",
            predicate="place",
            content=f"Box {number} with winter clothes and old letters of the family stands on shelf {number}.",
            importance=8.0,
        )
        for number in range(BOXES)
    ]
    error = FactDraft(subject="boiler", predicate="error E9", content=ERROR_E9, importance=2.0)
    async with open_knowledge(url, home, engine=engine) as memory:
        await memory.store_facts([error, *boxes])
