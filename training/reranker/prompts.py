"""Prompts among the memories of their worlds, and how well odds tell helpful memories from others."""

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Final

import numpy as np

from commonplace.embedding import EmbeddingEngine
from commonplace.reranker.inputs import memory_text
from worlds import World

NEAREST: Final = 40
"""The memories of a prompt whose odds are measured, the nearest by their vectors."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A prompt among the memories of its world.

    Attributes:
        memories: The texts of all memories.
        helps: 1.0 for a memory that helps, 0.5 for one that may be shown, else 0.0.
        nearest: The places of the memories, the nearest by vectors first.
    """

    world: str
    text: str
    memories: Sequence[str]
    helps: np.ndarray
    nearest: np.ndarray


def asked(worlds: Sequence[World]) -> Iterator[Asked]:
    """Yield the prompts of worlds."""
    with closing(EmbeddingEngine()) as engine:
        for world in worlds:
            memories = [
                memory_text(each["content"], each.get("subject", ""), each.get("predicate", ""))
                for each in world["memories"]
            ]
            places = {each["id"]: place for place, each in enumerate(world["memories"])}
            vectors = np.asarray(engine.embed_batch([each["content"] for each in world["memories"]]))
            queries = np.asarray(engine.embed_batch([each["text"] for each in world["prompts"]]))
            for prompt, query in zip(world["prompts"], queries, strict=True):
                helps = np.zeros(len(memories), np.float32)
                helps[[places[each] for each in prompt["acceptable"]]] = 0.5
                helps[[places[each] for each in prompt["wanted"]]] = 1.0
                nearest = np.argsort(-(vectors @ query), kind="stable")
                yield Asked(world["id"], prompt["text"], memories, helps, nearest)


def figures(prompts: Sequence[Asked], found: Sequence[np.ndarray]) -> dict[str, float]:
    """Return how often the likeliest memory is a wanted one, and how well the odds tell wanted memories apart."""
    answered = [(each, row) for each, row in zip(prompts, found, strict=True) if (each.helps == 1.0).any()]
    first = [each.helps[each.nearest[int(row.argmax())]] == 1.0 for each, row in answered]
    best = [float(row.max()) for _, row in answered]
    nothing = [float(row.max()) for each, row in zip(prompts, found, strict=True) if not each.helps.any()]
    above = [one > other for one in best for other in nothing]
    return {"first": round(float(np.mean(first)), 3), "apart": round(float(np.mean(above)), 3)}
