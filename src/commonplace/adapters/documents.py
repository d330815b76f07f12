"""Texts with a folder and a name, kept as facts of knowledge memory in a scope of their own.

A document is the active fact of its scope, folder (the subject) and name (the predicate). So a new text supersedes the
old one and the chain of the fact is the history of the document; searches find documents; a deleted document is a
forgotten fact. A mark in the metadata sets documents apart from other facts of the scope.
"""

from collections.abc import Mapping
from datetime import datetime
from itertools import count
from typing import Any, Final

from commonplace.core.errors import InvalidInputError
from commonplace.knowledge import (
    MAX_LIMIT,
    Fact,
    FactCriteria,
    FactDraft,
    KnowledgeMemory,
    MemoryType,
    Narrowing,
    Permanence,
    Validity,
)

MAX_NAME_CHARS: Final = 256
_MARK: Final = "is_document"


class Documents:
    """The documents of a scope.

    Args:
        memory: An open memory.
        scope: The scope of the facts, 1 to 100 characters. An agent whose name is the scope gets them in its block.
    """

    def __init__(self, memory: KnowledgeMemory, *, scope: str) -> None:
        self._memory = memory
        self._scope = scope

    def now(self) -> datetime:
        """Return the current time of the memory's clock."""
        return self._memory.clock()

    async def get(self, folder: str, name: str) -> Fact | None:
        """Return a document, or ``None`` if it does not exist."""
        found = await self.list_documents(folder=folder, name=name)
        return found[0] if found else None

    async def put(
        self,
        folder: str,
        name: str,
        text: str,
        *,
        metadata: Mapping[str, Any] | None = None,
        allow_secrets: bool = False,
    ) -> None:
        """Store a document, or a new version of it.

        Raises:
            InvalidInputError: The folder or name is empty, longer than 256 characters, or has whitespace at its ends;
                or the text is blank or too long.
            SecretRefusedError: The text looks like a secret, and ``allow_secrets`` is not set.
        """
        for field, value in (("folder", folder), ("name", name)):
            if not 1 <= len(value) <= MAX_NAME_CHARS or value != value.strip():
                form = f"1 to {MAX_NAME_CHARS} characters without whitespace at the ends"
                raise InvalidInputError(field, form, value)
        document = FactDraft(
            subject=folder,
            predicate=name,
            content=text,
            scope=self._scope,
            permanence=Permanence.PERMANENT,
            metadata={**(metadata or {}), _MARK: True},
        )
        # Several facts at once are stored word for word: no period is read, and "tomorrow" gets no date.
        await self._memory.store_facts([document], allow_secrets=allow_secrets)

    async def delete(self, document: Fact) -> None:
        """Forget a document; its history stays for the audit trail."""
        await self._memory.forget(MemoryType.FACT, document.id)

    async def touch(self, document: Fact) -> None:
        """Set the time of a document's last confirmation to now."""
        await self._memory.confirm(MemoryType.FACT, document.id)

    async def list_documents(self, *, folder: str | None = None, name: str | None = None) -> list[Fact]:
        """Return the documents, of one folder or name or of all, the newest first."""
        found: list[Fact] = []
        for offset in count(step=MAX_LIMIT):
            page = await self._memory.lists.facts(
                validity=Validity.ACTIVE,
                narrowing=Narrowing(scope=self._scope),
                criteria=FactCriteria(subject=folder, predicate=name),
                limit=MAX_LIMIT,
                offset=offset,
            )
            found += filter(_is_document, page)
            if len(page) < MAX_LIMIT:
                break
        return found

    async def versions(self, document: Fact) -> list[Fact]:
        """Return the versions of a document, the newest first."""
        return [each for each in await self._memory.history.chain(document.id) if _is_document(each)]

    async def search(self, query: str) -> list[tuple[Fact, float | None]]:
        """Return the documents that match a query with their scores, the best first, at most 1,000."""
        found = await self._memory.search(
            query,
            types=[MemoryType.FACT],
            narrowing=Narrowing(scope=self._scope),
            limit=MAX_LIMIT,
            fold=False,
        )
        return [
            (each.memory, each.scores.rrf_score)
            for each in found
            if isinstance(each.memory, Fact)
            and each.memory.scope == self._scope
            and _is_document(each.memory)
        ]


def _is_document(fact: Fact) -> bool:
    return fact.metadata.get(_MARK) is True
