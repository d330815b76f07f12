"""Watch over the hosts of sessions, so that a session ends with its host even if the host ran no hook."""

import asyncio
import os
import socket
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from commonplace.hosts.hooks.hook_input import HookCall
from commonplace.hosts.resident.client import process_at

SHELLS: Final = frozenset({"sh", "ash", "bash", "dash", "fish", "ksh", "zsh"})
"""Programs that may run between a hook and its host."""


@dataclass(slots=True, kw_only=True)
class _Host:
    descriptor: int
    sessions: dict[str, HookCall] = field(default_factory=dict[str, HookCall])


class Watch:
    """The host processes of running sessions. If the system cannot watch processes, no session is watched.

    Args:
        ended: Called with the last call of each session whose host ended before the end of the session was reported.
    """

    def __init__(self, ended: Callable[[HookCall], None]) -> None:
        self._ended = ended
        self._hosts: dict[int, _Host] = {}

    def begin(self, connection: socket.socket, call: HookCall) -> None:
        """Watch the host of a session; the session's hook is at the other end of a connection."""
        self.end(call.session_id)
        pid = _host_of(process_at(connection))
        if pid is None:
            return
        if pid not in self._hosts:
            try:
                descriptor = os.pidfd_open(pid)
            except (AttributeError, OSError):
                return
            self._hosts[pid] = _Host(descriptor=descriptor)
            asyncio.get_running_loop().add_reader(descriptor, self._tell, pid)
        self._hosts[pid].sessions[call.session_id] = call

    def end(self, session_id: str) -> None:
        """Stop watching a session."""
        for pid, host in list(self._hosts.items()):
            if host.sessions.pop(session_id, None) is not None and not host.sessions:
                self._leave(pid)

    def close(self) -> None:
        """Stop watching all sessions."""
        for pid in list(self._hosts):
            self._leave(pid)

    def _tell(self, pid: int) -> None:
        for call in self._leave(pid).sessions.values():
            self._ended(call)

    def _leave(self, pid: int) -> _Host:
        host = self._hosts.pop(pid)
        asyncio.get_running_loop().remove_reader(host.descriptor)
        os.close(host.descriptor)
        return host


def _host_of(hook: int) -> int | None:
    """Return the nearest ancestor of a hook that is not a shell; ``None`` if the system does not report it."""
    pid, name = hook, "sh"
    try:
        while name in SHELLS and pid > 1:
            pid = _parent(pid)
            name = Path(f"/proc/{pid}/comm").read_text().rstrip("\n")
    except (OSError, ValueError, IndexError):
        return None
    return pid if pid > 1 else None


def _parent(pid: int) -> int:
    # The name is in parentheses and may itself contain parentheses.
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
