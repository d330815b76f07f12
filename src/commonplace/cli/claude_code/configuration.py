"""Claude Code's settings with and without commonplace. Pure: documents in, documents out.

Each function returns a new document and keeps other entries as and where they are. Entries of commonplace are
recognised by their command (``… hook session-start``, ``… mcp workspace``), so that an installation at another path or
of an earlier release is replaced and removed like this one. Only :func:`without_containers` removes empty objects and
lists, because a document does not tell who made them.
Source: measured on Claude Code 2.1.197.
"""

import copy
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Final, cast

from commonplace.cli.claude_code.json_text import Keys
from commonplace.core.errors import SettingsError

Document = dict[str, Any]

SERVERS: Final[Mapping[str, Sequence[str]]] = {"workspace": (), "knowledge": ("--project",)}
"""The MCP servers, with the options of their commands."""

EVENTS: Final[Mapping[str, Document]] = {
    "SessionStart": {"matcher": "startup|resume|clear|compact", "argument": "session-start", "timeout": 30},
    "UserPromptSubmit": {"argument": "user-prompt", "timeout": 10},
    "SessionEnd": {"argument": "session-end", "timeout": 20},
}
"""The command of each event, and its time-out in seconds; the client's default for SessionEnd is 1.5."""

CONTAINERS: Final[Sequence[Keys]] = (
    ("mcpServers",),
    ("hooks",),
    *(("hooks", event) for event in EVENTS),
    ("permissions",),
    ("permissions", "allow"),
)
"""The objects and lists that hold entries of commonplace, outer ones first."""


def server_key(server: str) -> str:
    """Return the name of a server; its tools are called ``mcp__commonplace-workspace__…`` and so on."""
    return f"commonplace-{server}"


def with_servers(document: Document, command: Sequence[str]) -> Document:
    """Return the document with both MCP servers in ``mcpServers``.

    Args:
        document: ``.mcp.json`` of a project, or ``.claude.json`` of a user.
        command: The command that runs ``commonplace``: an absolute path and arguments.

    Raises:
        SettingsError: ``mcpServers`` is not an object, or another server has a name of commonplace.
    """
    changed = copy.deepcopy(document)
    servers = _inner(changed, "mcpServers", dict)
    for server, options in SERVERS.items():
        key = server_key(server)
        entry = servers.get(key)
        if entry is not None and not _is_server(entry, server):
            raise SettingsError(
                f"mcpServers.{key}: expected nothing or an earlier installation, got {entry!r}"
            )
        # The client waits for the server at the start; otherwise the first request has no tools.
        ours = {
            "type": "stdio",
            "command": command[0],
            "args": [*command[1:], "mcp", server, *options],
            "alwaysLoad": True,
        }
        servers[key] = {**cast("Document", entry or {}), **ours}
    return changed


def without_servers(document: Document) -> Document:
    """Return the document without the MCP servers of commonplace."""
    changed = copy.deepcopy(document)
    servers = _at(changed, ("mcpServers",))
    for server in SERVERS:
        if isinstance(servers, dict) and _is_server(servers.get(server_key(server)), server):
            del servers[server_key(server)]
    return changed


def with_hooks(document: Document, command: Sequence[str], *, butler: str | None = None) -> Document:
    """Return the document with a hook for each event of a session.

    Args:
        document: ``settings.json`` of a project or a user.
        command: See :func:`with_servers`.
        butler: The butler of the sessions; ``None`` for the name of the workspace.

    Raises:
        SettingsError: ``hooks`` is not an object, or an event in it is not a list.
    """
    changed = copy.deepcopy(document)
    hooks = _inner(changed, "hooks", dict)
    for event, calls in EVENTS.items():
        groups = _inner(hooks, event, list)
        wanted = _group(calls, command, butler)
        if [group for group in groups if _is_touched(group, event)] == [wanted]:
            continue
        hooks[event] = [*_without_ours(groups, event), wanted]
    return changed


def without_hooks(document: Document) -> Document:
    """Return the document without the hooks of commonplace."""
    changed = copy.deepcopy(document)
    for event in EVENTS:
        groups = _at(changed, ("hooks", event))
        if isinstance(groups, list):
            groups[:] = _without_ours(groups, event)
    return changed


def with_permission(document: Document) -> Document:
    """Return the user's ``settings.json`` with the tools of commonplace allowed.

    Raises:
        SettingsError: ``permissions`` is not an object, or its ``allow`` is not a list.
    """
    changed = copy.deepcopy(document)
    allowed = _inner(_inner(changed, "permissions", dict), "allow", list)
    allowed += [rule for rule in _rules() if rule not in allowed]
    return changed


def without_permission(document: Document, rules: Collection[str]) -> Document:
    """Return the document without some of the allowed rules."""
    changed = copy.deepcopy(document)
    allowed = _at(changed, ("permissions", "allow"))
    if isinstance(allowed, list):
        allowed[:] = [rule for rule in allowed if rule not in rules]
    return changed


def allowed_rules(document: Document) -> list[str]:
    """Return the rules of commonplace that the document allows."""
    allowed = _at(document, ("permissions", "allow"))
    return [rule for rule in _rules() if isinstance(allowed, list) and rule in allowed]


def containers(document: Document) -> list[Keys]:
    """Return the objects and lists of ``CONTAINERS`` that the document has."""
    return [keys for keys in CONTAINERS if _at(document, keys) is not None]


def without_containers(document: Document, which: Collection[Keys]) -> Document:
    """Return the document without the given objects and lists that are empty, inner ones first."""
    changed = copy.deepcopy(document)
    for keys in reversed(CONTAINERS):
        outer = _at(changed, keys[:-1])
        if keys in which and isinstance(outer, dict) and outer.get(keys[-1]) in ({}, []):
            del outer[keys[-1]]
    return changed


def _at(document: Document, keys: Keys) -> Document | list[Any] | None:
    """Return the object or list at a path, or ``None``."""
    found: Any = document
    for key in keys:
        found = cast("Document", found).get(key) if isinstance(found, dict) else None
    return cast("Document | list[Any]", found) if isinstance(found, (dict, list)) else None


def _rules() -> list[str]:
    return [f"mcp__{server_key(server)}" for server in SERVERS]


def _group(calls: Document, command: Sequence[str], butler: str | None) -> Document:
    named = ["--butler", butler] if butler else []
    handler = {
        "type": "command",
        "command": command[0],
        "args": [*command[1:], "hook", calls["argument"], *named],
        "timeout": calls["timeout"],
    }
    matcher = {"matcher": calls["matcher"]} if "matcher" in calls else {}
    return {**matcher, "hooks": [handler]}


def _is_server(entry: object, server: str) -> bool:
    return isinstance(entry, dict) and _calls(_arguments(cast("Document", entry)), "mcp", server)


def _is_ours(handler: object, event: str) -> bool:
    if not isinstance(handler, dict):
        return False
    return _calls(_arguments(cast("Document", handler)), "hook", EVENTS[event]["argument"])


def _calls(arguments: list[Any], *command: str) -> bool:
    return any(tuple(arguments[place : place + 2]) == command for place in range(len(arguments)))


def _arguments(entry: Document) -> list[Any]:
    arguments = entry.get("args")
    return cast("list[Any]", arguments) if isinstance(arguments, list) else []


def _handlers(group: object) -> list[Any]:
    handlers = cast("Document", group).get("hooks") if isinstance(group, dict) else None
    return cast("list[Any]", handlers) if isinstance(handlers, list) else []


def _is_touched(group: object, event: str) -> bool:
    return any(_is_ours(handler, event) for handler in _handlers(group))


def _without_ours(groups: list[Any], event: str) -> list[Any]:
    kept: list[Any] = []
    for group in groups:
        if not _is_touched(group, event):
            kept.append(group)
        elif others := [handler for handler in _handlers(group) if not _is_ours(handler, event)]:
            kept.append({**group, "hooks": others})
    return kept


def _inner(document: Document, key: str, kind: Callable[[], Any]) -> Any:  # noqa: ANN401 - of the kind
    """Return the value of a key, created if it is missing; refuse a value of another kind."""
    value = document.setdefault(key, kind())
    if not isinstance(value, type(kind())):
        expected = "an object" if kind is dict else "a list"
        raise SettingsError(f"{key}: expected {expected}, got {value!r}")
    return value
