"""Parts of a host's JSON settings that commonplace adds to and removes from a document.

Other entries stay unchanged and in place. Entries of commonplace are recognised by their command (``… hook
session-start``, ``… mcp all``), so that an installation at another path or from an earlier release is replaced and
removed in the same way. Only :func:`remove_containers` removes empty objects and lists, because a document does
not show who created them.
"""

import shlex
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol, cast

from commonplace.core.errors import SettingsError
from commonplace.hosts.install.json_text import Keys
from commonplace.mcp.protocol.profiles import Profile

Document = dict[str, Any]

SERVER: Final = "commonplace"
"""The name of the MCP server in settings; its tools are called ``mcp__commonplace__…`` and so on."""

EARLIER: Final[Mapping[str, str]] = {
    "commonplace-workspace": "workspace",
    "commonplace-knowledge": "knowledge",
}
"""The servers of earlier installations by their names, which an installation replaces and a removal removes.

Installations write absolute paths; an entry that runs ``commonplace`` from the PATH was written by hand and stays.
"""

OF_PROJECT: Final = ("--project",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ours:
    """The commands of an installation.

    Attributes:
        command: The command that runs ``commonplace``: an absolute path and arguments.
        hook_options: The options of every hook.
        server_options: The options of the server beside its profile.
        profile: The tools that the server shows.
    """

    command: Sequence[str]
    hook_options: Sequence[str] = ()
    server_options: Sequence[str] = OF_PROJECT
    profile: Profile = Profile.AGENT

    @property
    def server(self) -> list[str]:
        """The command of the MCP server."""
        return [*self.command, "mcp", "all", "--profile", self.profile, *self.server_options]

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
    """The MCP server: an entry of an object.

    Attributes:
        key: The key of the object.
        entry: Returns the entry of the server from its command.
    """

    key: str
    entry: Callable[[list[str]], Document]

    @property
    def containers(self) -> Sequence[Keys]:
        """The object."""
        return [(self.key,)]

    def add(self, document: Document, ours: Ours) -> None:
        """Add the server in place of earlier ones; what the user added to their entries stays."""
        servers = _inner(document, self.key, dict)
        refuse_foreign(servers, self.key)
        additions = additions_of(servers)
        for key in our_servers(servers):
            if key != SERVER:
                del servers[key]
        servers[SERVER] = {**additions, **self.entry(ours.server)}

    def remove(self, document: Document, words: Collection[str]) -> None:
        """Remove the server and earlier ones."""
        del words
        servers = _at(document, (self.key,))
        if isinstance(servers, dict):
            for key in our_servers(servers):
                del servers[key]


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
        earlier: The texts of earlier installations.
    """

    keys: Keys
    words: Sequence[str]
    earlier: Sequence[str] = ()

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


def our_servers(servers: Mapping[str, object]) -> list[str]:
    """Return the names of our servers among the entries of settings, those of earlier installations first."""
    earlier = [
        key for key, command in EARLIER.items() if _is_server(servers.get(key), command, by_installation=True)
    ]
    return [*earlier, *([SERVER] if _is_server(servers.get(SERVER), "all") else [])]


def refuse_foreign(servers: Mapping[str, object], where: str) -> None:
    """Refuse settings in which somebody else's server has our name.

    Raises:
        SettingsError: There is such a server.
    """
    if SERVER in servers and SERVER not in our_servers(servers):
        got = servers[SERVER]
        raise SettingsError(f"{where}.{SERVER}: expected nothing or an earlier installation, got {got!r}")


def additions_of(servers: Mapping[str, object]) -> Document:
    """Return the values of the entries of our servers, such as variables that the user added; the latest ones win."""
    additions: Document = {}
    for key in our_servers(servers):
        additions |= cast("Document", servers[key])
    return additions


def _is_server(entry: object, command: str, *, by_installation: bool = False) -> bool:
    words = _arguments(cast("Document", entry)) if isinstance(entry, dict) else []
    return _calls(words, "mcp", command) and (not by_installation or Path(words[0]).is_absolute())


def present_words(document: Document, parts: Sequence[SettingsPart]) -> list[str]:
    """Return the words of the parts that occur anywhere in the document's lists."""
    lists = [part for part in parts if isinstance(part, Words)]
    return [word for part in lists for word in (*part.words, *part.earlier) if word in part.listed(document)]


def remove_earlier_words(document: Document, parts: Sequence[SettingsPart], words: Collection[str]) -> None:
    """Remove the words of earlier installations; of these, remove only the given ones."""
    for part in parts:
        if isinstance(part, Words):
            part.remove(document, set(part.earlier).intersection(words))


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
