"""Commands that may run in a fork of the resident process; every start waits for this module."""

import os

ALONE = frozenset(
    {
        *("backup", "restore"),  # They stop the database server, or need it to themselves.
        *("demo", "doctor", "install", "uninstall"),  # They test or change this installation.
        *("mcp", "serve", "worker"),  # They run for long; an MCP server has a fork of its own kind.
        "admin",  # Its commands are rare, change the installation, or run for long.
        "hook",  # The resident process itself answers hooks.
    }
)
"""Commands that never run in a fork. Every other command does, so that a new command needs no line here."""

ALONE_IN_GROUP = frozenset({("ops", "run"), ("ops", "watch")})
"""Commands that start an agent for a long time, in this terminal."""

COMPLETION = "_COMMONPLACE_COMPLETE"
"""The variable with which a shell asks for completions."""


def may_fork(arguments: list[str]) -> bool:
    """Return whether a command may run in a fork."""
    is_named = bool(arguments) and not arguments[0].startswith("-") and COMPLETION not in os.environ
    return is_named and arguments[0] not in ALONE and tuple(arguments[:2]) not in ALONE_IN_GROUP
