"""Following a source: what is new in its files is stored, what changed is replaced, and what went is retired.

A memory belongs to a source if its metadata names the source. A memory that a person confirmed, edited or forgot here
stays as the person left it.

Source: FOL-01.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from difflib import SequenceMatcher
from enum import StrEnum
from hashlib import blake2b
from typing import Any, Final, cast
from uuid import UUID

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
from commonplace.services.sources.registry import (
    LOCK_TIMEOUT_S,
    FileRecord,
    FollowedSource,
    SourceBusyError,
    SourceRecord,
    SourceRegistry,
)
from commonplace.services.transfer.importers import ImportSource
from commonplace.services.transfer.items import Unreadable

ORIGIN: Final = "followed"
"""The field of the metadata of a memory that names its source, file and heading."""

LEAST_ALIKE: Final = 0.5
"""The likeness from which a new text takes the place of one that went from the same file."""

_DIGEST_BYTES: Final = 12

MOST_COMPARISONS: Final = 2_500

Draft = FactDraft | RuleDraft | EpisodeDraft


@dataclass(frozen=True, slots=True, kw_only=True)
class _Stored:
    """A stored memory: whether it is the source's, and whether it replaced the memory that it was to replace."""

    kind: MemoryType
    id: UUID
    is_own: bool
    replaces: bool = False


class SourceChange(StrEnum):
    """What a reading did with one text of a source."""

    NEW = "new"
    CHANGED = "changed"
    RETIRED = "retired"
    KNOWN = "known"
    """The memory was there already, and does not belong to the source."""
    KEPT = "kept"
    """The text went from its file, and the memory stays, because a person confirmed it."""
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
            drafts, broken = await asyncio.to_thread(self._drafts, source, file)
            lines += broken
            lines += [
                SourceLine(change=SourceChange.NEW, file=file.name, text=each.content)
                for each in drafts.values()
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
            record = {} if keep else self._registry.read_record(source)
            for each in record.values():
                for memory_id in each.memories.values():
                    lines += await self._retire(source, each.file, memory_id)
            self._registry.remove(source)
        return lines

    async def _follow(self, source: FollowedSource) -> list[SourceLine]:
        record = self._registry.read_record(source)
        files = {each.name: each for each in await asyncio.to_thread(files_of, source.kind, source.path)}
        if record and not files:
            raise StorageUnavailableError(f"{source.path} holds nothing to read: is its disk mounted?")
        source = replace(source, scope=self._scope(source))
        lines: list[SourceLine] = []
        for name in [*files, *(record.keys() - files.keys())]:
            file, before = files.get(name), record.setdefault(name, FileRecord(file=name))
            if file is not None and file.stamp == before.stamp and not _includes(source):
                continue
            try:
                lines += await self._follow_file(source, record, before, file)
            finally:
                await asyncio.to_thread(self._registry.write_record, source, record)
        if lines or source.read_at is None:
            self._registry.set_read(source)
        return lines

    async def _follow_file(
        self, source: FollowedSource, record: SourceRecord, own: FileRecord, file: SourceFile | None
    ) -> list[SourceLine]:
        """Bring the memories of one file up to date; ``None`` is a file that was deleted.

        Of a file that cannot be read in part, no text counts as deleted.
        """
        drafts, lines = ({}, []) if file is None else await asyncio.to_thread(self._drafts, source, file)
        is_whole = not lines
        elsewhere = {digest for each in record.values() if each is not own for digest in each.memories}
        fresh = {digest: draft for digest, draft in drafts.items() if digest not in own.memories}
        gone = [digest for digest in own.memories if digest not in drafts]
        memories = {digest: await self._own(source, own.memories[digest]) for digest in gone}
        olds = {digest: memory for digest, memory in memories.items() if memory is not None}
        pairs = await asyncio.to_thread(_pairs, fresh, olds)
        for digest, draft in fresh.items():
            if digest in elsewhere and digest not in pairs:
                continue
            old = olds.get(pairs.get(digest, ""))
            line, own.memories[digest] = await self._store(source, record, own, draft, old)
            lines.append(line)
            if old is not None and line.change is SourceChange.CHANGED:
                del own.memories[pairs[digest]], olds[pairs[digest]]
        for digest in gone if is_whole else ():
            lines += await self._retire(source, own.file, own.memories.pop(digest, ""))
        own.stamp = file.stamp if file is not None and (is_whole or drafts) else []
        if file is None and not own.memories:
            del record[own.file]
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
            stored = await self._stored(source, _with_own_key(draft, record, own), old)
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
            return projects.standing_for(projects.get(source.scope)).id
        return source.scope

    def _drafts(self, source: FollowedSource, file: SourceFile) -> tuple[dict[str, Draft], list[SourceLine]]:
        """Return the drafts of a file by the digest of their texts, and a line for each part that cannot be read."""
        drafts: dict[str, Draft] = {}
        lines: list[SourceLine] = []
        for item in read_file(source.kind, file, self._knowledge.database.settings.zone):
            if isinstance(item, Unreadable):
                text = f"{item.place}: {item.reason}"
                lines.append(SourceLine(change=SourceChange.UNREADABLE, file=file.name, text=text))
            elif isinstance(item, FactDraft | RuleDraft | EpisodeDraft):
                draft = _placed(item, source, file)
                drafts.setdefault(_digest(draft), draft)
        return drafts, lines

    async def _retire(self, source: FollowedSource, name: str, memory_id: str) -> list[SourceLine]:
        """Forget a memory whose text went, unless a person confirmed it; return a line if the memory is there."""
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
    return replace(placed, entity_id=None) if isinstance(placed, FactDraft) else placed


def _pairs(fresh: Mapping[str, Draft], olds: Mapping[str, Fact | Rule]) -> dict[str, str]:
    """Return the digest of the old text that each new text replaces: the one of its key, else the most alike one.

    In a file that is new from top to bottom, only texts of one key are compared.
    """
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


def _with_own_key(draft: Draft, record: SourceRecord, own: FileRecord) -> Draft:
    """Return a draft; a fact whose key another file of the source has gets the name of its file behind its predicate.

    Two notes of one title would replace each other's facts otherwise.
    """
    if not isinstance(draft, FactDraft):
        return draft
    key = _hash(f"{draft.subject}\0{draft.predicate}")
    if any(key in each.keys for each in record.values() if each is not own):
        return replace(draft, predicate=f"{draft.predicate} in {own.file}"[:MAX_KEY_CHARS])
    if key not in own.keys:
        own.keys.append(key)
    return draft


def _digest(draft: Draft) -> str:
    key = f"{draft.subject}\0{draft.predicate}\0" if isinstance(draft, FactDraft) else ""
    return _hash(f"{type(draft).__name__}\0{key}{draft.content}")


def _hash(text: str) -> str:
    return blake2b(text.encode(errors="surrogatepass"), digest_size=_DIGEST_BYTES).hexdigest()


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


def summary(lines: Iterable[SourceLine]) -> dict[SourceChange, int]:
    """Return the number of lines of each change."""
    found: Sequence[SourceLine] = list(lines)
    return {change: sum(line.change is change for line in found) for change in SourceChange}
