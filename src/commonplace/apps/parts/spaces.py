"""The spaces of an app and their memories, for operators."""

from typing import Literal

from commonplace.apps.model.figures import (
    Space,
)
from commonplace.apps.model.memories import ALL_ROWS, LISTED, Digest
from commonplace.apps.resources.vectors import Vectors
from commonplace.apps.rules.search import by_meaning, by_words
from commonplace.apps.store.statements import AppStatements
from commonplace.core.quarantine import Quarantine
from commonplace.storage.store import Store


class AppSpaces:
    """The spaces of an app: its common space, and the spaces of its users."""

    def __init__(self, store: Store[AppStatements], vectors: Vectors, quarantine: Quarantine) -> None:
        self._store = store
        self._vectors = vectors
        self._quarantine = quarantine

    async def memories(
        self,
        app_id: str,
        *,
        common: bool = False,
        user_id: str | None = None,
        limit: int = LISTED,
        offset: int = 0,
    ) -> list[Digest]:
        """Return memories of an app, newest first; ``common`` and ``user_id`` choose one space."""
        rows = await self._store.reads.page_of_memories(
            app_id=app_id, common=int(common), user_id=user_id, limit=limit, offset=offset
        )
        return self._quarantine.watch(Digest.from_rows(rows))

    async def search(
        self,
        app_id: str,
        query: str,
        *,
        by: Literal["words", "meaning"] = "words",
        common: bool = False,
        user_id: str | None = None,
    ) -> list[Digest]:
        """Return the memories of an app that match a query, best first.

        Unlike :meth:`.AppMemory.search`, it searches the spaces of all users, and no memories of other apps.

        Raises:
            EmbeddingError: The search is by meaning, and the embedding engine does not work.
        """
        held = await self.memories(app_id, common=common, user_id=user_id, limit=ALL_ROWS)
        if by == "words":
            hits = by_words(held, query)
        else:
            hits = by_meaning(held, query, await self._vectors.likeness(query, app_id, held))
        return [hit.memory for hit in hits]

    async def list(self, app_id: str) -> list[Space]:
        """Return the spaces of an app that hold memories, the common one first, then by user."""
        return Space.from_rows(await self._store.reads.spaces_of(app_id=app_id))
