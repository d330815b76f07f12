"""A synthetic memory of any size: sentences, their vectors, and the database that holds them.

A text is two of some thousand sentences from short lists, so that their words are common, and a few rare words by
Zipf's law. The vector of a text is that of its sentences plus some noise. This keeps distances like those of real
texts without embedding each text.
"""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from uuid import UUID

import asyncpg
import numpy as np
from numpy.typing import NDArray
from pgvector import Vector

from commonplace.embedding import EmbeddingEngine

NAMES = (
    "Ann|Ben|Carla|Dinesh|Eva|Farid|Grace|Hugo|Ines|Jonas|Kira|Liam|Mona|Nils|Olga|Pavel|Quinn|Rosa|Sven|Tara"
)
VERBS = "repaired|sold|painted|borrowed|lost|found|carried|ordered|cleaned|photographed|measured|packed|hid|traded"
THINGS = (
    "the green tent|an old bicycle|the kitchen table|a box of letters|the broken lamp|her mother's ring|two tickets|"
    "the blue notebook|a bag of apples|the spare key|a wooden chair|the camera|some seedlings|a pot of honey"
)
PLACES = (
    "at the lake|in Lisbon|behind the station|near the bakery|at the clinic|on the ferry|in the attic|at the market|"
    "under the bridge|in the old library|on the roof|at the harbour|in the garden|beside the river"
)
TIMES = "before breakfast|last Friday|during the storm|after the concert|in early spring|on her birthday"
RARE_WORDS = 60_000
ZIPF = 1.15
SENTENCES = 5_000
NOISE = 0.3
TURNS_A_SESSION = 25
BATCH = 2_000

Vectors = NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True)
class Corpus:
    """Texts and questions with their vectors."""

    texts: list[str]
    vectors: Vectors
    questions: list[str]
    question_vectors: Vectors


def make_corpus(engine: EmbeddingEngine, size: int, questions: int) -> Corpus:
    """Return texts and questions; one size always gives the same ones."""
    rng, dice = np.random.default_rng(7), random.Random(7)  # noqa: S311 - no secret
    rare = [_rare_word(dice) for _ in range(RARE_WORDS)]
    sentences = [_sentence(dice) for _ in range(SENTENCES)]
    pairs = rng.integers(0, SENTENCES, (size, 2))
    texts = [
        f"{sentences[one]}, and {sentences[other]}. {' '.join(rare[rank] for rank in ranks)}"
        for (one, other), ranks in zip(pairs, rng.zipf(ZIPF, (size, 3)) % RARE_WORDS, strict=True)
    ]
    asked = [_question(dice, texts) for _ in range(questions)]
    return Corpus(
        texts=texts,
        vectors=_mixtures(engine.embed_array(sentences), pairs, rng),
        questions=asked,
        question_vectors=engine.embed_array(asked),
    )


def _rare_word(dice: random.Random) -> str:
    return "".join(dice.choice("bcdfgklmnprst") + dice.choice("aeiou") for _ in range(dice.randint(2, 4)))


def _sentence(dice: random.Random) -> str:
    parts = (NAMES, VERBS, THINGS, PLACES, TIMES)
    return " ".join(dice.choice(words.split("|")) for words in parts)


def _question(dice: random.Random, texts: list[str]) -> str:
    """Ask about a text of the corpus by some of its words."""
    words = dice.choice(texts).replace(".", "").replace(",", "").split()
    return f"When did {' '.join(dice.sample(words, 5))}, and who was there?"


def _mixtures(sentences: Vectors, pairs: NDArray[np.int64], rng: np.random.Generator) -> Vectors:
    vectors = np.empty((len(pairs), sentences.shape[1]), np.float32)
    for start in range(0, len(pairs), BATCH):
        batch = pairs[start : start + BATCH]
        noise = rng.normal(size=(len(batch), sentences.shape[1])).astype(np.float32)
        noise *= NOISE / np.linalg.norm(noise, axis=1, keepdims=True)
        mixed = sentences[batch].sum(axis=1) + noise
        vectors[start : start + BATCH] = mixed / np.linalg.norm(mixed, axis=1, keepdims=True)
    return vectors


def moved_vectors(vectors: Vectors) -> Vectors:
    """Return vectors near the given ones."""
    noise = np.random.default_rng(8).normal(size=vectors.shape).astype(np.float32)
    moved = vectors + NOISE * noise / np.linalg.norm(noise, axis=1, keepdims=True)
    return moved / np.linalg.norm(moved, axis=1, keepdims=True)


def tenant_name(number: int) -> str:
    """Return the id of a tenant."""
    return f"tenant-{number}"


def owner(number: int, tenants: int, large: int = 0) -> int:
    """Return the tenant of the n-th text: tenant 0 has the first ``large`` texts, the rest is shared equally."""
    return 0 if number < large else number % tenants


_EPISODES = """
INSERT INTO episodes (tenant_id, id, butler, session_id, content, search_vector, embedding, created_at, expires_at)
SELECT tenant_id, id, 'scale', session_id, content, commonplace_search_vector(lower(content)),
  embedding, created_at, NULL
FROM unnest($1::text[], $2::uuid[], $3::uuid[], $4::text[], $5::vector[], $6::timestamptz[])
  AS given (tenant_id, id, session_id, content, embedding, created_at)
"""

# As many facts as episodes, and a rule for every hundred.
_FACTS = """
INSERT INTO facts (tenant_id, id, subject, predicate, content, search_vector, embedding, created_at, last_confirmed_at)
SELECT tenant_id, id, id::text, 'said', content, search_vector, embedding, created_at, now() FROM episodes
"""
_RULES = """
INSERT INTO rules (tenant_id, id, content, search_vector, embedding, created_at, last_confirmed_at)
SELECT tenant_id, id, content, search_vector, embedding, created_at, now() FROM episodes WHERE insertion_order % 100 = 0
"""


async def fill(
    admin: asyncpg.Connection,
    corpus: Corpus,
    *,
    tenants: int,
    facts: bool,
    advance: Callable[[int], None],
    more: Sequence[str] = (),
    large: int = 0,
) -> None:
    """Fill an empty database; the n-th text is of the tenant ``owner(n)``, and has ``UUID(int=n + 1)``.

    Indexes on vectors are dropped first and built at the end, as a restored dump would, and statistics are brought up
    to date, as the server would within minutes.

    Args:
        admin: A connection that row-level security does not hold for, with the vector codec.
        corpus: What to store.
        tenants: How many share it.
        facts: Store it a second time as facts, and a hundredth of it as rules.
        advance: Told how many texts were stored.
        more: Statements to be run before the indexes on vectors are built.
        large: How many texts the first tenant has in addition to its equal share of the rest.
    """
    tables = ["episodes", "facts", "rules"] if facts else ["episodes"]
    definitions = [
        await admin.fetchval("SELECT pg_get_indexdef($1::text::regclass)", f"idx_{table}_embedding")
        for table in tables
    ]
    for table in tables:
        await admin.execute(f"DROP INDEX idx_{table}_embedding")
    for start in range(0, len(corpus.texts), BATCH):
        await admin.execute(_EPISODES, *_columns(corpus, start, tenants, large))
        advance(min(BATCH, len(corpus.texts) - start))
    if facts:
        await admin.execute(_FACTS, timeout=3600)
        await admin.execute(_RULES, timeout=3600)
    for statement in more:
        await admin.execute(statement, timeout=3600)
    await admin.execute(f"SET maintenance_work_mem = '{index_memory_mb(len(corpus.texts))}MB'")
    for definition in definitions:
        await admin.execute(definition, timeout=3600)
    await admin.execute("VACUUM ANALYZE", timeout=3600)


def index_memory_mb(vectors: int) -> int:
    """Return the megabytes in which an index of vectors is built; with too few, it takes ten times as long."""
    return max(1_000, vectors // 800)


def _columns(corpus: Corpus, start: int, tenants: int, large: int) -> tuple[Sequence[object], ...]:
    numbers = range(start, min(start + BATCH, len(corpus.texts)))
    began_at = datetime(2026, 1, 1, tzinfo=UTC)
    return (
        [tenant_name(owner(number, tenants, large)) for number in numbers],
        [UUID(int=number + 1) for number in numbers],
        [
            UUID(int=(number // tenants // TURNS_A_SESSION) * tenants + number % tenants + 1)
            for number in numbers
        ],
        corpus.texts[start : start + BATCH],
        [Vector(vector) for vector in corpus.vectors[start : start + BATCH]],
        [began_at + timedelta(seconds=number) for number in numbers],
    )
