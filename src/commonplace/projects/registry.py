"""The projects that a home has seen: ``projects.json`` in the home.

The identity of a project is stored with the project. The home stores its readable name, the path where it was last
seen, the project that it was merged into, and the clues by which a person recognises a clone. The home also stores the
identities of projects whose own files cannot be written, and the projects of other devices with which it syncs.
Source: PRJ-01, SYN-10.
"""

from collections.abc import Collection, Generator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from commonplace.core.clock import Clock, utc_now
from commonplace.core.errors import ConflictError, InvalidInputError, NotFoundError, SettingsError
from commonplace.core.settings import LoadedSettings
from commonplace.core.text import clean_text
from commonplace.projects.git_fingerprint import Clues
from commonplace.projects.identity import (
    IN_GIT,
    MAX_NAME_CHARS,
    NAMELESS,
    Identity,
    IdentityLocation,
    is_writable,
    locked,
    plain_name,
)
from commonplace.projects.merges import ProjectMoves
from commonplace.projects.project import DistantProject, Project
from commonplace.projects.registry_file import FILE, RegistryContents, RegistryFile

NOTES: Final = ".aegis"
"""The directory of a workspace that holds its workspace memory."""

SEEN_EVERY_S: Final = 86_400
"""The last visit is stored to the day, so that most visits write nothing."""


class Projects:
    """The projects of one home."""

    def __init__(self, home: Path, *, clock: Clock = utc_now) -> None:
        self._home = home
        self._file = RegistryFile(home / FILE)
        self._clock = clock

    def at(self, directory: Path) -> Project:
        """Return the project of a directory; if there is none, create a project for the whole repository.

        A project that was moved keeps its identity. A copy of a project gets an identity of its own. A clone of a
        project of another device gets the identity of that project, if no project of this home agrees with its clues.

        Raises:
            InvalidInputError: The directory does not exist.
            SettingsError: A file with identities cannot be read.
            StorageUnavailableError: A new identity cannot be written.
        """
        own = IdentityLocation.of(directory)
        place, identities = self._held(own)
        key = place.nearest(identities)
        if key is not None:
            known = self._file.read().projects.get(identities[key].id)
            if known is not None and self._is_current(known, place, key):
                return known
        return self._settle(own, key="")

    def find(self, directory: Path) -> Project | None:
        """Return the project that this home has seen in a directory; ``None`` if there is none.

        Raises:
            SettingsError: A file with identities cannot be read.
        """
        place, identities = self._held(IdentityLocation.of(directory))
        key = place.nearest(identities)
        known = None if key is None else self._file.read().projects.get(identities[key].id)
        return known if known is not None and known.file == place.file else None

    def workspace_of(self, directory: Path) -> Path:
        """Return the workspace of a directory: the nearest directory of its project that has workspace memory.

        If none has any, it is the directory of the project. Outside of a Git repository, and in a repository that is no
        project and has no workspace memory, it is the directory itself.
        """
        own = IdentityLocation.of(directory)
        try:
            place, identities = self._held(own)
        except SettingsError:  # The project's own commands report it; the notes do not depend on it.
            return directory
        key = place.nearest(identities)
        project, start = own.top / (key or ""), own.top / own.inner
        inside = [each for each in (start, *start.parents) if each.is_relative_to(project)]
        noted = next((each for each in inside if (each / NOTES).is_dir()), None)
        return noted or (directory if key is None else project)

    def create(self, directory: Path) -> Project:
        """Return the project of exactly this directory; give the directory its own identity if it has none.

        Raises:
            SettingsError: A file with identities cannot be read.
            StorageUnavailableError: A new identity cannot be written.
        """
        place = IdentityLocation.of(directory)
        return self._settle(place, key=place.inner, exact=True)

    def prepare(self, directory: Path) -> None:
        """Give a directory of a Git repository an identity of its own.

        Outside of Git, the first session does this, because uninstalling must find every file that an installation
        creates.

        Raises:
            SettingsError: A file with identities cannot be read.
            StorageUnavailableError: A new identity cannot be written.
        """
        if IdentityLocation.of(directory).git is not None:
            self.create(directory)

    def butler_at(self, directory: Path) -> str:
        """Return the butler of sessions in a directory: the id of its project, or of the project it was merged into."""
        return self.standing_for(self.at(directory)).id

    def butler_for(self, directory: Path) -> str | None:
        """Return the butler as :meth:`butler_at` does; ``None`` for a directory that is not a project yet."""
        found = self.find(directory)
        return None if found is None else self.standing_for(found).id

    def standing_for(self, project: Project | DistantProject) -> Project | DistantProject:
        """Return the project whose memory a project uses: the project itself, unless it was merged into another one."""
        contents = self._file.read()
        owner = contents.standing_id(project.id)
        if owner == project.id:
            return project
        return contents.by_id(owner) or DistantProject(id=owner, name=owner)

    def merge_of(self, project_id: str) -> str | None:
        """Return the id of the project into which a project was merged; ``None`` if no merge of it holds."""
        return self._file.read().merges().get(project_id)

    def project_moves(self) -> ProjectMoves | None:
        """Return how the memories of this home follow the merges; ``None`` if there are none to follow."""
        return self._file.read().project_moves()

    def note_moves(self, moves: ProjectMoves) -> None:
        """Note that the memories of this home have followed the merges.

        Raises:
            StorageUnavailableError: The file with the projects cannot be written.
        """
        if self._file.read().moves == moves.result:
            return
        with locked(self._file.path, mode=0o700):
            self._file.write(replace(self._file.read(), moves=moves.result))

    def scope_of(self, name: str) -> str:
        """Return the scope of a project by its id or name: its id, or that of the project whose memory it uses.

        For errors see :meth:`owner`.
        """
        return self.standing_for(self.owner(name)).id

    def list_projects(self) -> list[Project]:
        """Return the projects, the most recently seen one first."""
        known = self._file.read().projects.values()
        return sorted(known, key=lambda each: (each.seen_at, each.id), reverse=True)

    def get(self, name: str) -> Project:
        """Return the project with an id, or with a name that only one project has.

        Raises:
            NotFoundError: No project has this id or name.
            InvalidInputError: Several projects have this name; the message lists them.
        """
        return self._file.read().get(name)

    def owner(self, name: str) -> Project | DistantProject:
        """Return the project as :meth:`get` does, or that of another device if no project of this home has the name.

        For errors see :meth:`get`.
        """
        return self._file.read().owner(name)

    def elsewhere(self) -> list[DistantProject]:
        """Return the projects of other devices that this home does not have, by name."""
        return sorted(self._file.read().elsewhere.values(), key=lambda each: (each.name, each.id))

    def clones_of(self, ids: Collection[str]) -> list[tuple[Project, DistantProject]]:
        """Return the clones of these projects of other devices that began before this home knew them."""
        return self._file.read().clones_of(ids)

    def shared(self) -> list[DistantProject]:
        """Return the projects that all devices may know, as they know them, by id.

        These are those of other devices, and those of this home that are not off; also one that is off and was merged.
        """
        return sorted(self._file.read().shared().values(), key=lambda each: each.id)

    def find_clues(self) -> None:
        """Store the clues of Git repositories that had none when their projects began.

        Raises:
            SettingsError: The file with the projects cannot be read.
            StorageUnavailableError: The file with the projects cannot be written.
        """
        clues = {
            each.id: Clues.of(each.file.parent)
            for each in self._file.read().projects.values()
            if each.clues == Clues() and each.file.name == IN_GIT
        }
        if any(each != Clues() for each in clues.values()):
            with locked(self._file.path, mode=0o700):
                self._file.write(self._file.read().with_clues(clues))

    def note_elsewhere(
        self, project: DistantProject, *, seen: DistantProject | None = None
    ) -> DistantProject | None:
        """Note a project of another device, and return the project as :meth:`shared` has it now.

        If this home has the project, the project gets the name and the merge, and keeps its own clues.

        Raises:
            ConflictError: The project is shared neither as it was seen nor as it should be; nothing was written.
        """
        project = replace(project, name=plain_name(project.name))
        with self._changing_shared(project.id, {seen, project}) as contents:
            changed = contents.with_distant(project)
            self._file.write(changed)
        return changed.shared().get(project.id)

    def forget_elsewhere(
        self, project_id: str, *, seen: DistantProject | None = None
    ) -> DistantProject | None:
        """Forget a project of another device, and return the project if it is shared still.

        A project of this home stays, and so does a project whose memory another project uses.

        Raises:
            ConflictError: The project is shared otherwise than it was seen; nothing was written.
        """
        with self._changing_shared(project_id, {seen, None}) as contents:
            changed = contents.without_distant(project_id)
            self._file.write(changed)
        return changed.shared().get(project_id)

    def erase_names(self, ids: Collection[str]) -> None:
        """Erase the names of projects, here and in the files with their identities.

        A project of another device is forgotten, unless another project uses its memory.

        Raises:
            SettingsError: A file with identities cannot be read.
            StorageUnavailableError: A file cannot be written.
        """
        with locked(self._file.path, mode=0o700):
            contents = self._file.read()
            for each in ids:
                if own := contents.projects.get(each):
                    _erase_name(own)
            self._file.write(contents.without_names(ids))

    def rename(self, name: str, new_name: str) -> Project:
        """Change the readable name of a project; its id and its memory stay the same.

        Raises:
            InvalidInputError: The new name is empty or too long.
            NotFoundError: No project has this id or name.
        """
        cleaned = clean_text(new_name).strip()
        if not 0 < len(cleaned) <= MAX_NAME_CHARS:
            raise InvalidInputError("name", f"1 to {MAX_NAME_CHARS} characters", new_name)
        return self._change(self.get(name).id, name=cleaned)

    def switch(self, directory: Path, *, is_off: bool) -> Project:
        """Switch the hooks of hosts off or on in the project of a directory, and return the project.

        For errors see :meth:`at`.
        """
        return self._change(self.at(directory).id, is_off=is_off)

    def set_merged(self, project_id: str, into: str | None) -> Project | DistantProject:
        """Make a project use the memory of another project, or its own memory again; the memories have moved already.

        Raises:
            ConflictError: The other project uses the memory of this project.
            NotFoundError: One of the projects is unknown.
        """
        with locked(self._file.path, mode=0o700):
            contents = self._file.read()
            if contents.by_id(project_id) is None:
                raise NotFoundError("project", project_id)
            if into is not None and contents.standing_id(contents.owner(into).id) == project_id:
                separate = "Separate them before you merge them."
                message = f"The project {into} uses the memory of {project_id}. {separate}"
                raise ConflictError("into", message, into)
            changed = contents.with_merge(project_id, into)
            self._file.write(changed)
            return changed.projects.get(project_id) or changed.elsewhere[project_id]

    def _change(self, project_id: str, **changes: Any) -> Project:  # noqa: ANN401 - fields of Project
        with locked(self._file.path, mode=0o700):
            contents = self._file.read()
            if project_id not in contents.projects:
                raise NotFoundError("project", project_id)
            project = replace(contents.projects[project_id], **changes)
            self._file.write(contents.with_project(project))
            return project

    @contextmanager
    def _changing_shared(
        self, project_id: str, expected: Collection[DistantProject | None]
    ) -> Generator[RegistryContents]:
        """Lock the file, and give its contents if they share a project in one of the expected forms."""
        with locked(self._file.path, mode=0o700):
            contents = self._file.read()
            if contents.shared().get(project_id) not in expected:
                message = f"The project {project_id} has changed on this device since it was last read."
                raise ConflictError("project", message, project_id)
            yield contents

    def _is_current(self, known: Project, place: IdentityLocation, key: str) -> bool:
        age_s = (self._clock() - known.seen_at).total_seconds()
        return known.file == place.file and known.path == place.top / key and abs(age_s) < SEEN_EVERY_S

    def keeps_identity_of(self, project: Project) -> bool:
        """Return whether the home stores a project's identity because the project's own file could not be written."""
        return project.file.is_relative_to(self._home)

    def _held(self, own: IdentityLocation) -> tuple[IdentityLocation, dict[str, Identity]]:
        """Return the identities of a place, and where they are stored: in the place itself or in the home."""
        stand_in = own.kept_in(self._home)
        if kept := stand_in.read():
            return stand_in, kept
        return own, own.read()

    def _settle(self, own: IdentityLocation, *, key: str, exact: bool = False) -> Project:
        """Create a missing identity, distinguish a copy from a move, and record the visit."""
        if not (own.top / own.inner).is_dir():
            raise InvalidInputError("directory", "an existing directory", str(own.top / own.inner))
        with locked(self._file.path, mode=0o700), ExitStack() as stack:
            if writable := is_writable(own.file, mode=0o755):
                stack.enter_context(locked(own.file, mode=0o755))
            place, kept = self._held(own)
            contents = self._file.read()
            copied_from = self._copied_from(own, kept, contents.projects)
            identities = (
                kept if not copied_from else {at: Identity.new(each.name) for at, each in kept.items()}
            )
            nearest = place.nearest(identities)
            if exact and nearest != key:
                nearest = None
            is_new = nearest is None or identities[nearest].id not in contents.projects
            clues = Clues.of(place.git) if is_new and place.git is not None else Clues()
            if nearest is None:
                nearest = key
                identities = identities | {key: _new_identity(place, key, clues, contents)}
            stand_in = own.kept_in(self._home)
            is_own = writable and (place == own or own.read() in ({}, kept))
            if identities != kept or (is_own and place == stand_in):
                place = own if is_own else stand_in
                place.write(identities)
            if is_own:
                stand_in.file.unlink(missing_ok=True)
            project = self._visited(place, nearest, identities[nearest], clues, contents)
            looks_like = dict.fromkeys((*copied_from, *project.looks_like))
            project = replace(project, looks_like=tuple(looks_like))
            self._file.write(contents.with_project(project))
            return project

    def _visited(
        self, place: IdentityLocation, key: str, identity: Identity, clues: Clues, contents: RegistryContents
    ) -> Project:
        """Return the project of a place after a visit."""
        path, now = place.top / key, self._clock()
        if before := contents.projects.get(identity.id):
            return replace(before, path=path, file=place.file, seen_at=now, inner=key)
        distant = contents.elsewhere.get(identity.id)
        project = Project(
            id=identity.id,
            name=identity.name if distant is None else distant.name,
            path=path,
            file=place.file,
            seen_at=now,
            clues=clues if distant is None else distant.clues.completed_by(clues),
            merged_into=None if distant is None else distant.merged_into,
            inner=key,
        )
        return replace(project, looks_like=contents.alike(project))

    def _copied_from(
        self, own: IdentityLocation, identities: Mapping[str, Identity], known: Mapping[str, Project]
    ) -> tuple[str, ...]:
        """Return the ids of a place if it is a copy: another place that still exists has the same ids."""
        stand_in = own.kept_in(self._home).file
        ids = tuple(each.id for each in identities.values())
        for each in ids:
            other = known.get(each)
            if other is None or other.file == stand_in or _is_same_file(other.file, own.file):
                continue
            elsewhere = IdentityLocation(file=other.file, top=other.path, inner="")
            try:
                if each in {identity.id for identity in elsewhere.read().values()}:
                    return ids
            except SettingsError:
                continue
        return ()


def _new_identity(place: IdentityLocation, key: str, clues: Clues, contents: RegistryContents) -> Identity:
    """Return a new identity; for the top of a clone, that of the project of another device."""
    distant = None if key else contents.counterpart(clues)
    if distant is None:
        return Identity.new((place.top / key).name)
    return Identity(id=distant.id, name=distant.name)


def _erase_name(project: Project) -> None:
    """Erase the name of a project in the file with its identity, if there is one."""
    if not project.file.is_file():
        return
    place = IdentityLocation(file=project.file, top=project.path, inner=project.inner)
    with locked(place.file, mode=0o755):
        identities = place.read()
        place.write(
            {
                inner: replace(each, name=NAMELESS) if each.id == project.id else each
                for inner, each in identities.items()
            }
        )


def _is_same_file(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:
        return False


def with_workspace(loaded: LoadedSettings, directory: Path | None = None) -> LoadedSettings:
    """Return the settings, with the workspace of a directory, by default the current one, if they name no workspace."""
    settings = loaded.settings
    if loaded.origins["workspace"] != "default":
        return loaded
    workspace = Projects(settings.home).workspace_of(directory or settings.workspace)
    return replace(loaded, settings=settings.model_copy(update={"workspace": workspace}))
