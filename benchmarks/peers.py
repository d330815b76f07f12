"""Compare searches of knowledge memory with Chroma, txtai and the bare index, on one corpus with given vectors.

All systems are asked the same questions in turns, so that they share whatever else the machine does. The peers run in
a process and an environment of their own, which the first run makes from the extra ``peers``: txtai needs torch, and
neither belongs into the environment of the tests.

    python benchmarks/peers.py [--size 100000] [--queries 210] [--environment DIR] [--json]

The times leave out embedding. ``recall@10`` compares with the exact ten nearest vectors; a hybrid search has other
aims. commonplace answers over a connection, in a transaction of its own, and knows tenants; the peers are in process.
"""

import argparse
import asyncio
import json
import subprocess
import sys
import tempfile
import time
import tomllib
import venv
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import asyncpg
import numpy as np
from pgvector import Vector
from pgvector.asyncpg import register_vector
from platformdirs import user_cache_path
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from commonplace.core.request_context import request_context
from commonplace.embedding import EmbeddingEngine
from commonplace.knowledge.storage_functions import hybrid_search, semantic_search
from commonplace.storage.cluster import SUPERUSER
from commonplace.storage.migrations.runner import migrate_postgres
from commonplace.storage.postgres import open_pool
from scale import BARE, NEAREST, WARM_UP
from scale_corpus import Corpus, fill, make_corpus, tenant_name
from scratch_server import scratch_server

HERE = Path(__file__).parent
TORCH_FOR_CPU = "https://download.pytorch.org/whl/cpu"
OWN = ("bare index", "semantic", "hybrid")
PEERS = ("chroma", "txtai", "txtai hybrid")


def peers_python(environment: Path) -> Path:
    """Return the interpreter of the environment; make the environment if it does not exist."""
    python = environment / "bin" / "python"
    if not python.exists():
        extras = tomllib.loads((HERE.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        venv.create(environment, with_pip=True)
        wanted = extras["optional-dependencies"]["peers"]
        install = [str(python), "-m", "pip", "install", "--quiet", "--extra-index-url", TORCH_FOR_CPU]
        subprocess.run([*install, "torch", *wanted], check=True)
    return python


class Peers:
    """The process of the peers."""

    def __init__(self, asked: IO[str], answered: IO[str]) -> None:
        self._asked = asked
        self._answered = answered

    def wait(self) -> None:
        """Wait until all peers are filled."""
        while (line := self._answered.readline()).strip() != "ready":
            if not line:
                raise RuntimeError("the process of the peers has ended; its messages are above")

    def ask(self, system: str, question: int) -> tuple[float, list[int]]:
        """Return the milliseconds of a search, and the numbers of the texts that it found."""
        print(json.dumps({"system": system, "question": question}), file=self._asked, flush=True)
        answer = json.loads(self._answered.readline())
        return answer["ms"], answer["found"]


@contextmanager
def start_peers(python: Path, corpus: Corpus) -> Iterator[Peers]:
    """Start the process of the peers on a corpus, and end it."""
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory) / "corpus.npz"
        np.savez(
            file,
            texts=np.array(corpus.texts),
            vectors=corpus.vectors,
            questions=np.array(corpus.questions),
            question_vectors=corpus.question_vectors,
        )
        command = [str(python), str(HERE / "peers_worker.py"), str(file)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdin is not None  # noqa: S101 - a pipe was asked for
            assert process.stdout is not None  # noqa: S101
            yield Peers(process.stdin, process.stdout)
            process.stdin.close()


async def measure(corpus: Corpus, peers: Peers, progress: Progress) -> list[dict[str, Any]]:
    """Ask every system every question, in turns."""
    times: dict[str, list[float]] = {name: [] for name in (*OWN, *PEERS)}
    shares: dict[str, list[float]] = {name: [] for name in times}
    with scratch_server() as server:
        await migrate_postgres(server.url(), "memory")
        admin = await asyncpg.connect(server.url(role=SUPERUSER))
        await register_vector(admin)
        await admin.execute("SET hnsw.ef_search = 200")
        task = progress.add_task("filling", total=len(corpus.texts))
        await fill(admin, corpus, tenants=1, facts=False, advance=lambda rows: progress.advance(task, rows))
        progress.update(task, description="filling the peers", completed=0, total=None)
        await asyncio.to_thread(peers.wait)
        progress.update(task, description="asking", total=len(corpus.questions))
        async with await open_pool(server.url()) as pool:
            with request_context(tenant_id=tenant_name(0), actor="benchmark"):
                for number, vector in enumerate(corpus.question_vectors):
                    exact = set(np.argsort(-(corpus.vectors @ vector))[:NEAREST].tolist())
                    for name, kept in times.items():
                        ms, found = (
                            await _ask(name, number, corpus, pool, admin)
                            if name in OWN
                            else peers.ask(name, number)
                        )
                        kept.append(ms)
                        shares[name].append(len(exact.intersection(found)) / NEAREST)
                    progress.advance(task)
        await admin.close()
    return [_figures(name, times[name], shares[name]) for name in times]


async def _ask(
    name: str, number: int, corpus: Corpus, pool: asyncpg.Pool, admin: asyncpg.Connection
) -> tuple[float, list[int]]:
    vector = corpus.question_vectors[number]
    began_s = time.perf_counter()
    if name == "bare index":
        ids = [row["id"] for row in await admin.fetch(BARE, Vector(vector))]
    elif name == "semantic":
        ids = [each.memory.id for each in await semantic_search(pool, vector, "episodes", limit=NEAREST)]
    else:
        question = corpus.questions[number]
        found = await hybrid_search(pool, question, vector, "episodes", limit=NEAREST)
        ids = [each.memory.id for each in found]
    return (time.perf_counter() - began_s) * 1000, [each.int - 1 for each in ids]


def _figures(name: str, times: Sequence[float], shares: Sequence[float]) -> dict[str, Any]:
    p50, p95 = (round(float(np.percentile(times[WARM_UP:], share)), 2) for share in (50, 95))
    return {"system": name, "p50_ms": p50, "p95_ms": p95, "recall@10": round(float(np.mean(shares)), 4)}


def print_table(figures: Sequence[dict[str, Any]]) -> None:
    """Print the figures, and the times relative to the hybrid search of commonplace."""
    (own,) = (each["p50_ms"] for each in figures if each["system"] == "hybrid")
    table = Table("system", "p50 ms", "p95 ms", "p50 / hybrid", "recall@10")
    for each in figures:
        name = f"commonplace {each['system']}" if each["system"] in OWN[1:] else each["system"]
        table.add_row(
            name,
            f"{each['p50_ms']:.1f}",
            f"{each['p95_ms']:.1f}",
            f"{each['p50_ms'] / own:.2f}",
            f"{each['recall@10']:.3f}",
        )
    Console().print(table)


def main() -> None:
    """Print the table, or one JSON document."""
    parser = argparse.ArgumentParser(description="Searches of commonplace beside Chroma and txtai.")
    parser.add_argument("--size", type=int, default=100_000, help="memories (default: 100,000)")
    parser.add_argument(
        "--queries", type=int, default=210, help=f"questions; the first {WARM_UP} do not count"
    )
    parser.add_argument(
        "--environment",
        type=Path,
        default=user_cache_path("commonplace") / "peers",
        help="where the peers are installed",
    )
    parser.add_argument("--json", action="store_true", help="one JSON document")
    options = parser.parse_args()
    python = peers_python(options.environment)
    engine = EmbeddingEngine()
    corpus = make_corpus(engine, options.size, options.queries)
    engine.close()
    with (
        start_peers(python, corpus) as peers,
        Progress(console=Console(stderr=True), transient=True) as progress,
    ):
        figures = asyncio.run(measure(corpus, peers, progress))
    if options.json:
        json.dump(figures, sys.stdout, indent=2)
        print()
    else:
        print_table(figures)


if __name__ == "__main__":
    main()
