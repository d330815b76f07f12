"""Partitions of knowledge memory by tenant against the layout with one table, in one run.

A server gets a database with one table of episodes: a large tenant, and many small ones. In copies of this database,
the table has one partition that all share, then a partition for the large tenant besides, as the commands of
commonplace make them, and hash partitions by tenant, which commonplace does not make. All indexes are local. Every
layout gets the same questions and the same new episodes, in turns. While the large tenant gets its partition, a small
one stores episodes all the time.

    python benchmarks/partitions.py [--size N] [--tenants N] [--large N] [--layout NAME]... [--partitions N]
                                    [--queries N] [--json]

The default size takes some minutes on two cores.
"""

import argparse
import asyncio
import json
import sys
import time
from collections import defaultdict
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Final
from uuid import UUID

import asyncpg
import numpy as np
from pgvector.asyncpg import register_vector
from rich.console import Console
from rich.table import Table

from commonplace.core.request_context import request_context
from commonplace.embedding import EmbeddingEngine
from commonplace.knowledge import KnowledgeMemory
from commonplace.knowledge.memories.episodes import EpisodeDraft
from commonplace.knowledge.storage_functions import hybrid_search, semantic_search, store_episodes
from commonplace.knowledge.store.database import KnowledgeDatabase
from commonplace.storage.cluster import APPLICATION_ROLE, SUPERUSER
from commonplace.storage.embedded import Membership
from commonplace.storage.migrations.runner import migrate_postgres
from commonplace.storage.postgres import open_pool
from scale import PrecomputedEngine
from scale_corpus import Corpus, Vectors, fill, index_memory_mb, make_corpus, moved_vectors, tenant_name
from scratch_server import scratch_server

NEAREST: Final = 10
WARM_UP: Final = 20
COLD: Final = 5
STORED_AT_ONCE: Final = 20
STORED: Final = 400
PAUSE_S: Final = 0.05
BUILD_S: Final = 3600.0

ONE_TABLE: Final = "one table"
SHARED: Final = "one shared partition"
APART: Final = "large tenant apart"
HASHED: Final = "hash partitions"
COPIES: Final = (SHARED, APART, HASHED)
KINDS: Final = ("large", "small")

Figures = dict[tuple[str, str], list[float]]
"""Figures of a layout and a kind of tenant."""

CONVERSION: Final = """
CREATE FUNCTION pg_temp.partition(name text, partitions integer) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    former text := name || '_former';
    own oid := to_regclass(name);
    owner name := (SELECT pg_get_userbyid(relowner) FROM pg_class WHERE oid = own);
    options text := (SELECT coalesce('WITH (' || array_to_string(reloptions, ', ') || ')', '')
                     FROM pg_class WHERE oid = own);
    rest text[] := array(SELECT pg_get_indexdef(indexrelid) FROM pg_index
                         WHERE indrelid = own AND NOT (indisprimary AND indnatts = 1))
        || array(SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE tgrelid = own AND NOT tgisinternal)
        || array(SELECT format('ALTER TABLE %s ADD CONSTRAINT %I %s', conrelid::regclass, conname,
                               pg_get_constraintdef(oid))
                 FROM pg_constraint WHERE contype = 'f' AND conparentid = 0 AND own IN (conrelid, confrelid));
    statement text;
BEGIN
    EXECUTE format('ALTER TABLE %I RENAME TO %I', name, former);
    EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING IDENTITY '
                   'INCLUDING STORAGE) PARTITION BY HASH (tenant_id)', name, former);
    FOR number IN 0 .. partitions - 1 LOOP
        EXECUTE format('CREATE TABLE %I PARTITION OF %I FOR VALUES WITH (MODULUS %s, REMAINDER %s) %s',
                       name || '_' || number, name, partitions, number, options);
    END LOOP;
    EXECUTE format('INSERT INTO %I OVERRIDING SYSTEM VALUE SELECT * FROM %I', name, former);
    EXECUTE format('DROP TABLE %I CASCADE', former);
    FOREACH statement IN ARRAY rest LOOP
        EXECUTE statement;
    END LOOP;
    EXECUTE format('ALTER TABLE %I OWNER TO %I', name, owner);
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY', name);
    EXECUTE format('CREATE POLICY tenant ON %I USING (tenant_id = current_setting(''commonplace.tenant_id'', true))',
                   name);
END $$
"""
"""Partition a table that nobody uses by hash; the function locks the table to its end."""

SIZES: Final = """
SELECT
  sum(pg_relation_size(own.oid)) FILTER (WHERE amname = 'hnsw') / 1e6 AS vectors_mb,
  sum(pg_relation_size(own.oid)) FILTER (WHERE amname = 'btree' AND held.relname ~ '^episode_words') / 1e6 AS words_mb
FROM pg_index
JOIN pg_class AS own ON own.oid = indexrelid
JOIN pg_am ON pg_am.oid = own.relam
JOIN pg_class AS held ON held.oid = indrelid
WHERE held.relname ~ '^episode(s|_words)' AND own.relkind = 'i' AND indisvalid
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """The memories and their tenants.

    Attributes:
        corpus: The texts, questions and vectors.
        tenants: The number of tenants.
        large: The memories of the first tenant, in addition to an equal share of the rest.
    """

    corpus: Corpus
    tenants: int
    large: int

    def asker(self, question: int) -> int:
        """Return the tenant that asks a question: every second question is of the large tenant."""
        return 0 if question % 2 == 0 else 1 + question % (self.tenants - 1)

    def kind(self, question: int) -> str:
        """Return the kind of the tenant that asks a question."""
        return "large" if self.asker(question) == 0 else "small"


@dataclass(frozen=True, slots=True, kw_only=True)
class Isolated:
    """How long the large tenant took to get its partition, and the longest that a small tenant waited meanwhile.

    ``rebuilding_s`` is the time to build the shared index on vectors again, without the vectors of the tenant.
    """

    isolating_s: float = 0.0
    longest_wait_s: float = 0.0
    rebuilding_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """The figures of one layout; times are in milliseconds.

    Attributes:
        layout: The name of the layout.
        hybrid_p50_ms: The median of a hybrid search by the kind of tenant.
        hybrid_p95_ms: The same, for the slowest twentieth.
        recall: The share of the exact ten nearest memories that the search found, by the kind of tenant.
        cold_ms: The median of the first hybrid search of a connection.
        store_ms: Milliseconds to store an episode, by the kind of tenant.
        vectors_mb: The size of the indexes on vectors.
        words_mb: The size of the indexes on words.
        isolating_s: Seconds until the large tenant has its partition; 0 if it gets none.
        longest_wait_s: The longest that a small tenant's episode waited meanwhile.
        rebuilding_s: Seconds to build the shared index on vectors again afterwards.
    """

    layout: str
    hybrid_p50_ms: dict[str, float]
    hybrid_p95_ms: dict[str, float]
    recall: dict[str, float]
    cold_ms: float
    store_ms: dict[str, float]
    vectors_mb: float
    words_mb: float
    isolating_s: float
    longest_wait_s: float
    rebuilding_s: float


async def lay_out(server: Membership, load: Load) -> str:
    """Fill a database with one table and return its name."""
    await migrate_postgres(server.url(), "memory")
    admin = await asyncpg.connect(server.url(role=SUPERUSER))
    await register_vector(admin)
    await fill(
        admin, load.corpus, tenants=load.tenants, facts=False, advance=lambda _: None, large=load.large
    )
    # The copies get new indexes, too.
    await admin.execute("REINDEX TABLE episode_words", timeout=BUILD_S)
    database = await admin.fetchval("SELECT current_database()")
    await admin.close()
    return database


async def copy_of(server: Membership, load: Load, source: str, layout: str, partitions: int) -> Isolated:
    """Copy a database with one table, give it another layout, and return how long the large tenant took to leave."""
    name, isolated = name_of(layout), Isolated()
    admin = await asyncpg.connect(server.url(role=SUPERUSER, database="postgres"))
    await admin.execute(
        f'CREATE DATABASE "{name}" TEMPLATE "{source}" OWNER {APPLICATION_ROLE}', timeout=BUILD_S
    )
    await admin.close()
    if layout == HASHED:
        await _hashed(server.url(role=SUPERUSER, database=name), partitions)
    else:
        isolated = await _partitioned(server.url(database=name), load, is_apart=layout == APART)
    admin = await asyncpg.connect(server.url(role=SUPERUSER, database=name))
    if layout == APART:
        isolated = replace(isolated, rebuilding_s=await _rebuild(admin, load))
    await admin.execute("VACUUM ANALYZE", timeout=BUILD_S)
    await admin.close()
    return isolated


async def _rebuild(admin: asyncpg.Connection, load: Load) -> float:
    """Build the shared index on vectors again, and return the seconds; a vacuum of the old one takes much longer."""
    await admin.execute(f"SET maintenance_work_mem = '{index_memory_mb(len(load.corpus.texts))}MB'")
    began_s = time.perf_counter()
    await admin.execute("REINDEX INDEX CONCURRENTLY idx_episodes_shared_embedding", timeout=BUILD_S)
    return time.perf_counter() - began_s


def name_of(layout: str) -> str:
    """Return the name of the database with a layout."""
    return layout.replace(" ", "_")


async def _partitioned(url: str, load: Load, *, is_apart: bool) -> Isolated:
    """Partition the tables with the methods behind the commands."""
    async with await open_pool(url) as pool:
        with request_context(actor="benchmark"):
            engine = PrecomputedEngine({load.corpus.texts[-1]: load.corpus.vectors[-1].tolist()})
            memory = KnowledgeMemory(KnowledgeDatabase.of(pool), engine, actor="benchmark")
            await memory.partitions.prepare()
            if not is_apart:
                return Isolated()
            await engine.embed_async(None)  # loads the model for its name
            done = asyncio.Event()
            writer = asyncio.create_task(_longest_wait(pool, engine, load, done))
            began_s = time.perf_counter()
            await memory.partitions.isolate(tenant_name(0))
            isolating_s = time.perf_counter() - began_s
            done.set()
            longest_wait_s = await writer
            engine.close()
            return Isolated(isolating_s=isolating_s, longest_wait_s=longest_wait_s)


async def _longest_wait(
    pool: asyncpg.Pool, engine: EmbeddingEngine, load: Load, done: asyncio.Event
) -> float:
    """Store episodes of a tenant that asks nothing until all is done; return the longest time of one in seconds."""
    longest_s = 0.0
    with request_context(tenant_id=tenant_name(load.tenants - 1), actor="benchmark"):
        while not done.is_set():
            began_s = time.perf_counter()
            await store_episodes(pool, engine, [EpisodeDraft(content=load.corpus.texts[-1], butler="scale")])
            longest_s = max(longest_s, time.perf_counter() - began_s)
            await asyncio.sleep(PAUSE_S)
    return longest_s


async def _hashed(url: str, partitions: int) -> None:
    admin = await asyncpg.connect(url)
    await admin.execute(f"SET maintenance_work_mem = '{index_memory_mb(0)}MB'")
    await admin.execute(CONVERSION)
    for table in ("episodes", "episode_words"):
        await admin.execute("SELECT pg_temp.partition($1, $2)", table, partitions, timeout=BUILD_S)
    await admin.close()


async def ask(pools: dict[str, asyncpg.Pool], load: Load) -> tuple[Figures, Figures]:
    """Ask every layout every question, in turns; return the milliseconds and the shares that were found."""
    times: Figures = defaultdict(list)
    shares: Figures = defaultdict(list)
    for question, (text, vector) in enumerate(
        zip(load.corpus.questions, load.corpus.question_vectors, strict=True)
    ):
        tenant, kind = load.asker(question), load.kind(question)
        exact = nearest(load, tenant, vector)
        with request_context(tenant_id=tenant_name(tenant), actor="benchmark"):
            for layout, pool in pools.items():
                began_s = time.perf_counter()
                await hybrid_search(pool, text, vector, "episodes")
                if question >= WARM_UP:
                    times[layout, kind].append((time.perf_counter() - began_s) * 1000)
                found = await semantic_search(pool, vector, "episodes", limit=NEAREST)
                shares[layout, kind].append(len(exact & {each.memory.id for each in found}) / len(exact))
    return times, shares


def nearest(load: Load, tenant: int, vector: Vectors) -> set[UUID]:
    """Return the exact nearest memories of a tenant."""
    numbers = np.arange(len(load.corpus.texts))
    own = np.flatnonzero(np.where(numbers < load.large, 0, numbers % load.tenants) == tenant)
    order = np.argsort(-(load.corpus.vectors[own] @ vector))
    return {UUID(int=int(at) + 1) for at in own[order[:NEAREST]]}


async def first_searches(url: str, load: Load) -> float:
    """Return the median time of the first search of a connection, which plans the statement."""
    times: list[float] = []
    for question in range(COLD):
        async with await open_pool(url) as pool:
            await pool.fetchval("SELECT 1")
            with request_context(tenant_id=tenant_name(load.asker(question)), actor="benchmark"):
                began_s = time.perf_counter()
                await hybrid_search(
                    pool, load.corpus.questions[question], load.corpus.question_vectors[question], "episodes"
                )
                times.append((time.perf_counter() - began_s) * 1000)
    return float(np.median(times))


async def store(pools: dict[str, asyncpg.Pool], load: Load) -> Figures:
    """Store new episodes in every layout, in turns, twice; return the milliseconds of an episode the second time.

    The first time reads indexes from the disk that nobody has used since they were built.
    """
    texts = [f"{text} once more" for text in load.corpus.texts[:STORED]]
    engine = PrecomputedEngine(
        dict(zip(texts, moved_vectors(load.corpus.vectors[:STORED]).tolist(), strict=True))
    )
    await engine.embed_async(None)  # loads the model for its name
    times: Figures = defaultdict(list)
    turns = STORED // STORED_AT_ONCE
    for turn in range(2 * turns):
        start = turn % turns * STORED_AT_ONCE
        drafts = [
            EpisodeDraft(content=text, butler="scale") for text in texts[start : start + STORED_AT_ONCE]
        ]
        with request_context(tenant_id=tenant_name(load.asker(turn)), actor="benchmark"):
            for layout, pool in pools.items():
                began_s = time.perf_counter()
                await store_episodes(pool, engine, drafts)
                if turn >= turns:
                    times[layout, load.kind(turn)].append(
                        (time.perf_counter() - began_s) * 1000 / len(drafts)
                    )
    engine.close()
    return times


async def measure(server: Membership, load: Load, layouts: Sequence[str], partitions: int) -> list[Row]:
    """Measure one table and other layouts."""
    first = await lay_out(server, load)
    databases, isolated = {ONE_TABLE: first}, {ONE_TABLE: Isolated()}
    for layout in layouts:
        databases[layout] = name_of(layout)
        isolated[layout] = await copy_of(server, load, first, layout, partitions)
    urls = {layout: server.url(database=database) for layout, database in databases.items()}
    sizes, cold = {}, {}
    for layout, database in databases.items():
        admin = await asyncpg.connect(server.url(role=SUPERUSER, database=database))
        sizes[layout] = await admin.fetchrow(SIZES)
        await admin.close()
        cold[layout] = await first_searches(urls[layout], load)
    async with AsyncExitStack() as stack:
        pools = {
            layout: await stack.enter_async_context(await open_pool(url)) for layout, url in urls.items()
        }
        asked, shares = await ask(pools, load)
        stored = await store(pools, load)
    return [
        Row(
            layout=layout,
            hybrid_p50_ms={kind: percentile(asked[layout, kind], 50) for kind in KINDS},
            hybrid_p95_ms={kind: percentile(asked[layout, kind], 95) for kind in KINDS},
            recall={kind: round(float(np.mean(shares[layout, kind])), 4) for kind in KINDS},
            cold_ms=round(cold[layout], 1),
            store_ms={kind: percentile(stored[layout, kind], 50) for kind in KINDS},
            vectors_mb=round(float(sizes[layout]["vectors_mb"]), 1),
            words_mb=round(float(sizes[layout]["words_mb"]), 1),
            isolating_s=round(isolated[layout].isolating_s, 1),
            longest_wait_s=round(isolated[layout].longest_wait_s, 2),
            rebuilding_s=round(isolated[layout].rebuilding_s, 1),
        )
        for layout in databases
    ]


def percentile(times: list[float], share: int) -> float:
    """Return a percentile, rounded for a table."""
    return round(float(np.percentile(times, share)), 2)


def show(rows: list[Row], load: Load, partitions: int) -> None:
    """Print the figures."""
    table = Table(
        title=f"{len(load.corpus.texts):,} episodes of {load.tenants:,} tenants, {load.large:,} of them of one "
        f"tenant; {partitions} hash partitions"
    )
    for column in (
        "",
        "tenant",
        "hybrid p50",
        "hybrid p95",
        "recall@10",
        "store",
        "first",
        "vectors MB",
        "words MB",
        "isolating s",
        "longest wait s",
        "rebuilding s",
    ):
        table.add_column(column, justify="right" if column else "left")
    for row in rows:
        for kind in KINDS:
            figures = (row.hybrid_p50_ms, row.hybrid_p95_ms, row.recall, row.store_ms)
            once = (
                row.cold_ms,
                row.vectors_mb,
                row.words_mb,
                row.isolating_s,
                row.longest_wait_s,
                row.rebuilding_s,
            )
            whole = once if kind == KINDS[0] else ("",) * len(once)
            table.add_row(
                row.layout if kind == KINDS[0] else "",
                kind,
                *(f"{figure[kind]:g}" for figure in figures),
                *(str(figure) for figure in whole),
            )
    Console(width=160).print(table)


def main() -> int:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--size", type=int, default=100_000, help="episodes of all tenants (default: 100000)")
    parser.add_argument("--tenants", type=int, default=1_000, help="number of tenants (default: 1000)")
    parser.add_argument(
        "--large", type=int, default=25_000, help="episodes of the large tenant (default: 25000)"
    )
    parser.add_argument(
        "--layout", action="append", choices=COPIES, help="a layout beside one table (default: all)"
    )
    parser.add_argument("--partitions", type=int, default=32, help="number of hash partitions (default: 32)")
    parser.add_argument("--queries", type=int, default=420, help="number of questions (default: 420)")
    parser.add_argument("--directory", type=Path, default=None, help="parent directory of the server")
    parser.add_argument("--json", action="store_true", dest="as_json", help="print one JSON document")
    options = parser.parse_args()
    engine = EmbeddingEngine()
    load = Load(
        corpus=make_corpus(engine, options.size, options.queries),
        tenants=options.tenants,
        large=options.large,
    )
    engine.close()
    with scratch_server(options.directory) as server:
        rows = asyncio.run(measure(server, load, options.layout or COPIES, options.partitions))
    if options.as_json:
        print(json.dumps([asdict(row) for row in rows], indent=2))
    else:
        show(rows, load, options.partitions)
    return 0


if __name__ == "__main__":
    sys.exit(main())
