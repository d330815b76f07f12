"""The context of a model: the block of memories, and the conversation in focus."""

from dataclasses import dataclass
from enum import StrEnum

from commonplace.apps.model.apps import App
from commonplace.apps.model.conversations import Conversation, Message, SystemMessage
from commonplace.apps.model.memories import Digest


class InjectionPoint(StrEnum):
    """The place where memories enter a model's context."""

    UNANSWERED = "unanswered"
    REVIEW = "review"
    SELECTION = "selection"


@dataclass(frozen=True, slots=True, kw_only=True)
class Focus:
    """The input of a model at an injection point.

    Attributes:
        conversations: The conversation in focus, or the candidates for a selection.
        memories: The memories in the block, newest first.
        messages: The block as a system message, if it is not empty, then the messages of the conversation in focus.
    """

    point: InjectionPoint
    app: App
    conversations: tuple[Conversation, ...]
    memories: tuple[Digest, ...]
    messages: tuple[SystemMessage | Message, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryContext:
    """A block and the memories in it, newest first; the text is empty if there are no memories."""

    text: str
    memories: tuple[Digest, ...]
