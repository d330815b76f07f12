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
    EpisodeDraft,
    EpisodeReceipt,
    Fact,
    FactDraft,
    KnowledgeMemory,
    Rule,
    RuleDraft,
    short_id,
)
from commonplace.services.sources.files import SourceFile, files_of, read_file
from commonplace.services.sources.registry import (
    LOCK_TIMEOUT_S,
    FollowedSource,
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

Draft = FactDraft | RuleDraft | EpisodeDraft


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

        A source that cannot be read is one line of the report.

        Args:
            scope: Only the sources of this scope and the global ones; ``None`` for all.
            wait_s: How long to wait for another process that reads a source.
        """
        lines: list[SourceLine] = []
        for source in self._registry.list():
            if source.is_paused or (scope is not None and source.scope not in {scope, GLOBAL_SCOPE}):
                continue
            try:
                lines += await self.follow(source, wait_s=wait_s)
            except CommonplaceError as error:
                lines.append(
                    SourceLine(change=SourceChange.UNREADABLE, file=str(source.path), text=str(error))
                )
        return lines

    async def follow(self, source: FollowedSource, *, wait_s: float = LOCK_TIMEOUT_S) -> list[SourceLine]:
        """Read the files of a source that changed since the last reading, and return what that changed.

        Args:
            source: The source.
            wait_s: How long to wait for another process that reads it.

        Raises:
            StorageError: A memory cannot be read or written. What was stored stays, and a repetition goes on.
        """
        with self._registry.following(source, timeout_s=wait_s):
            record = self._registry.read_record(source)
            files = {each.name: each for each in await asyncio.to_thread(files_of, source.kind, source.path)}
            lines: list[SourceLine] = []
            for name in [*files, *(record.memories.keys() - files.keys())]:
                file = files.get(name)
                if file is not None and file.stamp == record.stamps.get(name) and not _includes(source):
                    continue
                lines += await self._follow_file(source, record, name, file)
                self._registry.write_record(source, record)
            if lines or source.read_at is None:
                self._registry.update(replace(source, read_at=self._knowledge.clock()))
        return lines

    async def remove(self, source: FollowedSource, *, keep: bool = False) -> list[SourceLine]:
        """Stop following a source, and retire its memories unless they are kept; return what that changed.

        Raises:
            StorageError: A memory cannot be read or written.
        """
        lines: list[SourceLine] = []
        with self._registry.following(source):
            record = self._registry.read_record(source)
            files = {} if keep else record.memories
            for name, memory_id in [(name, each) for name, held in files.items() for each in held.values()]:
                lines += await self._retire(source, name, memory_id)
            self._registry.remove(source)
        return lines

    async def _follow_file(
        self, source: FollowedSource, record: SourceRecord, name: str, file: SourceFile | None
    ) -> list[SourceLine]:
        """Bring the memories of one file up to date; ``None`` is a file that went."""
        drafts, lines = ({}, []) if file is None else await asyncio.to_thread(self._drafts, source, file)
        held = record.memories.get(name, {})
        gone = {digest: memory_id for digest, memory_id in held.items() if digest not in drafts}
        before = {memory_id: await self._own(source, memory_id) for memory_id in gone.values() if memory_id}
        replaced = _pairs(
            {digest: draft for digest, draft in drafts.items() if digest not in held},
            {memory_id: memory for memory_id, memory in before.items() if memory is not None},
        )
        now = {digest: memory_id for digest, memory_id in held.items() if digest in drafts}
        for digest, draft in drafts.items():
            if digest not in held:
                line, now[digest] = await self._store(source, name, draft, replaced.get(digest))
                lines.append(line)
        for memory_id in set(before) - set(replaced.values()):
            lines += await self._retire(source, name, memory_id)
        record.memories[name] = now
        record.stamps[name] = [] if file is None else file.stamp
        if file is None:
            del record.memories[name], record.stamps[name]
        return lines

    async def _store(
        self, source: FollowedSource, name: str, draft: Draft, replaces: str | None
    ) -> tuple[SourceLine, str]:
        """Store a draft, perhaps in place of a memory; return a line, and the id if the memory is the source's."""
        try:
            kind, id_, is_own = await self._stored(source, draft, replaces)
        except (InvalidInputError, SecretRefusedError) as error:
            return SourceLine(change=SourceChange.UNREADABLE, file=name, text=str(error)), ""
        change = SourceChange.NEW if is_own else SourceChange.KNOWN
        line = SourceLine(
            change=change if replaces is None else SourceChange.CHANGED,
            file=name,
            text=draft.content,
            memory_id=short_id(kind, id_),
        )
        return line, f"{kind}:{id_}" if is_own else ""

    async def _stored(
        self, source: FollowedSource, draft: Draft, replaces: str | None
    ) -> tuple[Any, UUID, bool]:
        """Store a draft; return kind and id of its memory, and whether the memory is the source's."""
        target = None if replaces is None else replaces.partition(":")[2]
        match draft:
            case EpisodeDraft():
                (receipt,) = await self._knowledge.store_episodes([draft])
                return "episode", _stored_id(receipt), True
            case FactDraft() if target is None:
                (fact,) = await self._knowledge.store_facts([draft])
                return "fact", fact.id, True
            case FactDraft():
                fact = await self._knowledge.store_fact(**_fields(draft), replaces=target)
                return "fact", fact.id, True
            case RuleDraft():
                if target is None:
                    (rule,) = await self._knowledge.store_rules([draft])
                else:
                    rule = await self._knowledge.store_rule(**_fields(draft), replaces=target)
                is_own = not rule.repeated or await self._own(source, f"rule:{rule.id}") is not None
                return "rule", rule.id, is_own

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


def _pairs(fresh: dict[str, Draft], gone: dict[str, Fact | Rule]) -> dict[str, str]:
    """Return the memory that each new text replaces, by digest: the one of its key, else the most alike one."""
    scored = [
        (likeness, digest, memory_id)
        for digest, draft in fresh.items()
        for memory_id, memory in gone.items()
        if (likeness := _likeness(draft, memory)) >= LEAST_ALIKE
    ]
    pairs: dict[str, str] = {}
    for _, digest, memory_id in sorted(scored, reverse=True):
        if digest not in pairs and memory_id not in pairs.values():
            pairs[digest] = memory_id
    return pairs


def _likeness(draft: Draft, memory: Fact | Rule) -> float:
    if isinstance(draft, FactDraft) and isinstance(memory, Fact):
        if (draft.subject, draft.predicate) == (memory.subject, memory.predicate):
            return 1.0
    elif not (isinstance(draft, RuleDraft) and isinstance(memory, Rule)):
        return 0.0
    return SequenceMatcher(None, draft.content, memory.content).ratio()


def _digest(draft: Draft) -> str:
    key = f"{draft.subject}\0{draft.predicate}\0" if isinstance(draft, FactDraft) else ""
    text = f"{type(draft).__name__}\0{key}{draft.content}"
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
