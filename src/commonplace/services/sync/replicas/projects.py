"""Projects: their ids are the same on every device, so that a clone has the memories of the project."""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from commonplace.projects import Clues, DistantProject, Projects, is_project_id
from commonplace.services.sync.changes import Fields
from commonplace.services.sync.erasures import Key
from commonplace.services.sync.kinds import SyncKind
from commonplace.services.sync.replica import MemoryWrite, Written, fingerprint_of, write_each


class ProjectsReplica:
    """The projects of a home, and those of other devices that it has noted.

    Directories stay on their device, and so do projects that are off.

    Args:
        home: The home.
    """

    def __init__(self, home: Path) -> None:
        self._projects = Projects(home)

    async def read(self) -> Mapping[Key, Fields]:
        """Return the fields of all projects."""
        return await asyncio.to_thread(self._read)

    async def fingerprint(self) -> str:
        """Return a digest of all projects."""
        return fingerprint_of(await self.read())

    async def forgotten(self, keys: Collection[Key]) -> Collection[Key]:
        """Return nothing: a project leaves nothing behind."""
        del keys
        return ()

    async def vectors(self, keys: Collection[Key]) -> Mapping[Key, Fields]:
        """Return nothing: a project has no text."""
        del keys
        return {}

    async def write(self, page: Sequence[MemoryWrite]) -> Sequence[Written]:
        """Note projects of other devices or rename those of this home, and return what they show now.

        A deletion forgets a project of another device; one of this home stays.
        """
        return await write_each(page, self._write_one)

    async def _write_one(self, project: MemoryWrite) -> Fields | None:
        return await asyncio.to_thread(self._write, project.key[1], project.fields, project.seen)

    async def erase(self, keys: Collection[Key]) -> None:
        """Erase the names of projects; one of another device is forgotten."""
        ids = [name for kind, name in keys if kind is SyncKind.PROJECT]
        if ids:
            await asyncio.to_thread(self._projects.erase_names, ids)

    def _read(self) -> Mapping[Key, Fields]:
        self._projects.find_clues()
        return {(SyncKind.PROJECT, each.id): _fields(each) for each in self._projects.shared()}

    def _write(self, project_id: str, fields: Fields | None, seen: Fields | None) -> Fields | None:
        before = None if seen is None else _project(project_id, seen)
        if fields is None:
            now = self._projects.forget_elsewhere(project_id, seen=before)
        else:
            now = self._projects.note_elsewhere(_project(project_id, fields), seen=before)
        return None if now is None else _fields(now)


def _fields(project: DistantProject) -> Fields:
    return {
        "name": project.name,
        "remote": project.clues.remote,
        "root_commit": project.clues.root_commit,
        "merged_into": project.merged_into,
    }


def _project(project_id: str, fields: Fields) -> DistantProject:
    clues = Clues(remote=fields.get("remote"), root_commit=fields.get("root_commit"))
    target = fields.get("merged_into")
    return DistantProject(
        id=project_id,
        name=str(fields.get("name") or ""),
        clues=clues,
        merged_into=target if isinstance(target, str) and is_project_id(target) else None,
    )
