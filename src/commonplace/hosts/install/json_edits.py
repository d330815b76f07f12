"""Parts of a host's JSON settings that commonplace adds to and removes from a document.

Other entries stay unchanged and in place. Entries of commonplace are recognised by their command (``… hook
session-start``, ``… mcp workspace``), so that an installation at another path or from an earlier release is replaced
and removed in the same way. Only :func:`remove_containers` removes empty objects and lists, because a document does
not show who created them.
"""

import shlex
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Protocol, cast

from commonplace.core.errors import SettingsError
from commonplace.hosts.install.json_text import Keys

Document = dict[str, Any]

SERVERS: Final[Mapping[str, Sequence[str]]] = {"workspace": (), "knowledge": ("--project",)}
"""The MCP servers, with the options of their commands."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ours:
    """The commands of an installation.

    Attributes:
        command: The command that runs ``commonplace``: an absolute path and arguments.
        hook_options: The options of every hook.
        server_options: The options of servers, if they differ from :data:`SERVERS`.
    """

    command: Sequence[str]
    hook_options: Sequence[str] = ()
    server_options: Mapping[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])

    def server(self, server: str) -> list[str]:
        """Return the command of an MCP server."""
        return [*self.command, "mcp", server, *self.server_options.get(server, SERVERS[server])]

    def hook(self, argument: str) -> list[str]:
        """Return the command of a hook."""
        return [*self.command, "hook", argument, *self.hook_options]


@dataclass(frozen=True, slots=True, kw_only=True)
class HookEvent:
    """An event of a host: the argument of its hook, its timeout in the host's unit, and its matcher."""

    argument: str
    timeout: int
    matcher: str | None = None


class SettingsPart(Protocol):
    """A part of a settings file."""

    @property
    def containers(self) -> Sequence[Keys]:
        """The objects and lists that hold entries of commonplace, outer ones first."""
        ...

    def add(self, document: Document, ours: Ours) -> None:
        """Add the part to a document.

        Raises:
            SettingsError: A value has another type, or a foreign entry has a name of commonplace.
        """
        ...

    def remove(self, document: Document, words: Collection[str]) -> None:
        """Remove the part from a document; of its words, remove only the given ones."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Servers:
    """The MCP servers: entries of an object.

    Attributes:
        key: The key of the object.
        entry: Returns the entry of a server from its command.
    """

    key: str
    entry: Callable[[list[str]], Document]

    @property
    def containers(self) -> Sequence[Keys]:
        """The object."""
        return [(self.key,)]

    def add(self, document: Document, ours: Ours) -> None:
        """Add both servers; the user's additions to their entries stay."""
        servers = _inner(document, self.key, dict)
        for server in SERVERS:
            key = server_key(server)
            entry = servers.get(key)
            if entry is not None and not is_server(entry, server):
                raise SettingsError(
                    f"{self.key}.{key}: expected nothing or an earlier installation, got {entry!r}"
                )
            servers[key] = {**(entry or {}), **self.entry(ours.server(server))}

    def remove(self, document: Document, words: Collection[str]) -> None:
        """Remove the servers."""
        del words
        servers = _at(document, (self.key,))
        for server in SERVERS:
            if isinstance(servers, dict) and is_server(servers.get(server_key(server)), server):
                del servers[server_key(server)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Hooks:
    """The hooks for the events of a session; ``hooks`` has a list for each event.

    Attributes:
        events: The host's events.
        handler: Returns a handler for a command and a timeout.
        grouped: Whether the list has groups, each with a matcher and handlers; otherwise it has handlers.
    """

    events: Mapping[str, HookEvent]
    handler: Callable[[list[str], int], Document]
    grouped: bool = True

    @property
    def containers(self) -> Sequence[Keys]:
        """``hooks``, and the list of each event."""
        return [("hooks",), *(("hooks", event) for event in self.events)]

    def add(self, document: Document, ours: Ours) -> None:
        """Add one hook for each event."""
        hooks = _inner(document, "hooks", dict)
        for event, calls in self.events.items():
            groups = _inner(hooks, event, list)
            wanted = self._group(calls, ours)
            if [group for group in groups if _is_touched(group, calls)] != [wanted]:
                hooks[event] = [*_without_ours(groups, calls), wanted]

    def remove(self, document: Document, words: Collection[str]) -> None:
        """Remove the hooks."""
        del words
        for event, calls in self.events.items():
            groups = _at(document, ("hooks", event))
            if isinstance(groups, list):
                groups[:] = _without_ours(groups, calls)

    def _group(self, calls: HookEvent, ours: Ours) -> Document:
        handler = self.handler(ours.hook(calls.argument), calls.timeout)
        if not self.grouped:
            return handler
        return {**({"matcher": calls.matcher} if calls.matcher else {}), "hooks": [handler]}


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """Texts in a list, such as permissions; only a note distinguishes them from the user's own texts.

    Attributes:
        keys: The path of the list.
        words: The texts.
    """

    keys: Keys
    words: Sequence[str]

    @property
    def containers(self) -> Sequence[Keys]:
        """The list, and the objects around it."""
        return [self.keys[: depth + 1] for depth in range(len(self.keys))]

    def add(self, document: Document, ours: Ours) -> None:
        """Add the texts after the existing ones."""
        del ours
        inner: Any = document
        for key in self.keys[:-1]:
            inner = _inner(inner, key, dict)
        listed = _inner(inner, self.keys[-1], list)
        listed += [word for word in self.words if word not in listed]

    def remove(self, document: Document, words: Collection[str]) -> None:
        """Remove the given texts."""
        listed = self.listed(document)
        listed[:] = [word for word in listed if word not in words]

    def listed(self, document: Document) -> list[Any]:
        """Return the list in a document; an empty list if it is missing."""
        found = _at(document, self.keys)
        return found if isinstance(found, list) else []


def server_key(server: str) -> str:
    """Return the name of a server; its tools are called ``mcp__commonplace-workspace__…`` and so on."""
    return f"commonplace-{server}"


def server_keys() -> list[str]:
    """Return the names of the servers."""
    return [server_key(server) for server in SERVERS]


def is_server(entry: object, server: str) -> bool:
    """Return whether an entry runs one of our servers."""
    return isinstance(entry, dict) and _calls(_arguments(cast("Document", entry)), "mcp", server)


def present_words(document: Document, parts: Sequence[SettingsPart]) -> list[str]:
    """Return the words of the parts that occur anywhere in the document's lists."""
    lists = [part for part in parts if isinstance(part, Words)]
    return [word for part in lists for word in part.words if word in part.listed(document)]


def containers(document: Document, parts: Sequence[SettingsPart]) -> list[Keys]:
    """Return the containers of the parts that exist in the document, outer ones first."""
    return [keys for part in parts for keys in part.containers if _at(document, keys) is not None]


def remove_containers(document: Document, parts: Sequence[SettingsPart], which: Collection[Keys]) -> None:
    """Remove the given objects and lists that are empty, inner ones first."""
    for keys in [keys for part in reversed(parts) for keys in reversed(part.containers)]:
        outer = _at(document, keys[:-1])
        if keys in which and isinstance(outer, dict) and outer.get(keys[-1]) in ({}, []):
            del outer[keys[-1]]


def _at(document: Document, keys: Keys) -> Document | list[Any] | None:
    """Return the object or list at a path, or ``None``."""
    found: Any = document
    for key in keys:
        found = cast("Document", found).get(key) if isinstance(found, dict) else None
    return cast("Document | list[Any]", found) if isinstance(found, (dict, list)) else None


def _is_ours(handler: object, calls: HookEvent) -> bool:
    return isinstance(handler, dict) and _calls(_arguments(cast("Document", handler)), "hook", calls.argument)


def _calls(arguments: list[Any], *command: str) -> bool:
    return any(tuple(arguments[place : place + 2]) == command for place in range(len(arguments)))


def _arguments(entry: Document) -> list[Any]:
    """Return the words of an entry's command line if it runs commonplace, otherwise no words."""
    arguments, command = entry.get("args"), entry.get("command")
    if isinstance(arguments, list):
        words = [command, *cast("list[Any]", arguments)]
    elif isinstance(command, list):
        words = cast("list[Any]", command)
    else:
        try:
            words = shlex.split(command) if isinstance(command, str) else []
        except ValueError:
            return []
    program = words[0] if words else None
    runs = isinstance(program, str) and (
        Path(program).name == "commonplace" or words[1:3] == ["-m", "commonplace"]
    )
    return words if runs else []


def _handlers(group: object) -> list[Any] | None:
    """Return the handlers of a group; ``None`` for a handler that is not in a group."""
    if not isinstance(group, dict):
        return []
    handlers = cast("Document", group).get("hooks")
    return cast("list[Any]", handlers) if isinstance(handlers, list) else None


def _is_touched(group: object, calls: HookEvent) -> bool:
    handlers = _handlers(group)
    return any(_is_ours(handler, calls) for handler in ([group] if handlers is None else handlers))


def _without_ours(groups: list[Any], calls: HookEvent) -> list[Any]:
    kept: list[Any] = []
    for group in groups:
        if not _is_touched(group, calls):
            kept.append(group)
        elif others := [handler for handler in _handlers(group) or () if not _is_ours(handler, calls)]:
            kept.append({**group, "hooks": others})
    return kept


def _inner(document: Document, key: str, kind: Callable[[], Any]) -> Any:  # noqa: ANN401 - of the kind
    """Return the value of a key, created if missing; refuse a value of another type."""
    value = document.setdefault(key, kind())
    if not isinstance(value, type(kind())):
        expected = "an object" if kind is dict else "a list"
        raise SettingsError(f"{key}: expected {expected}, got {value!r}")
    return value
