"""Files of sync under ``/api/v1/sync``: what devices of a person leave for each other. The service cannot read them."""

import asyncio
from base64 import b64decode, b64encode
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

from fastapi import Depends, Query, Request
from pydantic import Field

from commonplace.core.errors import ConflictError
from commonplace.services.sync.carriers.carrier import NAME
from commonplace.services.sync.carriers.folder import FolderCarrier
from commonplace.web.http.access import at_once, caller_of, memories, reader, writer
from commonplace.web.http.problems import REFUSED, STATE_CONFLICT, TOO_LARGE
from commonplace.web.http.shape import RequestShape, Shape
from commonplace.web.rest.api import Api

if TYPE_CHECKING:
    from commonplace.access import Principal

FOLDER: Final = "sync-files"
"""The folder of the home with the files of each tenant."""

OF_TENANT: Final = "tenant-"
"""Before the id of a tenant, which may be two dots."""

MOST_BYTES: Final = 1_000_000_000
"""The most that a tenant may leave here."""

FileName = Annotated[str, Field(pattern=f"^{NAME.pattern}$", max_length=200)]
Base64 = Annotated[str, Field(pattern="^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$")]

api = Api("/api/v1/sync", "sync", REFUSED)


def files_of(request: Request) -> "SyncFiles":
    """Return the files of the caller's tenant.

    Raises:
        ProblemError: The caller is unknown: 401.
    """
    who: Principal = caller_of(request).principal
    home = memories(request).knowledge.database.settings.home
    return SyncFiles(home / FOLDER / f"{OF_TENANT}{who.tenant_id}")


class SyncFiles:
    """The files of one tenant. Names are checked by the routes, so that none leaves the folder.

    Args:
        folder: It is made with the first file.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._carrier = FolderCarrier(folder)

    async def names(self) -> list[str]:
        """Return the names of all files."""
        return sorted(await asyncio.to_thread(self._carrier.names))

    async def get(self, name: str) -> bytes | None:
        """Return a file."""
        return await asyncio.to_thread(self._carrier.get, name)

    async def put(self, name: str, body: bytes) -> None:
        """Write a file, unless one with these bytes is there.

        Raises:
            ConflictError: Another file has the name, or the tenant has too many bytes; nothing was written.
        """
        await asyncio.to_thread(self._put, name, body)

    async def delete(self, name: str) -> None:
        """Delete a file, if it is there."""
        await asyncio.to_thread(self._carrier.delete, name)

    def _put(self, name: str, body: bytes) -> None:
        there = self._carrier.get(name)
        if there == body:
            return
        if there is not None:
            raise ConflictError("name", "Another file has this name.", name)
        used = sum(path.stat().st_size for path in self._folder.rglob("*") if path.is_file())
        if used + len(body) > MOST_BYTES:
            raise ConflictError("content", f"The files of sync may have {MOST_BYTES:,} bytes together.", name)
        self._carrier.put(name, body)


FilesOfCaller = Annotated[SyncFiles, Depends(at_once(files_of))]


class SyncNamesShape(Shape):
    """The names of files.

    Attributes:
        names: all names, in order
    """

    names: list[str]


class SyncFileShape(Shape):
    """A file.

    Attributes:
        name: its name
        content: its bytes in Base64; null if it is not there
    """

    name: str
    content: str | None


class NewSyncFile(RequestShape):
    """A file to write.

    Attributes:
        name: one or two parts of lower-case letters, digits, dots and hyphens
        content: its bytes in Base64
    """

    name: FileName
    content: Base64


class UnwantedSyncFile(RequestShape):
    """A file to delete.

    Attributes:
        name: its name
    """

    name: FileName


@api("GET /files", reader, "The names")
async def list_sync_files(files: FilesOfCaller) -> SyncNamesShape:
    """List the files that the devices of this tenant left here."""
    return SyncNamesShape(names=await files.names())


@api("GET /file", reader, "The file")
async def get_sync_file(files: FilesOfCaller, name: Annotated[FileName, Query()]) -> SyncFileShape:
    """Get a file.

    Parameters:
        name: its name
    """
    body = await files.get(name)
    return SyncFileShape(name=name, content=None if body is None else b64encode(body).decode())


@api("POST /file", writer, "The name", STATE_CONFLICT, TOO_LARGE)
async def put_sync_file(files: FilesOfCaller, wanted: NewSyncFile) -> SyncFileShape:
    """Write a file, unless it is there already.

    The answer repeats the name, without the content.

    Parameters:
        body: the file
    """
    await files.put(wanted.name, b64decode(wanted.content))
    return SyncFileShape(name=wanted.name, content=None)


@api("POST /file/delete", writer, "The name")
async def delete_sync_file(files: FilesOfCaller, wanted: UnwantedSyncFile) -> SyncFileShape:
    """Delete a file, if it is there.

    Parameters:
        body: the file
    """
    await files.delete(wanted.name)
    return SyncFileShape(name=wanted.name, content=None)
