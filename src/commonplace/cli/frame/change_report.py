"""Report of what changed in a folder of a host: a line for each file and memory, and their numbers."""

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Final, Protocol, TypeVar

from commonplace.cli.frame.command import Answer
from commonplace.cli.frame.output import table
from commonplace.core.choices import count_members
from commonplace.core.text import collapse_whitespace

TEXT_CHARS: Final = 80

_E_co = TypeVar("_E_co", bound=Enum, covariant=True)


class ChangeLine(Protocol[_E_co]):
    """A line of a report: the change, the file, the text or the reason, and the short id of the memory."""

    @property
    def change(self) -> _E_co: ...  # noqa: D102 - see the class
    @property
    def file(self) -> str: ...  # noqa: D102
    @property
    def text(self) -> str: ...  # noqa: D102
    @property
    def memory_id(self) -> str: ...  # noqa: D102


def change_report(
    title: str,
    kind: type[_E_co],
    lines: Sequence[ChangeLine[_E_co]],
    document: Mapping[str, object],
    *,
    fault: _E_co | None = None,
) -> Answer:
    """Return a report as an answer; a report with nothing but faults is an error.

    Args:
        title: What the report is about.
        kind: The changes.
        lines: The lines.
        document: The fields of the JSON document beside the lines and their numbers.
        fault: The change of a line about what could not be read.
    """
    counts = count_members(kind, (line.change for line in lines))
    numbers = ", ".join(f"{count} {change.value}" for change, count in counts.items() if count)
    heading = f"{title}: {numbers or 'nothing changed'}"
    rows = [
        (line.change, line.file, collapse_whitespace(line.text)[:TEXT_CHARS], line.memory_id)
        for line in lines
    ]
    changes = {change.value: count for change, count in counts.items()}
    faults = 0 if fault is None else counts[fault]
    return Answer(
        {**document, "changes": changes, "lines": lines},
        table("change", "file", "text", "memory", title=heading, rows=rows) if rows else heading,
        error="" if faults and faults == len(lines) else None,
    )
