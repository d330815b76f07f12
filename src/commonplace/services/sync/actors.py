"""The actor of a change that came from another device, in the history of a memory."""

from typing import Final

ACTOR: Final = "sync"
"""The actor of what sync writes, with the name of the device from which it came."""

_PREFIX: Final = f"{ACTOR}:"
_WORDS: Final = "device "


def actor_of_device(name: str) -> str:
    """Return the actor of the changes of a device, such as ``sync:laptop``."""
    return f"{_PREFIX}{name}"


def actor_in_words(actor: str) -> str:
    """Return an actor for people: ``device laptop`` for ``sync:laptop``, and every other actor as it is."""
    name = actor.removeprefix(_PREFIX)
    return f"{_WORDS}{name}" if name and name != actor else actor


def actor_from_words(words: str) -> str:
    """Return the actor that :func:`actor_in_words` shows as some words."""
    name = words.removeprefix(_WORDS)
    return actor_of_device(name) if name and name != words else words
