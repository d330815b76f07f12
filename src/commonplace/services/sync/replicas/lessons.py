"""Lessons of operational memory: their ids differ, so they are called by what was first learned."""

from collections.abc import Collection, Mapping, Sequence
from typing import Final

from commonplace.core.settings import Settings
from commonplace.operational import OperationalMemory
from commonplace.services.erasure.erasing import erase
from commonplace.services.erasure.selection import By, Selection
from commonplace.services.sync.changes import Fields
from commonplace.services.sync.erasures import Key
from commonplace.services.sync.kinds import SyncKind

_TABLE: Final = "memories"


class LessonsReplica:
    """The lessons of a home.

    Args:
        memory: Open operational memory.
        settings: Those of the home, for erasures.
    """

    def __init__(self, memory: OperationalMemory, settings: Settings) -> None:
        self._memory = memory
        self._settings = settings

    async def read(self) -> Mapping[Key, Fields]:
        """Return the fields of all lessons."""
        return {
            (SyncKind.LESSON, name): fields for name, fields in (await self._memory.exchange.read()).items()
        }

    async def prepare(self, writes: Sequence[tuple[Key, Fields | None]]) -> None:
        """Do nothing: a write needs nothing else."""

    async def write(
        self, key: Key, fields: Fields | None, *, seen: Fields | None, others: Sequence[Fields] = ()
    ) -> Fields | None:
        """Write a lesson; texts of other devices that lost become wordings of it."""
        return await self._memory.exchange.write(key[1], fields, seen=seen, others=others)

    async def erase(self, keys: Collection[Key]) -> None:
        """Erase lessons with their history, and every copy of their texts in this home."""
        ids = await self._memory.exchange.ids()
        rows = [str(ids[name]) for _, name in keys if name in ids]
        if rows:
            await erase(
                self._settings, Selection(by=By.ROWS, value="sync", with_derived=False, rows={_TABLE: rows})
            )
