"""Conversations with ChatGPT and Claude: ``conversations.json`` of an export of all data.

A conversation becomes one or more episodes with its date: the turns of the person and of the assistant, of the branch
that was seen last. Messages of the system and of tools, and images, are left out.
"""

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Final, cast
from uuid import NAMESPACE_URL, uuid5

from commonplace.core.errors import InvalidInputError
from commonplace.core.text import clean_text, is_blank, trim_to
from commonplace.knowledge import EpisodeDraft
from commonplace.services.transfer.items import Read, Unreadable
from commonplace.services.transfer.jsonl import read_document
from commonplace.services.transfer.said import said_at

SCOPE: Final = "conversations"
MAX_CHARS: Final = 6_000
"""The maximum number of characters of an episode; a longer conversation is several episodes."""
_FILES: Final = "conversations*.json"
_SPEAKERS: Final = {"user": "User", "human": "User", "assistant": "Assistant"}
_TEXTS: Final = ("text", "multimodal_text")
_CITATION: Final = re.compile("\ue200[^\ue200\ue201]*\ue201")
"""The mark of a source in a text of ChatGPT."""
_BETWEEN: Final = "\n\n"

_Object = Mapping[str, Any]


def read(path: Path) -> Read:
    """Yield the episodes of an export, a file or its folder; a conversation without turns is unreadable."""
    for file in files_of(path) if path.is_dir() else [path]:
        try:
            conversations = _conversations(read_document(file))
        except InvalidInputError as error:
            yield Unreadable(place=file.name, reason=str(error))
            continue
        for number, conversation in enumerate(conversations, start=1):
            try:
                yield from _episodes(conversation)
            except InvalidInputError as error:
                yield Unreadable(place=f"conversation {number}", reason=str(error))


def files_of(folder: Path) -> list[Path]:
    """Return the files with conversations in the folder of an export, in order."""
    return sorted(path for path in folder.glob(_FILES) if path.is_file())


def is_export(document: object) -> bool:
    """Return whether a JSON value is a list of conversations, or one conversation."""
    try:
        conversations = _conversations(document)
    except InvalidInputError:
        return False
    return any(
        isinstance(each, dict) and not each.keys().isdisjoint({"mapping", "chat_messages"})
        for each in conversations
    )


def _conversations(document: object) -> list[Any]:
    if isinstance(document, dict):
        fields = cast("_Object", document)
        document = fields.get("conversations", [fields])
    if not isinstance(document, list):
        raise InvalidInputError("file", "a list of conversations", document)
    return cast("list[Any]", document)


def _episodes(conversation: object) -> Iterator[EpisodeDraft]:
    if not isinstance(conversation, dict):
        raise InvalidInputError("conversation", "an object", conversation)
    fields = cast("_Object", conversation)
    messages = _claude(fields) if "chat_messages" in fields else _branch(fields)
    turns = [(turn, message) for message in messages if (turn := _turn(message))]
    if not turns:
        raise InvalidInputError("conversation", "messages of a person or an assistant", None)
    first = turns[0][1]
    moment = said_at(*(each.get(name) for each in (fields, first) for name in ("create_time", "created_at")))
    title = fields.get("title") or fields.get("name")
    metadata = {"source": SCOPE} | ({"title": title} if isinstance(title, str) and title.strip() else {})
    session_id = uuid5(NAMESPACE_URL, _identifier(fields, moment, turns[0][0]))
    for content in _parts([turn for turn, _ in turns]):
        yield EpisodeDraft(
            content=content, butler=SCOPE, session_id=session_id, created_at=moment, metadata=metadata
        )


def _identifier(conversation: _Object, moment: datetime | None, first: str) -> str:
    """Return the id of a conversation; its date and its first turn if it has none."""
    identifiers = (conversation.get(name) for name in ("conversation_id", "id", "uuid"))
    return clean_text(
        next((each for each in identifiers if isinstance(each, str) and each), f"{moment} {first}")
    )


def _branch(conversation: _Object) -> list[_Object]:
    """Return the messages of ChatGPT from the first one to the current one, or to the last one without children."""
    nodes = conversation.get("mapping")
    if not isinstance(nodes, dict):
        raise InvalidInputError("mapping", "an object with messages", nodes)
    mapping = {key: _object(node) for key, node in cast("dict[str, object]", nodes).items()}
    messages: list[_Object] = []
    key: object = conversation.get("current_node")
    if not isinstance(key, str) or key not in mapping:
        key = next((name for name in reversed(mapping) if not mapping[name].get("children")), None)
    while isinstance(key, str) and key in mapping:
        node = mapping.pop(key)  # A node that is its own ancestor is read once.
        messages.append(_object(node.get("message")))
        key = node.get("parent")
    return messages[::-1]


def _object(value: object) -> _Object:
    """Return an object, or an empty one for any other value."""
    return cast("_Object", value) if isinstance(value, dict) else {}


def _claude(conversation: _Object) -> list[_Object]:
    messages = conversation["chat_messages"]
    if not isinstance(messages, list):
        raise InvalidInputError("chat_messages", "a list of messages", messages)
    return [_object(each) for each in cast("list[object]", messages)]


def _turn(message: _Object) -> str | None:
    """Return a message with its speaker; ``None`` for one that nobody said to the other."""
    speaker = _object(message.get("author")).get("role", message.get("sender"))
    if not isinstance(speaker, str) or speaker not in _SPEAKERS or _is_hidden(message):
        return None
    text = clean_text(_CITATION.sub("", "\n".join(_texts(message)))).strip()
    return None if is_blank(text) else trim_to(f"{_SPEAKERS[speaker]}: {text}", MAX_CHARS)


def _is_hidden(message: _Object) -> bool:
    """Return whether a message of ChatGPT was for a tool, or never shown."""
    metadata = _object(message.get("metadata"))
    is_for_tool = message.get("recipient") not in (None, "all")
    return is_for_tool or bool(metadata.get("is_visually_hidden_from_conversation"))


def _texts(message: _Object) -> list[str]:
    """Return the texts of a message, without images, thoughts and calls of tools."""
    content = message.get("content")
    if isinstance(content, dict):
        fields = _object(cast("object", content))
        parts = fields.get("parts") if fields.get("content_type", "text") in _TEXTS else None
        return _strings(parts)
    blocks = [_object(block) for block in cast("list[object]", content)] if isinstance(content, list) else []
    written = _strings([block.get("text") for block in blocks if block.get("type") == "text"])
    return written or _strings([message.get("text")])


def _strings(values: object) -> list[str]:
    """Return the texts of a list that are not blank; an empty list for any other value."""
    listed = cast("list[object]", values) if isinstance(values, list) else []
    return [each for each in listed if isinstance(each, str) and each.strip()]


def _parts(turns: list[str]) -> Iterator[str]:
    """Yield the turns in texts of at most 6,000 characters, cut between turns."""
    part: list[str] = []
    length = 0
    for turn in turns:
        if part and length + len(_BETWEEN) + len(turn) > MAX_CHARS:
            yield _BETWEEN.join(part)
            part, length = [], 0
        length += len(turn) + (len(_BETWEEN) if part else 0)
        part.append(turn)
    yield _BETWEEN.join(part)
