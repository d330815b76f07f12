"""Erasure on all devices of a home."""

from contextlib import AsyncExitStack
from dataclasses import replace
from typing import Final

from commonplace.core.settings import Settings
from commonplace.services.erasure.erasing import ErasureReceipt, erase
from commonplace.services.erasure.selection import Selection
from commonplace.services.opening import OpenedMemories
from commonplace.services.sync.erasures import Key
from commonplace.services.sync.home import FOLDER, SyncedHome, is_synced
from commonplace.services.sync.kinds import SyncKind

NOT_REACHED: Final = "other devices and the target of sync, until they sync: see `commonplace sync status`"


async def erase_everywhere(settings: Settings, selection: Selection) -> ErasureReceipt:
    """Erase memories here and, if the home syncs, have every other device erase them with its next sync.

    :attr:`SyncStatus.erasures <commonplace.services.sync.home.SyncStatus>` says which devices have done it.

    Raises:
        StorageError: A database or a file cannot be read or written.
    """
    if not is_synced(settings.home) or not selection.is_of_installation:
        return await erase(settings, selection)
    before = await _keys(settings)
    receipt = await erase(settings, selection)
    names = before - await _keys(settings)
    if not names:
        return receipt
    async with SyncedHome.open(settings) as home:
        await home.erase(sorted(names))
    # The search for what remains came before the texts went from the state of sync.
    own = str(settings.home / FOLDER)
    return replace(
        receipt,
        remains=tuple(each for each in receipt.remains if own not in each),
        not_reached=(*receipt.not_reached, NOT_REACHED),
    )


async def _keys(settings: Settings) -> set[Key]:
    """Return the names of all memories, forgotten ones too, because other devices have their texts."""
    async with AsyncExitStack() as stack:
        opened = await OpenedMemories.open(stack, settings, besides=("workspace",))
        rows = await opened.knowledge().exchange.names()
        return {
            *((SyncKind(kind), name) for kind, name in rows),
            *((SyncKind.LESSON, name) for name in await opened.operational().exchange.read()),
            *((SyncKind.DIGEST, name) for name in await opened.apps().exchange.read()),
        }
