"""The wordings of a memory, current and earlier."""

from commonplace.core.errors import InvalidInputError
from commonplace.core.quarantine import Quarantine
from commonplace.core.request_context import current_actor
from commonplace.operational.model.memories import (
    Author,
    ChangeKind,
    Lesson,
    Wording,
)
from commonplace.operational.rules.edits import edited
from commonplace.operational.rules.wordings import wordings
from commonplace.operational.store import memories
from commonplace.operational.store.statements import OperationalStatements
from commonplace.storage.store import Store


class OperationalWordings:
    """Lists the wordings of memories, and restores earlier ones."""

    def __init__(self, store: Store[OperationalStatements], quarantine: Quarantine) -> None:
        self._store = store
        self._quarantine = quarantine

    async def restore(self, memory_id: int, number: int) -> Lesson:
        """Restore an earlier wording of a memory.

        Raises:
            NotFoundError: No memory has this id.
            InvalidInputError: The memory has no wording with this number.
        """
        async with self._store.writing() as sql:
            before = await memories.lock(sql, memory_id)
            known = wordings(await memories.history(sql, memory_id))
            if type(number) is not int or not 1 <= number <= len(known):
                raise InvalidInputError("wording", f"a number from 1 to {len(known)}", number)
            author = Author(actor=current_actor(), now=self._store.now()).because(
                f"Restored wording {number}."
            )
            text = known[number - 1].text
            after = edited(before, observation=text, confidence_value=None, now=author.now)
            restored = await memories.replace(sql, before, after, ChangeKind.EDITED, author)
        return restored.watched_by(self._quarantine)

    async def list(self, memory_id: int) -> list[Wording]:
        """Return every wording of a memory, in order of first use.

        Raises:
            NotFoundError: No memory has this id.
        """
        async with self._store.reading() as sql:
            await memories.get(sql, memory_id)
            return wordings(await memories.history(sql, memory_id))
