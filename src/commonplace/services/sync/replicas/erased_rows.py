"""Erasing the rows of memories that another device has erased."""

from collections.abc import Mapping, Sequence

from commonplace.core.settings import Settings
from commonplace.services.erasure.erasing import erase
from commonplace.services.erasure.selection import By, Selection


async def erase_rows(settings: Settings, rows: Mapping[str, Sequence[str]]) -> None:
    """Erase rows with their history, and every copy of their texts in this home.

    Args:
        settings: Those of the home.
        rows: The ids of the rows of each table.

    Raises:
        StorageError: A database or a file cannot be read or written.
    """
    present = {table: ids for table, ids in rows.items() if ids}
    if present:
        await erase(settings, Selection(by=By.ROWS, value="sync", with_derived=False, rows=present))
