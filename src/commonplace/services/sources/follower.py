"""The follower: it stores the new texts of a source, replaces the changed ones, and retires the deleted ones.

A memory belongs to a source if its metadata names the source. A memory that a person confirmed, edited or forgot here
stays as the person left it.

Source: FOL-01.
"""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from difflib import SequenceMatcher
from enum import StrEnum
from typing import Any, Final, cast
from uuid import UUID

from commonplace.core.digests import digest_of
from commonplace.core.errors import (
    CommonplaceError,
    ConflictError,
    InvalidInputError,
    NotFoundError,
    SecretRefusedError,
    StorageUnavailableError,
)
from commonplace.core.sources import Source as Trust
from commonplace.core.sources import least_trusted
from commonplace.knowledge import (
    GLOBAL_SCOPE,
    MAX_KEY_CHARS,
    EpisodeDraft,
    EpisodeReceipt,
    Fact,
    FactDraft,
    KnowledgeMemory,
    MemoryType,
    Rule,
    RuleDraft,
    short_id,
)
from commonplace.projects import Projects
from commonplace.services.sources.files import SourceFile, files_of, read_file
from commonplace.services.sources.records import FileRecord, SourceRecord
from commonplace.services.sources.registry import (
    LOCK_TIMEOUT_S,
    FollowedSource,
    SourceBusyError,
    SourceRegistry,
)
from commonplace.services.transfer.importers import ImportSource
from commonplace.services.transfer.items import Unreadable

ORIGIN: Final = "followed"
"""The field of the metadata of a memory that names its source and file."""

LEAST_ALIKE: Final = 0.5
"""The likeness from which a new text takes the place of a deleted one of the same file."""

MOST_COMPARISONS: Final = 2_500
"""If more pairs of texts would be compared, only texts of one key are: the file is another one."""

MOST_IMPORTANCE: Final = 4.0
"""The importance of a fact from a source is at most this, so that a folder of notes does not crowd a briefing."""

Draft = FactDraft | RuleDraft | EpisodeDraft


@dataclass(frozen=True, slots=True, kw_only=True)
class _Stored:
    """A stored memory: whether it is the source's, and whether it replaced the memory that it was to replace."""

    kind: MemoryType
    id: UUID
    is_own: bool
    replaces: bool = False


class SourceChange(StrEnum):
    """The outcome for one text of a source."""

    NEW = "new"
    CHANGED = "changed"
    RETIRED = "retired"
    KNOWN = "known"
    """The memory was there already, and does not belong to the source."""
    KEPT = "kept"
    """The text was deleted, and the memory stays, because a person confirmed it."""
    UNREADABLE = "unreadable"


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceLine:
    """One line of a report.

    Attributes:
        file: The file, relative to the source.
        text: The text of the memory, or why it could not be read.
        memory_id: The short id of the memory; empty in a preview, and where there is none.
    """

    change: SourceChange
    file: str
    text: str
    memory_id: str = ""


@dataclass(slots=True)
class _FileContent:
    """The memories in a file.

    Attributes:
        drafts: Its memories, by the digest of their text.
        problems: A line for each part that cannot be read.
        is_whole: Whether no text is lost to these.
    """

    drafts: dict[str, Draft] = field(default_factory=dict[str, Draft])
    problems: list[SourceLine] = field(default_factory=list[SourceLine])
    is_whole: bool = True


class SourceFollower:
    """Reads the sources of a home into knowledge memory."""

    def __init__(self, registry: SourceRegistry, knowledge: KnowledgeMemory) -> None:
        self._registry = registry
        self._knowledge = knowledge

    async def preview(self, source: FollowedSource) -> list[SourceLine]:
        """Return what the first reading of a source would store, without storing anything.

        Raises:
            StorageError: A file cannot be listed.
        """
        lines: list[SourceLine] = []
        for file in await asyncio.to_thread(files_of, source.kind, source.path):
            reading = await asyncio.to_thread(self._read, source, file)
            lines += reading.problems
            lines += [
                SourceLine(change=SourceChange.NEW, file=file.name, text=each.content)
                for each in reading.drafts.values()
            ]
        return lines

    async def follow_all(
        self, *, scope: str | None = None, wait_s: float = LOCK_TIMEOUT_S
    ) -> list[SourceLine]:
        """Read all sources that are not paused, and return what changed.

        A source that cannot be read is one line of the report; one that another process reads the whole time is left
        to it.

        Args:
            scope: Only the sources of this scope and the global ones; ``None`` for all.
            wait_s: How long to wait for another process.
        """
        lines: list[SourceLine] = []
        for source in self._registry.list():
            if source.is_paused or (scope is not None and self._scope(source) not in {scope, GLOBAL_SCOPE}):
                continue
            try:
                lines += await self.follow(source, wait_s=wait_s, paused=False)
            except SourceBusyError:
                continue
            except CommonplaceError as error:
                lines.append(
                    SourceLine(change=SourceChange.UNREADABLE, file=str(source.path), text=str(error))
                )
        return lines

    async def follow(
        self, source: FollowedSource, *, wait_s: float = LOCK_TIMEOUT_S, paused: bool = True
    ) -> list[SourceLine]:
        """Read the files of a source that changed since the last reading, and return what that changed.

        A source that was removed meanwhile is not read.

        Args:
            source: The source.
            wait_s: How long to wait for another process that reads it.
            paused: Whether it is read if it was paused meanwhile.

        Raises:
            SourceBusyError: Another process reads it the whole time.
            StorageError: A memory cannot be read or written. What was stored stays, and a repetition goes on.
        """
        async with self._registry.reading(source, wait_s=wait_s):
            try:
                current = self._registry.get(source.id)
            except NotFoundError:
                return []
            return [] if current.is_paused and not paused else await self._follow(current)

    async def remove(self, source: FollowedSource, *, keep: bool = False) -> list[SourceLine]:
        """Stop following a source, and retire its memories unless they are kept; return what that changed.

        Episodes stay until they expire.

        Raises:
            StorageError: A memory cannot be read or written.
        """
        lines: list[SourceLine] = []
        async with self._registry.reading(source):
            for each in () if keep else self._registry.record_of(source):
                for memory_id in each.memories.values():
                    lines += await self._retire(source, each.file, memory_id)
            self._registry.remove(source)
        return lines

    async def _follow(self, source: FollowedSource) -> list[SourceLine]:
        record = await asyncio.to_thread(self._registry.record_of, source)
        files = {each.name: each for each in await asyncio.to_thread(files_of, source.kind, source.path)}
        if len(record) and not files:
            raise StorageUnavailableError(f"{source.path} holds nothing to read: is its disk mounted?")
        source = replace(source, scope=self._scope(source))
        lines: list[SourceLine] = []
        deleted = {each.file: None for each in record if each.file not in files}
        for name, file in {**files, **deleted}.items():
            own = record.of(name)
            if file is None or file.stamp != own.stamp or _includes(source):
                before = replace(own, memories=dict(own.memories))
                try:
                    lines += await self._follow_file(source, record, own, file)
                finally:
                    if own != before:
                        await asyncio.to_thread(record.save, own)
        if lines or source.read_at is None:
            await asyncio.to_thread(record.tidy)
            self._registry.set_read(source)
        return lines

    async def _follow_file(
        self, source: FollowedSource, record: SourceRecord, own: FileRecord, file: SourceFile | None
    ) -> list[SourceLine]:
        """Bring the memories of one file up to date; ``None`` is a file that was deleted.

        Of a file that cannot be read in part, no text counts as deleted. What cannot be read is reported when the file
        was changed, not at each reading.
        """
        reading = _FileContent() if file is None else await asyncio.to_thread(self._read, source, file)
        lines = [] if file is not None and file.stamp == own.stamp else list(reading.problems)
        fresh = {
            digest: draft
            for digest, draft in reading.drafts.items()
            if digest not in own.memories and not record.has_elsewhere(digest, own.file)
        }
        deleted = [digest for digest in own.memories if digest not in reading.drafts]
        memories = {digest: await self._own(source, own.memories[digest]) for digest in deleted}
        olds = {digest: memory for digest, memory in memories.items() if memory is not None}
        pairs = await asyncio.to_thread(_pairs, fresh, olds)
        for digest, draft in fresh.items():
            old = olds.get(pairs.get(digest, ""))
            line, own.memories[digest] = await self._store(source, record, own, draft, old)
            lines.append(line)
            if old is not None and line.change is SourceChange.CHANGED:
                del own.memories[pairs[digest]]
        for digest in deleted if reading.is_whole else ():
            lines += await self._retire(source, own.file, own.memories.pop(digest, ""))
        own.stamp = file.stamp if file is not None and (reading.is_whole or reading.drafts) else []
        return lines

    async def _store(
        self,
        source: FollowedSource,
        record: SourceRecord,
        own: FileRecord,
        draft: Draft,
        old: Fact | Rule | None,
    ) -> tuple[SourceLine, str]:
        """Store a draft, perhaps in place of a memory; return a line, and the id if the memory is the source's."""
        try:
            stored = await self._stored(source, _with_own_key(draft, record, own.file), old)
        except (InvalidInputError, SecretRefusedError) as error:
            return SourceLine(change=SourceChange.UNREADABLE, file=own.file, text=str(error)), ""
        change = SourceChange.NEW if stored.is_own else SourceChange.KNOWN
        line = SourceLine(
            change=SourceChange.CHANGED if stored.replaces else change,
            file=own.file,
            text=draft.content,
            memory_id=short_id(stored.kind, stored.id),
        )
        return line, f"{stored.kind}:{stored.id}" if stored.is_own else ""

    async def _stored(self, source: FollowedSource, draft: Draft, old: Fact | Rule | None) -> _Stored:
        match draft:
            case EpisodeDraft():
                (episode,) = await self._knowledge.store_episodes([draft])
                return _Stored(kind=MemoryType.EPISODE, id=_stored_id(episode), is_own=True)
            case FactDraft():
                return await self._stored_fact(source, draft, old)
            case RuleDraft():
                if old is None:
                    (rule,) = await self._knowledge.store_rules([draft])
                else:
                    rule = await self._knowledge.store_rule(**_fields(draft), replaces=old.id)
                is_own = not rule.repeated or await self._own(source, f"rule:{rule.id}") is not None
                replaces = old is not None and rule.superseded_id == old.id
                return _Stored(kind=MemoryType.RULE, id=rule.id, is_own=is_own, replaces=replaces)

    async def _stored_fact(
        self, source: FollowedSource, draft: FactDraft, old: Fact | Rule | None
    ) -> _Stored:
        """Store a fact; a fact that repeats somebody else's is not the source's."""
        if old is None:
            (fact,) = await self._knowledge.store_facts([draft])
        else:
            fact = await self._knowledge.store_fact(**_fields(draft), replaces=old.id)
        is_own = True
        if old is None and fact.superseded_id is not None and fact.superseded_text == draft.content:
            origin = (await self._knowledge.read("fact", fact.superseded_id)).metadata.get(ORIGIN)
            is_own = cast("Mapping[str, object]", origin or {}).get("source") == source.id
        replaces = old is not None and fact.superseded_id == old.id
        return _Stored(kind=MemoryType.FACT, id=fact.id, is_own=is_own, replaces=replaces)

    async def _own(self, source: FollowedSource, memory_id: str) -> Fact | Rule | None:
        """Return a memory of a source that is still current; ``None`` if a person replaced or forgot it."""
        kind, _, id_ = memory_id.partition(":")
        if kind not in {"fact", "rule"}:
            return None
        try:
            memory = await self._knowledge.read(kind, id_)
        except NotFoundError:
            return None
        if not isinstance(memory, Fact | Rule) or not memory.is_current:
            return None
        origin = cast("Mapping[str, object]", memory.metadata.get(ORIGIN, {}))
        return memory if origin.get("source") == source.id else None

    def _scope(self, source: FollowedSource) -> str:
        """Return the scope of a source: of a project that was merged, that of the other project."""
        projects = Projects(self._knowledge.database.settings.home)
        with suppress(NotFoundError):
            return projects.scope_of(source.scope)
        return source.scope

    def _read(self, source: FollowedSource, file: SourceFile) -> _FileContent:
        """Return the drafts of a file, and what of it cannot be read."""
        reading = _FileContent()
        for item in read_file(source.kind, file, self._knowledge.database.settings.zone):
            if isinstance(item, Unreadable):
                text = item.reason if item.place == file.name else f"{item.place}: {item.reason}"
                line = SourceLine(change=SourceChange.UNREADABLE, file=file.name, text=text)
                reading.problems.append(line)
                reading.is_whole &= item.keeps_text
            elif isinstance(item, FactDraft | RuleDraft | EpisodeDraft):
                draft = _placed(item, source, file)
                reading.drafts.setdefault(_digest(draft), draft)
        return reading

    async def _retire(self, source: FollowedSource, name: str, memory_id: str) -> list[SourceLine]:
        """Forget a memory whose text was deleted, unless a person confirmed it; return a line if it is there."""
        memory = await self._own(source, memory_id)
        if memory is None:
            return []
        change = SourceChange.KEPT if memory.trust is Trust.PERSON else SourceChange.RETIRED
        if change is SourceChange.RETIRED:
            with suppress(NotFoundError, ConflictError):
                await self._knowledge.forget(memory.memory_type, memory.id)
        named = short_id(memory.memory_type, memory.id)
        return [SourceLine(change=change, file=name, text=memory.content, memory_id=named)]


def _includes(source: FollowedSource) -> bool:
    """Return whether the files of a source include others, whose changes their own time does not show."""
    return source.kind is ImportSource.INSTRUCTIONS


def _placed(draft: Draft, source: FollowedSource, file: SourceFile) -> Draft:
    """Return a draft with its origin, the trust of an import at most, and the scope of its source."""
    origin = {"source": source.id, "path": str(file.path), "file": file.name}
    metadata = {**(draft.metadata or {}), ORIGIN: origin}
    trust = least_trusted(Trust.IMPORT, draft.source)
    if isinstance(draft, EpisodeDraft):
        return replace(draft, metadata=metadata, source=trust, butler=source.scope)
    dated = draft.last_confirmed_at or file.modified_at
    placed = replace(draft, metadata=metadata, source=trust, scope=source.scope, last_confirmed_at=dated)
    if isinstance(placed, RuleDraft):
        return placed
    return replace(placed, entity_id=None, importance=min(placed.importance, MOST_IMPORTANCE))


def _pairs(fresh: Mapping[str, Draft], olds: Mapping[str, Fact | Rule]) -> dict[str, str]:
    """Return the digest of the old text that each new text replaces: the one of its key, else the most alike one."""
    is_small = len(fresh) * len(olds) <= MOST_COMPARISONS
    scored = [
        (likeness, digest, old)
        for digest, draft in fresh.items()
        for old, memory in olds.items()
        if (likeness := _likeness(draft, memory, by_words=is_small)) >= LEAST_ALIKE
    ]
    pairs: dict[str, str] = {}
    for _, digest, old in sorted(scored, reverse=True):
        if digest not in pairs and old not in pairs.values():
            pairs[digest] = old
    return pairs


def _likeness(draft: Draft, memory: Fact | Rule, *, by_words: bool) -> float:
    if isinstance(draft, FactDraft) and isinstance(memory, Fact):
        if (draft.subject, draft.predicate) == (memory.subject, memory.predicate):
            return 1.0
    elif not (isinstance(draft, RuleDraft) and isinstance(memory, Rule)):
        return 0.0
    return 0.0 if not by_words else SequenceMatcher(None, draft.content, memory.content).ratio()


def _with_own_key(draft: Draft, record: SourceRecord, file: str) -> Draft:
    """Return a draft; a fact whose key belongs to another file gets the name of its own behind its predicate.

    Two notes of one title would replace each other's facts otherwise.
    """
    if not isinstance(draft, FactDraft) or record.owner_of_key(draft.subject, draft.predicate, file) == file:
        return draft
    return replace(draft, predicate=f"{draft.predicate} in {file}"[:MAX_KEY_CHARS])


def _digest(draft: Draft) -> str:
    key = f"{draft.subject}\0{draft.predicate}\0" if isinstance(draft, FactDraft) else ""
    return digest_of(f"{type(draft).__name__}\0{key}{draft.content}")


def _fields(draft: FactDraft | RuleDraft) -> dict[str, Any]:
    """Return the fields of a draft that the storage of a single memory takes."""
    return {
        each.name: getattr(draft, each.name) for each in fields(draft) if each.name != "last_confirmed_at"
    }


def _stored_id(receipt: EpisodeReceipt) -> UUID:
    """Return the id of a stored episode.

    Raises:
        StorageUnavailableError: It was not stored.
    """
    if receipt.id is None:
        raise StorageUnavailableError(receipt.reason)
    return receipt.id
