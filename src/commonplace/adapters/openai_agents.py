"""A session of the OpenAI Agents SDK on knowledge memory: the items of a conversation, and its episode.

An item is a document: the session is the folder, and the name sorts by time. See :mod:`.documents`.
"""

import json
import time
from typing import TYPE_CHECKING, Any, Final, cast
from uuid import NAMESPACE_URL, uuid4, uuid5

from agents.memory import SessionSettings
from agents.memory.session import SessionABC

from commonplace.adapters.documents import Documents
from commonplace.core.secrets import mask_secrets, masked_excerpt
from commonplace.knowledge import EpisodeReceipt, Fact, KnowledgeMemory

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agents.items import TResponseInputItem

SCOPE: Final = "openai-agents"
EPISODE_CHARS: Final = 4_000


class CommonplaceSession(SessionABC):
    """A persistent conversation; pass it as ``session`` to ``Runner.run``.

    Secrets in the texts of items are masked before they are stored.

    Args:
        session_id: The id of the conversation, 1 to 256 characters.
        memory: An open memory; its tenant owns the conversation.
        scope: The scope of the items. Sessions of different scopes share nothing.
        session_settings: The default limit of :meth:`get_items`.
    """

    def __init__(
        self,
        session_id: str,
        memory: KnowledgeMemory,
        *,
        scope: str = SCOPE,
        session_settings: SessionSettings | None = None,
    ) -> None:
        self.session_id = session_id
        self.session_settings: SessionSettings | None = session_settings
        self._memory = memory
        self._documents = Documents(memory, scope=scope)

    async def get_items(self, limit: int | None = None) -> "list[TResponseInputItem]":
        """Return the items in their order: all of them, or the last ones if there is a limit."""
        most = self.session_settings.limit if limit is None and self.session_settings else limit
        stored = await self._stored()
        if most is not None:
            stored = stored[-most:] if most > 0 else []
        return [json.loads(each.content) for each in stored]

    async def add_items(self, items: "list[TResponseInputItem]") -> None:
        """Append items."""
        moment = time.time_ns()
        for number, item in enumerate(items):
            text = json.dumps(_masked(item), ensure_ascii=False)
            name = f"{moment:020d} {number:06d} {uuid4().hex[:8]}"
            # The texts are masked, so anything that still looks like a secret is a mask whose key suggests one.
            await self._documents.put(self.session_id, name, text, allow_secrets=True)

    async def pop_item(self) -> "TResponseInputItem | None":
        """Remove the last item and return it; ``None`` if there is none."""
        stored = await self._stored()
        if not stored:
            return None
        await self._documents.delete(stored[-1])
        return json.loads(stored[-1].content)

    async def clear_session(self) -> None:
        """Remove all items."""
        for each in await self._stored():
            await self._documents.delete(each)

    async def store_episode(self, butler: str) -> EpisodeReceipt:
        """Store the conversation so far as an episode of an agent, which consolidation turns into facts and rules.

        Args:
            butler: The agent whose session it was.
        """
        said = (_said(item) for item in await self.get_items())
        return await self._memory.store_episode(
            content=masked_excerpt("\n".join(line for line in said if line), EPISODE_CHARS),
            butler=butler,
            session_id=uuid5(NAMESPACE_URL, self.session_id),
        )

    async def _stored(self) -> list[Fact]:
        return sorted(
            await self._documents.list_documents(folder=self.session_id), key=lambda each: each.predicate
        )


def _masked(value: object) -> object:
    """Return JSON with the secrets in its texts masked."""
    match value:
        case str():
            return mask_secrets(value)
        case dict():
            return {key: _masked(item) for key, item in cast("dict[str, object]", value).items()}
        case list() | tuple():
            return [_masked(item) for item in cast("Iterable[object]", value)]
        case _:
            return value


def _said(item: "TResponseInputItem") -> str:
    """Return the line of a message in an episode; empty for other items."""
    message = cast("dict[str, Any]", item)
    speaker = {"user": "Asked", "assistant": "Answered"}.get(message.get("role", ""))
    content: str | list[dict[str, Any]] | None = message.get("content")
    parts: list[dict[str, Any]] = content if isinstance(content, list) else [{"text": content}]
    text = " ".join(str(part["text"]) for part in parts if part.get("text"))
    return f"{speaker}: {text}" if speaker and text else ""
