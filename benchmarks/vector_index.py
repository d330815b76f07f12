"""Compare options of the index on vectors: the time of a query, its recall, and the time and size of the index.

One table holds the vectors of a synthetic memory. For each option the command builds the index in use and measures it,
then replaces it by the option and measures that: two graphs at once would compete for the server's memory. Times are
relative to the index in use, as measured just before. ``recall@10`` compares with the exact ten nearest vectors.

Binary quantisation keeps one bit of each number in the graph. Its query takes as many candidates as ``ef_search`` and
orders them by the exact distance.

With ``--efforts``, the options are the index in use with other values of ``ef_search``, and it is built once.

    python benchmarks/vector_index.py [--size 100000] [--queries 210] [--efforts 240,320,400] [--json]
"""

import argparse
import asyncio
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import asyncpg
import numpy as np
from pgvector import Vector
from pgvector.asyncpg import register_vector
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from commonplace.embedding import EmbeddingEngine
from commonplace.storage.cluster import SUPERUSER
from commonplace.storage.migrations.runner import migrate_postgres
from scale import NEAREST
from scale_corpus import Corpus, index_memory_mb, make_corpus
from scratch_server import scratch_server

HALF = "hnsw ((embedding::halfvec(384)) halfvec_cosine_ops) WITH (m = {m}, ef_construction = {ef})"
BITS = "hnsw ((binary_quantize(embedding)::bit(384)) bit_hamming_ops) WITH (m = {m}, ef_construction = {ef})"
BY_HALF = "SELECT id FROM vectors ORDER BY embedding::halfvec(384) <=> $1::vector(384)::halfvec(384) LIMIT {nearest}"
BY_BITS = """
SELECT id FROM (
  SELECT id, embedding FROM vectors
  ORDER BY binary_quantize(embedding)::bit(384) <~> binary_quantize($1::vector(384)) LIMIT {candidates}
) AS candidates ORDER BY embedding <=> $1::vector(384) LIMIT {nearest}
"""
BATCH = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """An index, and how widely a query looks around in it."""

    name: str
    index: str
    query: str
    ef_search: int


def half(m: int, ef_construction: int, ef_search: int) -> Option:
    """Return a graph on vectors of half precision."""
    return Option(
        name=f"half precision, {m}, {ef_construction}",
        index=HALF.format(m=m, ef=ef_construction),
        query=BY_HALF.format(nearest=NEAREST),
        ef_search=ef_search,
    )


def bits(m: int, ef_construction: int, ef_search: int) -> Option:
    """Return a graph on one bit for each number, with exact ordering."""
    return Option(
        name=f"one bit, {m}, {ef_construction}",
        index=BITS.format(m=m, ef=ef_construction),
        query=BY_BITS.format(candidates=ef_search, nearest=NEAREST),
        ef_search=ef_search,
    )


IN_USE = half(12, 32, 200)
OPTIONS = (
    half(12, 32, 160),
    half(12, 128, 160),
    half(16, 64, 120),
    half(16, 200, 140),
    half(24, 200, 80),
    bits(16, 100, 200),
    bits(16, 100, 400),
)


async def fill(connection: asyncpg.Connection, corpus: Corpus) -> None:
    """Store the vectors of the corpus; the n-th one has the id n."""
    await connection.execute("CREATE TABLE vectors (id integer PRIMARY KEY, embedding vector(384) NOT NULL)")
    for start in range(0, len(corpus.vectors), BATCH):
        part = corpus.vectors[start : start + BATCH]
        rows = [(start + at, Vector(vector)) for at, vector in enumerate(part)]
        await connection.copy_records_to_table("vectors", records=rows)
    await connection.execute("VACUUM ANALYZE vectors")


async def build(connection: asyncpg.Connection, option: Option) -> dict[str, float]:
    """Build the index of an option in place of the one before, and measure that."""
    await connection.execute("DROP INDEX IF EXISTS measured")
    began_s = time.perf_counter()
    await connection.execute(f"CREATE INDEX measured ON vectors USING {option.index}", timeout=7200)
    build_s = time.perf_counter() - began_s
    size = await connection.fetchval("SELECT pg_relation_size('measured') / 1e6")
    return {"build_s": round(build_s, 1), "size_mb": round(float(size), 1)}


async def ask(
    connection: asyncpg.Connection, option: Option, corpus: Corpus, exact: Sequence[set[int]]
) -> dict[str, float]:
    """Ask every question twice, and measure the second round."""
    await connection.execute(f"SET hnsw.ef_search = {option.ef_search}")
    times: list[float] = []
    for is_counted in (False, True):
        shares: list[float] = []
        for vector, nearest in zip(corpus.question_vectors, exact, strict=True):
            began_s = time.perf_counter()
            rows = await connection.fetch(option.query, Vector(vector))
            if is_counted:
                times.append((time.perf_counter() - began_s) * 1000)
            shares.append(len(nearest & {row["id"] for row in rows}) / NEAREST)
    return {"p50_ms": round(float(np.median(times)), 2), "recall@10": round(float(np.mean(shares)), 4)}


async def run(corpus: Corpus, options: Sequence[Option], progress: Progress) -> list[dict[str, Any]]:
    """Measure every option beside the index in use."""
    exact = [
        set(np.argsort(-(corpus.vectors @ vector))[:NEAREST].tolist()) for vector in corpus.question_vectors
    ]
    figures: list[dict[str, Any]] = []
    with scratch_server() as server:
        await migrate_postgres(server.url(), "memory")
        connection = await asyncpg.connect(server.url(role=SUPERUSER))
        await register_vector(connection)
        await fill(connection, corpus)
        await connection.execute(f"SET maintenance_work_mem = '{index_memory_mb(len(corpus.texts))}MB'")
        await connection.execute("SET enable_seqscan = off")
        built: dict[str, dict[str, float]] = {}
        for option in progress.track(options):
            pair: list[dict[str, float]] = []
            for each in (IN_USE, option):
                if each.index not in built:
                    built = {each.index: await build(connection, each)}
                pair.append(built[each.index] | await ask(connection, each, corpus, exact))
            base, measured = pair
            if not figures:
                figures.append(_figure(IN_USE, base, base))
            figures.append(_figure(option, measured, base))
        await connection.close()
    return figures


def _figure(option: Option, measured: dict[str, float], base: dict[str, float]) -> dict[str, Any]:
    ratios = {
        f"{name}_ratio": round(measured[f"{name}"] / base[f"{name}"], 2) for name in ("p50_ms", "build_s")
    }
    return {"index": option.name, "ef_search": option.ef_search, **measured, **ratios}


def print_table(figures: Sequence[dict[str, Any]]) -> None:
    """Print the figures."""
    table = Table("index", "ef_search", "recall@10", "p50, relative", "build, relative", "MB")
    for each in figures:
        values = (
            each["ef_search"],
            each["recall@10"],
            each["p50_ms_ratio"],
            each["build_s_ratio"],
            each["size_mb"],
        )
        table.add_row(each["index"], *(str(value) for value in values))
    Console(width=120).print(table)


def _efforts(text: str) -> list[Option]:
    return [half(12, 32, int(part)) for part in text.split(",")]


def main() -> None:
    """Print the table, or one JSON document."""
    parser = argparse.ArgumentParser(description="Options of the index on vectors.")
    parser.add_argument("--size", type=int, default=100_000, help="vectors (default: 100,000)")
    parser.add_argument("--queries", type=int, default=210, help="questions (default: 210)")
    parser.add_argument("--efforts", type=_efforts, help="values of ef_search, by commas")
    parser.add_argument("--json", action="store_true", help="one JSON document")
    options = parser.parse_args()
    engine = EmbeddingEngine()
    corpus = make_corpus(engine, options.size, options.queries)
    engine.close()
    with Progress(console=Console(stderr=True), transient=True) as progress:
        figures = asyncio.run(run(corpus, options.efforts or OPTIONS, progress))
    if options.json:
        json.dump(figures, sys.stdout, indent=2)
        print()
    else:
        print_table(figures)


if __name__ == "__main__":
    main()
