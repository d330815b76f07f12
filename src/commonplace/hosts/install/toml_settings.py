"""The MCP server in a TOML file, as in Codex: a table at the end of the file, so that other bytes stay unchanged."""

import json
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast

from commonplace.core.atomic_write import PRIVATE
from commonplace.core.errors import SettingsError
from commonplace.hosts.install.files import FileChange, read_text
from commonplace.hosts.install.install_record import InstallRecord, missing_directories
from commonplace.hosts.install.json_edits import SERVER, Ours, additions_of, our_servers, refuse_foreign

TABLE: Final = "mcp_servers"
_HEADER: Final = re.compile(r"[ \t]*\[")
_KEY: Final = re.compile(r"[ \t]*[^\s#]")


@dataclass(frozen=True, slots=True, kw_only=True)
class TomlSettings:
    """A settings file in TOML with a table ``[mcp_servers.commonplace]``.

    Attributes:
        constants: Values that the server needs besides its command.
    """

    path: Path
    constants: Mapping[str, object]

    def install(self, ours: Ours, note: InstallRecord | None) -> tuple[FileChange, InstallRecord | None]:
        """Return the change that adds the server, and the new note; see :class:`.JsonSettings`."""
        text = read_text(self.path)
        servers = _servers(self._parse(text or ""), self.path)
        try:
            refuse_foreign(servers, f"{self.path}: {TABLE}")
        except SettingsError as error:
            raise SettingsError(f"{error}: nothing was written") from None
        present, entry = our_servers(servers), self._entry(ours.server)
        current = cast("dict[str, Any]", servers[SERVER]) if present == [SERVER] else {}
        if entry.items() <= current.items():
            return self._change(text, text), None
        known = note if note is not None and present else InstallRecord()
        kept = self._without(text or "", known.tail)
        tail = "" if not kept else "\n" if kept.endswith("\n") else "\n\n"
        entry = {**additions_of(servers), **entry}
        after = kept + tail + _table(SERVER, entry)
        self._check(after, text or "", {SERVER: entry})
        made = InstallRecord(
            path=str(self.path),
            directories=known.directories or missing_directories(self.path),
            file=known.file or text is None,
            tail=tail,
        )
        return self._change(text, after), made

    def uninstall(self, note: InstallRecord | None) -> tuple[FileChange, InstallRecord]:
        """Return the change that removes the server, and the note that it is based on; see :class:`.JsonSettings`."""
        note = note or InstallRecord()
        text = read_text(self.path)
        if text is None:
            return self._change(None, None), note
        after = self._without(text, note.tail)
        self._check(after, text, {})
        return self._change(text, None if note.file and not after.strip() else after), note

    def _entry(self, command: list[str]) -> dict[str, Any]:
        return {"command": command[0], "args": command[1:], **self.constants}

    def _change(self, before: str | None, after: str | None) -> FileChange:
        # The file may contain keys of servers.
        return FileChange(path=self.path, before=before, after=after, mode=PRIVATE)

    def _parse(self, text: str) -> dict[str, Any]:
        try:
            return tomllib.loads(text)
        except (tomllib.TOMLDecodeError, RecursionError) as error:
            raise SettingsError(f"{self.path}: expected TOML, got {error}: nothing was written") from None

    def _without(self, text: str, tail: str) -> str:
        """Return the text without our tables, and without the line ends that an installation added before them."""
        servers = _servers(self._parse(text), self.path)
        lines = text.split("\n")
        dropped: set[int] = set()
        for key in our_servers(servers):
            dropped |= _lines_of(lines, key)
        if not dropped:
            return text
        for place, line in enumerate(lines):
            # The empty line between two tables of ours.
            if not line.strip() and place - 1 in dropped and place + 1 in dropped:
                dropped.add(place)
        before = "".join(f"{line}\n" for line in lines[: min(dropped)])
        behind = "\n".join(
            line for place, line in enumerate(lines) if place > min(dropped) and place not in dropped
        )
        return before + behind if behind.strip() else before.removesuffix(tail)

    def _check(self, after: str, before: str, wanted: Mapping[str, object]) -> None:
        """Refuse a text that differs from the original in anything but our servers."""
        new, old = self._parse(after), self._parse(before)
        servers = dict(new.pop(TABLE, {}))
        others = dict(old.pop(TABLE, {}))
        for key in our_servers(others):
            del others[key]
        if new != old or servers != {**others, **wanted}:
            raise SettingsError(
                f"{self.path}: expected [{TABLE}.NAME] tables that can be changed line by line: nothing was written"
            )


def _servers(document: Mapping[str, Any], path: Path) -> Mapping[str, object]:
    servers = document.get(TABLE, {})
    if not isinstance(servers, dict):
        raise SettingsError(f"{path}: {TABLE}: expected a table, got {servers!r}: nothing was written")
    return cast("dict[str, object]", servers)


def _table(key: str, entry: Mapping[str, object]) -> str:
    values = "".join(f"{name} = {_value(value)}\n" for name, value in entry.items())
    return f"[{TABLE}.{key}]\n{values}"


def _value(value: object) -> str:
    """Return a value in TOML: JSON, but for tables, which are written in one line."""
    if isinstance(value, dict):
        items = cast("dict[str, object]", value).items()
        return f"{{ {', '.join(f'{json.dumps(name)} = {_value(each)}' for name, each in items)} }}"
    return json.dumps(value, ensure_ascii=False)


def _is_in_text(lines: list[str]) -> bool:
    """Return whether a multi-line string is still open after these lines."""
    try:
        tomllib.loads("\n".join(lines))
    except tomllib.TOMLDecodeError:
        return True
    return False


def _lines_of(lines: list[str], key: str) -> set[int]:
    """Return the line numbers of a table and its subtables, up to the last key of each."""
    header = re.compile(rf"[ \t]*\[{TABLE}\.(?:\"{key}\"|{key})(?:\.|\])")
    found: set[int] = set()
    inside, begin = False, 0
    for place, line in enumerate(lines):
        if _HEADER.match(line):
            inside, begin = header.match(line) is not None and not _is_in_text(lines[:place]), place
        if inside and _KEY.match(line):
            found |= set(range(begin, place + 1))
    return found
