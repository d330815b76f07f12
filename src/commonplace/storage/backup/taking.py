"""Creation of backups."""

import asyncio
import os
import shutil
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Final

from commonplace.core.clock import format_timestamp, parse_timestamp, utc_now
from commonplace.core.directories import make_directories
from commonplace.core.errors import InvalidInputError, NotFoundError
from commonplace.core.settings import Settings
from commonplace.core.text import plural
from commonplace.storage.backup.archive import (
    Manifest,
    digests,
    disk_errors,
    identity,
    make_incremental,
    pack,
)
from commonplace.storage.backup.copies import PostgresServer, copy_everything, servers
from commonplace.storage.backup.last_backup import note_backup

DIRECTORY: Final = "backups"
"""The directory in a home for the backups made before upgrades and restores."""

KEPT: Final = 3
"""The number of backups of each of the two kinds to keep."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BackupReceipt:
    """Contents of a backup.

    Attributes:
        made_at: When the copies were made, in ISO 8601.
        files: The number of other files of the home in the backup.
        workspaces: The directories whose workspace memory is in the backup.
        base: The name of the base of an incremental backup; ``None`` if the backup is complete.
    """

    file: Path
    size_bytes: int
    made_at: str
    databases: tuple[str, ...]
    files: int
    workspaces: tuple[str, ...]
    base: str | None = None

    @classmethod
    def of(cls, file: Path, manifest: Manifest) -> "BackupReceipt":
        """Return the receipt of a file with a manifest."""
        return cls(
            file=file,
            size_bytes=file.stat().st_size,
            made_at=manifest.made_at,
            databases=tuple(manifest.revisions),
            files=len(manifest.files) - len(manifest.revisions) - len(manifest.workspaces),
            workspaces=tuple(manifest.workspaces.values()),
            base=manifest.base[0] if manifest.base else None,
        )

    @property
    def contents(self) -> str:
        """A description of the parts."""
        files = [plural(self.files, "file") + " of the home"]
        words = [*self.databases, *files, *(f"the memories of {each}" for each in self.workspaces)]
        return ", ".join(words) + (f"; incremental since {self.base}" if self.base else "")


async def back_up(
    settings: Settings,
    target: Path,
    *,
    workspaces: Iterable[Path] = (),
    since: Path | None = None,
    makes_parents: bool = False,
) -> BackupReceipt:
    """Copy all memories of a home to one file while the home is in use; verify the file before it gets its name.

    Args:
        settings: The home and its databases.
        target: The file, which must not exist.
        workspaces: The directories whose workspace memory is copied too.
        since: A backup in the same directory; the new backup holds only the changes since then.
        makes_parents: Create missing directories. Without it, they are refused, because a disk may not be mounted.

    Raises:
        InvalidInputError: The file exists, its directory does not, or ``since`` is in another directory.
        NotFoundError: The home has no memories.
        StorageError: A database cannot be read, or the backup cannot be written; nothing is left of it.
    """
    _require_new(target)
    if not makes_parents:
        _require_directory(target.parent)
    if since is not None:
        _require_base(since, target)
    async with servers(settings) as found:
        if not found and not settings.database_path.exists():
            raise NotFoundError("database in", str(settings.home))
        receipt = await _write(settings, found, target, workspaces, since)
    note_backup(settings.home, parse_timestamp(receipt.made_at))
    return receipt


def _require_directory(path: Path) -> None:
    if not path.is_dir():
        raise InvalidInputError(
            "FILE",
            "a directory that exists (if it is on another disk, mount the disk; to create it, add --parents)",
            str(path),
        )


def _require_new(target: Path) -> None:
    if os.path.lexists(target):
        raise InvalidInputError("file", "a path where nothing exists", str(target))


def _require_base(base: Path, target: Path) -> None:
    """Require that a base is a backup and is in the directory where a restore looks for it."""
    if base.absolute().parent.resolve() != target.absolute().parent.resolve():
        raise InvalidInputError(
            "since", f"a backup in the directory of the new one, {target.parent}", str(base)
        )
    with disk_errors(base):
        identity(base)


async def _write(
    settings: Settings,
    found: dict[str, PostgresServer],
    target: Path,
    workspaces: Iterable[Path],
    since: Path | None = None,
) -> BackupReceipt:
    with disk_errors(target):
        make_directories(target.parent)
        staging = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
        try:
            manifest = Manifest(
                made_at=format_timestamp(utc_now(), precision="seconds"),
                release=version("commonplace"),
            )
            revisions, places = await copy_everything(settings, found, workspaces, staging)
            files = await asyncio.to_thread(digests, staging)
            manifest = replace(manifest, files=files, revisions=revisions, workspaces=places)
            base = None
            if since is not None:
                base = staging / ".base"
                manifest = await asyncio.to_thread(make_incremental, staging, manifest, since, base)
            await asyncio.to_thread(pack, staging, manifest, target, base=base)
            return BackupReceipt.of(target, manifest)
        finally:
            shutil.rmtree(staging, ignore_errors=True)


async def back_up_before(settings: Settings, what: str) -> Path:
    """Make a backup in the home, and delete all but the newest few before such an operation.

    Args:
        settings: The home and its databases. A PostgreSQL server with a URL is left out, because its role may not be
            allowed to read everything; its operator makes backups of it.
        what: The upcoming operation, for the name of the file.

    Raises:
        StorageError: The backup cannot be made, so the operation must not proceed.
    """
    moment = format_timestamp(utc_now()).translate(str.maketrans("", "", "-:"))
    target = settings.home / DIRECTORY / f"before-{what}-{moment}.tar.gz"
    async with servers(settings) as found:
        embedded = {name: server for name, server in found.items() if server.admin_url}
        await _write(settings, embedded, target, ())
    made = sorted(target.parent.glob(f"before-{what}-*.tar.gz"))
    for old in made[:-KEPT]:
        old.unlink(missing_ok=True)
    return target
