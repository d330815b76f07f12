"""Homes as they are after their first use: made once a session, and lent to each test in a moment."""

import os
import shutil
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from commonplace.core.settings import Settings
from commonplace.embedding import EmbeddingEngine, EmbeddingOptions
from commonplace.storage.migrations.runner import Branch, migrate_sqlite
from support.apart import run_apart

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
    with TemporaryDirectory() as directory:
        database = Settings(home=Path(directory)).database_path
        run_apart(_migrate(database))
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
    """Use a home for the first time."""
    home.mkdir()
    run_apart(_first_use(home))
