"""Facts of every age and consolidated episodes in any number, with vectors that need no model."""

import random
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from uuid import UUID

import asyncpg
import numpy as np
from numpy.typing import NDArray
from pgvector import Vector

from scale_corpus import NAMES, PLACES, RARE_WORDS, THINGS, VERBS, tenant_name

TENANT = tenant_name(0)
NOW = datetime(2026, 6, 1, 3, 0, tzinfo=UTC)
"""When upkeep runs."""

CONFIRMED_DAYS_AGO = {"steady": 10, "fading": 250, "expiring": 400, "recovering": 10}
"""At the standard rate of 0.008 a day: 0.92, 0.14, 0.04 and 0.92 are left."""

SHARES = {"steady": 0.90, "fading": 0.05, "expiring": 0.04, "recovering": 0.01}
"""A daily sweep finds about one fact in a hundred to change; this is what ten missed days leave behind."""

CLUSTERS = 500
DIMENSIONS = 384
NOISE = 0.3
BATCH = 2_000

_FACTS = """
INSERT INTO facts (tenant_id, id, subject, predicate, content, search_vector, embedding, created_at, last_confirmed_at,
  metadata)
SELECT $1, id, id::text, 'did', content, commonplace_search_vector(lower(content)), embedding, confirmed_at,
  confirmed_at, CASE WHEN fading THEN '{"status": "fading"}' ELSE '{}' END::jsonb
FROM unnest($2::uuid[], $3::text[], $4::vector[], $5::timestamptz[], $6::boolean[])
  AS given (id, content, embedding, confirmed_at, fading)
"""

_EPISODES = """
INSERT INTO episodes (tenant_id, id, butler, content, search_vector, embedding, created_at, expires_at, consolidated,
  consolidation_status)
SELECT $1, id, 'upkeep', content, commonplace_search_vector(lower(content)), embedding, happened_at,
  happened_at + interval '7 days', true, 'consolidated'
FROM unnest($2::uuid[], $3::text[], $4::vector[], $5::timestamptz[]) AS given (id, content, embedding, happened_at)
"""

_LINKS = """
INSERT INTO memory_links (tenant_id, source_type, source_id, target_type, target_id, relation)
SELECT $1, 'fact', fact, 'episode', episode, 'derived_from' FROM unnest($2::uuid[], $3::uuid[]) AS given (fact, episode)
"""


async def fill_facts(admin: asyncpg.Connection, count: int, advance: Callable[[int], None]) -> None:
    """Store facts in the shares above, mixed; the n-th has ``UUID(int=n + 1)`` scrambled, as real ids are.

    Args:
        admin: A connection that row-level security does not hold for, with the vector codec.
        count: How many.
        advance: Told how many were stored.
    """
    kinds = random.Random(7).choices(list(SHARES), list(SHARES.values()), k=count)  # noqa: S311 - no secret
    for start, texts, vectors in _batches(count):
        chosen = kinds[start : start + BATCH]
        confirmed = [NOW - timedelta(days=CONFIRMED_DAYS_AGO[kind]) for kind in chosen]
        fading = [kind == "recovering" for kind in chosen]
        await admin.execute(_FACTS, TENANT, fact_ids(start, count), texts, vectors, confirmed, fading)
        advance(len(texts))


async def fill_episodes(
    admin: asyncpg.Connection, count: int, facts: int, advance: Callable[[int], None]
) -> None:
    """Store consolidated episodes, half of them expired, each the source of one of the facts.

    Args:
        admin: As for :func:`fill_facts`.
        count: How many.
        facts: How many facts there are to link to.
        advance: Told how many were stored.
    """
    for start, texts, vectors in _batches(count):
        numbers = range(start, start + len(texts))
        ids = [UUID(int=(number + 1) * 0x9E3779B97F4A7C15F39CC0605CEDC835 % 2**128) for number in numbers]
        happened = [NOW - timedelta(days=9 if number % 2 else 1, seconds=number) for number in numbers]
        await admin.execute(_EPISODES, TENANT, ids, texts, vectors, happened)
        sources = [_scrambled(number % facts) for number in numbers]
        await admin.execute(_LINKS, TENANT, sources, ids)
        advance(len(texts))


def questions(count: int) -> tuple[list[str], NDArray[np.float32]]:
    """Return questions with their vectors."""
    dice, rng = random.Random(11), np.random.default_rng(11)  # noqa: S311 - no secret
    return [f"Who {dice.choice(VERBS.split('|'))} {dice.choice(THINGS.split('|'))}?" for _ in range(count)], (
        _vectors(rng, count)
    )


def fact_ids(start: int, count: int) -> list[UUID]:
    """Return the ids of one batch."""
    return [_scrambled(number) for number in range(start, min(start + BATCH, count))]


def _scrambled(number: int) -> UUID:
    return UUID(int=(number + 1) * 0x2545F4914F6CDD1D9E3779B97F4A7C15 % 2**128)


def _batches(count: int) -> Iterator[tuple[int, list[str], list[Vector]]]:
    dice, rng = random.Random(5), np.random.default_rng(5)  # noqa: S311 - no secret
    for start in range(0, count, BATCH):
        size = min(BATCH, count - start)
        yield (
            start,
            [_sentence(dice) for _ in range(size)],
            [Vector(vector) for vector in _vectors(rng, size)],
        )


def _sentence(dice: random.Random) -> str:
    parts = (NAMES, VERBS, THINGS, PLACES)
    return f"{' '.join(dice.choice(words.split('|')) for words in parts)} w{dice.randrange(RARE_WORDS)}"


_CENTRES = np.random.default_rng(3).normal(size=(CLUSTERS, DIMENSIONS)).astype(np.float32)


def _vectors(rng: np.random.Generator, count: int) -> NDArray[np.float32]:
    noise = rng.normal(size=(count, DIMENSIONS)).astype(np.float32)
    mixed = _CENTRES[rng.integers(0, CLUSTERS, count)] + NOISE * noise
    return mixed / np.linalg.norm(mixed, axis=1, keepdims=True)
