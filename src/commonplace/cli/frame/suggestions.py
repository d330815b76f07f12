"""Suggestions for a word that is no command: the nearest commands, the command for a synonym, or ``show`` for an id."""

from collections.abc import Collection, Mapping
from difflib import get_close_matches
from typing import Final

from commonplace.core.errors import InvalidInputError

SYNONYMS: Final[Mapping[str, str]] = {
    "ask": "know",
    "find": "know",
    "search": "know",
    "recall": "know",
    "who": "know",
    "what": "know",
    "ls": "list",
    "get": "show",
    "view": "show",
    "log": "history",
    "timeline": "history",
    "diff": "history",
    "inbox": "review",
    "pending": "review",
    "why": "context --why",
    "explain": "context --why",
    "remember": "add",
    "store": "add",
    "save": "add",
    "create": "add",
    "new": "add",
    "correct": "edit",
    "change": "edit",
    "update": "edit",
    "fix": "edit",
    "keep": "confirm",
    "delete": "forget",
    "remove": "forget",
    "rm": "forget",
    "revert": "undo",
    "purge": "erase",
    "wipe": "erase",
    "connect": "install",
    "setup": "install",
    "enable": "install",
    "disable": "uninstall",
    "disconnect": "uninstall",
    "off": "uninstall",
    "dump": "export",
    "health": "doctor",
    "status": "doctor",
    "check": "doctor",
    "settings": "config show",
    "dashboard": "serve",
    "start": "serve",
    "ui": "serve",
    "version": "--version",
    "clock": "admin clock",
    "trust": "admin trust",
    "plugin": "admin plugin",
    "host": "admin host",
    "partitions": "admin partitions",
    "energy": "admin energy",
    "dead-letters": "admin dead-letters",
}
"""Words that people type for a command of the top level."""

_MOST: Final = 3
_MOST_LISTED: Final = 8


def unknown_command(word: str, names: Collection[str], *, top_level: Collection[str], in_group: bool) -> str:
    """Return the error for a word that is no command of a group, with the commands that may have been meant.

    Args:
        word: The word.
        names: The commands of the group.
        top_level: The commands of the top level.
        in_group: Whether the group is below the top level; commands of the top level are then named in full.
    """
    nearest = _nearest(word, names, in_group=in_group) or _at_top(word, top_level if in_group else ())
    hint = ""
    if nearest:
        hint = f" Did you mean {' or '.join(nearest)}?"
    elif in_group and len(names) <= _MOST_LISTED:
        hint = f" Expected one of {', '.join(names)}."
    return f"No such command {word!r}.{hint}"


def _nearest(word: str, names: Collection[str], *, in_group: bool) -> list[str]:
    if not in_group and _is_id(word):
        return [f"show {word}"]
    beginning = [name for name in names if name.startswith(word)]
    close = beginning or get_close_matches(word, names, n=_MOST)
    if close or in_group:
        return close[:_MOST]
    return [SYNONYMS[word.lower()]] if word.lower() in SYNONYMS else []


def _at_top(word: str, names: Collection[str]) -> list[str]:
    command = word if word in names else SYNONYMS.get(word)
    return [] if command is None else [f"commonplace {command}"]


def _is_id(word: str) -> bool:
    from commonplace.services.memory_ids import parse_memory_id  # noqa: PLC0415 - only a wrong command needs it

    try:
        parse_memory_id(word)
    except InvalidInputError:
        return False
    return True
