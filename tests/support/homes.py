"""Homes as they are after their first use: made once a session, and lent to each test in a moment."""

import asyncio
import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from commonplace.core.settings import Settings
from commonplace.embedding import EmbeddingEngine, EmbeddingOptions
from commonplace.storage.migrations.runner import Branch, migrate_sqlite

SQLITE_BRANCHES: tuple[Branch, ...] = ("operational", "apps", "access")


@dataclass(frozen=True, slots=True)
class UsedHome:
    """A home with an empty database of the newest schema, and the graphs of the embedding model."""

    directory: Path

    @property
    def graphs(self) -> Path:
        """The directory of the graphs: one for texts, and one for queries."""
        return self.directory / "models" / "graphs"

    def lend(self, home: Path) -> None:
        """Make a home like it. The graphs, which nobody writes to, are the same files."""
        home.mkdir(mode=0o700, exist_ok=True)
        graphs = home / "models" / "graphs"
        graphs.mkdir(parents=True)
        for graph in self.graphs.glob("*.onnx"):
            os.link(graph, graphs / graph.name)
        shutil.copy(Settings(home=self.directory).database_path, Settings(home=home).database_path)


@cache
def migrated_database() -> bytes:
    """Return an SQLite file without memories, with the newest schema; this process makes it once."""
    with TemporaryDirectory() as directory, ThreadPoolExecutor(1) as thread:
        database = Settings(home=Path(directory)).database_path
        thread.submit(asyncio.run, _migrate(database)).result()
        return database.read_bytes()


async def _migrate(database: Path) -> None:
    for branch in SQLITE_BRANCHES:
        await migrate_sqlite(database, branch)


async def _first_use(home: Path) -> None:
    await _migrate(Settings(home=home).database_path)
    engine = EmbeddingEngine(EmbeddingOptions.from_settings(Settings(home=home)))
    await engine.embed_async("anything")
    await engine.embed_query_async("anything")
    engine.close()


def make_used_home(home: Path) -> None:
    """Use a home for the first time, in a thread of its own: the test that asks for it may run in a loop already."""
    home.mkdir()
    with ThreadPoolExecutor(1) as thread:
        thread.submit(asyncio.run, _first_use(home)).result()
