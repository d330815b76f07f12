"""Keeping mirrors up to date: first a mirror is read (:mod:`.edits`), then it is written (:mod:`.output`).

Source: MIR-01, MIR-02.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace

from commonplace.core.errors import CommonplaceError, InvalidInputError, StorageUnavailableError
from commonplace.knowledge import GLOBAL_SCOPE, KnowledgeMemory
from commonplace.services.mirrors.choosing import chosen
from commonplace.services.mirrors.edits import EditReader
from commonplace.services.mirrors.forms import LAYOUTS
from commonplace.services.mirrors.notes import NotesOnDisk, notes_in
from commonplace.services.mirrors.output import write_mirror
from commonplace.services.mirrors.registry import LOCK_TIMEOUT_S, Mirror, MirrorRegistry
from commonplace.services.mirrors.update import MirrorChange, MirrorLine, MirrorUpdate


class MirrorKeeper:
    """Keeps the mirrors of a home up to date.

    Args:
        registry: The mirrors.
        knowledge: Knowledge memory, of the tenant whose memories they show.
    """

    def __init__(self, registry: MirrorRegistry, knowledge: KnowledgeMemory) -> None:
        self._registry = registry
        self._knowledge = knowledge
        self._edits = EditReader(knowledge)

    async def update(self, mirror: Mirror) -> list[MirrorLine]:
        """Read the edits of a mirror, write what it lacks, and return what changed.

        Args:
            mirror: The mirror; what was written into its notes before is taken from the registry.

        Raises:
            InvalidInputError: The path is the mirror of another project or tenant; or the file with lines has several
                sections of commonplace, or one without an end, or is not UTF-8.
            StorageError: A memory or file cannot be read or written. A repetition goes on.
        """
        async with self._updating(mirror, wait_s=LOCK_TIMEOUT_S) as update:
            if not update.disk.places:  # It was deleted as a whole, or is new.
                update.records.clear()
            await self._edits.read(update)
            memories = await chosen(self._knowledge, mirror)
            await asyncio.to_thread(write_mirror, update, memories)
        return update.lines

    async def read_all(self, *, scope: str | None = None, wait_s: float = LOCK_TIMEOUT_S) -> list[MirrorLine]:
        """Read the edits of all mirrors of this tenant, and return what changed; nothing is written into mirrors.

        A mirror that cannot be read is a line of the report; one whose folder is gone or has no note is left for later,
        because its disk may not be mounted.

        Args:
            scope: Only mirrors of this scope and global ones; ``None`` for all.
            wait_s: How long to wait for another process that works on the mirrors.
        """
        lines: list[MirrorLine] = []
        for mirror in self._registry.list():
            is_own = mirror.tenant_id == self._knowledge.tenant_id and LAYOUTS[mirror.form].note is not None
            if not is_own or (scope is not None and mirror.scope not in {scope, GLOBAL_SCOPE}):
                continue
            try:
                async with self._updating(mirror, wait_s=wait_s, as_registered=True) as update:
                    if update.disk.places:
                        await self._edits.read(update)
            except CommonplaceError as error:
                text = str(error)
                lines.append(
                    MirrorLine(change=MirrorChange.SKIPPED, file=str(mirror.path), text=text, memory_id="")
                )
            else:
                lines += update.lines
        return lines

    @asynccontextmanager
    async def _updating(
        self, mirror: Mirror, *, wait_s: float, as_registered: bool = False
    ) -> AsyncGenerator[MirrorUpdate]:
        """Yield the state of a mirror, and store what was written even if the block fails.

        Args:
            mirror: The mirror.
            wait_s: How long to wait for another process that works on the mirrors.
            as_registered: Whether what it shows is not changed, if it was changed meanwhile.
        """
        try:
            async with self._registry.locked(wait_s=wait_s):
                before = self._before(mirror)
                mirror = before if before is not None and as_registered else mirror
                layout = LAYOUTS[mirror.form]
                disk = (
                    NotesOnDisk() if layout.note is None else await asyncio.to_thread(notes_in, mirror.path)
                )
                update = MirrorUpdate(mirror, layout, disk, dict(before.notes) if before else {})
                try:
                    yield update
                except BaseException:
                    if update.records:
                        self._store(update, before)
                    raise
                self._store(update, before)
        except OSError as error:
            reason = error.strerror or error
            raise StorageUnavailableError(f"{error.filename or mirror.path}: {reason}") from error

    def _store(self, update: MirrorUpdate, before: Mirror | None) -> None:
        after = replace(update.mirror, notes=update.records)
        if after != before:
            self._registry.put(after)

    def _before(self, mirror: Mirror) -> Mirror | None:
        """Return the mirror as it is registered; ``None`` for a new one.

        Raises:
            InvalidInputError: It is that of another project or tenant.
        """
        key = (mirror.form, mirror.path)
        before = next((each for each in self._registry.list() if (each.form, each.path) == key), None)
        if before and (before.scope, before.tenant_id) != (mirror.scope, mirror.tenant_id):
            expected = f"another path: this is the mirror of {before.scope}"
            raise InvalidInputError("target", expected, str(mirror.path))
        return before
