"""Contents of a memory file: its lines, and the memories and problems in them. No I/O."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

from commonplace.core.errors import InvalidInputError
from commonplace.workspace.model.memories import DamagedLine, Note, age_key
from commonplace.workspace.rules.entries import format_line, number_in_damage, parse_line

_CONFLICT: Final = re.compile(rb"(<{7}|\|{7}|={7}|>{7})( |\r?$)")
"""A line that Git puts around the two sides of a conflict."""


@dataclass(frozen=True, slots=True, eq=False)
class FileLine:
    """One line of the file without its newline: a memory, a damaged line with its fault, or a blank line."""

    raw: bytes
    memory: Note | None = None
    damage: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """A memory file as read at one moment.

    Attributes:
        lines: Every line, byte for byte, in file order.
        memories: The readable memories, from oldest to newest.
        highest: The largest number of an id in the file, damaged lines included; 0 if there is no id.
        repeated: Lines with the id of an earlier line, as a merge in Git leaves them if both sides added memories.
        terminated: Whether the last line ends with a newline. If not, the write was interrupted or a person edited it.
    """

    lines: tuple[FileLine, ...] = ()
    memories: tuple[Note, ...] = ()
    problems: tuple[DamagedLine, ...] = ()
    highest: int = 0
    repeated: tuple[FileLine, ...] = ()
    terminated: bool = True

    def plus(self, *added: Note) -> "Contents":
        """Return the contents with memories added at the end, one line each."""
        memories = (*self.memories, *added)
        if any(
            age_key(earlier) > age_key(later) for earlier, later in pairwise((*self.memories[-1:], *added))
        ):
            memories = tuple(sorted(memories, key=age_key))
        return Contents(
            lines=(
                *self.lines,
                *(FileLine(format_line(memory).removesuffix(b"\n"), memory) for memory in added),
            ),
            memories=memories,
            problems=self.problems,
            highest=max((self.highest, *(memory.number for memory in added))),
        )

    def without(self, gone: Iterable[Note]) -> "Contents":
        """Return the contents without some memories; all other lines stay unchanged."""
        dropped = {id(memory) for memory in gone}
        return from_lines(
            line for line in self.lines if line.memory is None or id(line.memory) not in dropped
        )

    def with_changed(self, old: Note, new: Note) -> "Contents":
        """Return the contents with one memory changed in its line; all other lines stay unchanged."""
        return from_lines(
            FileLine(format_line(new).removesuffix(b"\n"), new) if line.memory is old else line
            for line in self.lines
        )

    def told_apart(self, mark: int) -> "Contents":
        """Return the contents with one id for each memory.

        The first line keeps the id. A later line gets the next free id above ``mark``, or is dropped if another line
        holds the same memory. The result depends on the file and the mark only, so that all processes see the same ids.
        """
        if not self.repeated:
            return self
        later = {id(line) for line in self.repeated}
        seen = {_unnumbered(line.memory) for line in self.lines if line.memory and id(line) not in later}
        number = max(mark, self.highest)
        lines: list[FileLine] = []
        for line in self.lines:
            if line.memory is None or id(line) not in later:
                lines.append(line)
            elif (unnumbered := _unnumbered(line.memory)) not in seen:
                seen.add(unnumbered)
                number += 1
                memory = replace(line.memory, number=number)
                lines.append(FileLine(format_line(memory).removesuffix(b"\n"), memory))
        return from_lines(lines)

    def to_bytes(self) -> bytes:
        """Return all lines, each with its newline."""
        return b"".join(b"%s\n" % line.raw for line in self.lines)


NOTHING: Final = Contents()
"""Contents of a missing file."""


def read_contents(data: bytes) -> Contents:
    """Split a memory file into its lines; damage in one line does not affect another."""
    pieces = data.split(b"\n")
    terminated = not pieces[-1]
    if terminated:
        pieces.pop()
    return from_lines((_read_line(piece) for piece in pieces), terminated=terminated)


def from_lines(lines: Iterable[FileLine], *, terminated: bool = True) -> Contents:
    """Return the contents made from some lines."""
    kept = tuple(lines)
    seen: set[int] = set()
    repeated: list[FileLine] = []
    problems: list[DamagedLine] = []
    highest_in_damage = 0
    for position, line in enumerate(kept, start=1):
        memory = line.memory
        if memory is None:
            if line.damage:
                problems.append(DamagedLine(line=position, reason=line.damage))
                highest_in_damage = max(highest_in_damage, number_in_damage(line.raw))
        elif memory.number in seen:
            repeated.append(line)
        else:
            seen.add(memory.number)
    return Contents(
        lines=kept,
        memories=tuple(sorted((line.memory for line in kept if line.memory), key=age_key)),
        problems=tuple(problems),
        highest=max(highest_in_damage, max(seen, default=0)),
        repeated=tuple(repeated),
        terminated=terminated,
    )


def _read_line(raw: bytes) -> FileLine:
    if not raw.strip():
        return FileLine(raw)
    if _CONFLICT.match(raw):
        return FileLine(
            raw, damage="a merge was not resolved: keep the memories of both sides and delete this line"
        )
    try:
        return FileLine(raw, parse_line(raw))
    except InvalidInputError as error:
        return FileLine(raw, damage=str(error))


def _unnumbered(memory: Note) -> Note:
    return replace(memory, number=0)
