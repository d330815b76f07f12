"""The record of a project's references: when each was last there, and a sample of it for each memory that names it.

``code/DIGEST.jsonl`` in the home has a line for each reference. For each memory that names the reference, the line has
a sample of the lines that the memory speaks of, as they were when the memory was first shown or last confirmed.

Source: FOL-03.
"""

import json
import logging
import os
from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from datetime import date
from functools import cached_property
from heapq import nsmallest
from pathlib import Path
from typing import Any, Final

from commonplace.core.atomic_write import write_text
from commonplace.core.digests import digest_of
from commonplace.core.directories import make_directories

DIRECTORY: Final = "code"
SAMPLE: Final = 32
"""The number of lines of a sample: those with the lowest checksums, which is as good as a random choice."""

MOST_SAMPLES: Final = 50
"""The number of memories, the latest, whose samples are kept for one reference."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeSample:
    """Checksums of some lines, ascending, and the day on which they were taken (``YYYY-MM-DD``)."""

    day: str
    lines: Sequence[int]

    def share_left(self, checksums: set[int]) -> float:
        """Return the share of the sample, 0 to 1, that is among the lines of today."""
        return len(checksums & set(self.lines)) / len(self.lines)


@dataclass(slots=True, kw_only=True)
class Sight:
    """A reference as it was seen.

    Attributes:
        reference: The name of the file, command or word.
        day: When it was last there (``YYYY-MM-DD``).
        moved: The new path of the file according to Git; empty if Git does not know, ``None`` before Git is asked.
        samples: The samples by the digest of the memory's text.
    """

    reference: str
    day: str
    moved: str | None = None
    samples: dict[str, CodeSample] = field(default_factory=dict[str, CodeSample])


class Sights:
    """The record of one directory.

    Args:
        file: The file of the record; see :func:`record_file`.
    """

    def __init__(self, file: Path) -> None:
        self._file = file

    def find(self, reference: str) -> Sight | None:
        """Return a reference that was there once."""
        return self._by_name.get(reference)

    def note(self, reference: str, *, today: date) -> Sight:
        """Note that a reference is there, and return it."""
        sight = self._by_name.setdefault(reference, Sight(reference=reference, day=""))
        sight.day, sight.moved = today.isoformat(), None
        return sight

    def forget_samples(self, memories: Collection[str]) -> None:
        """Delete the samples that were taken for memories with these digests."""
        for sight in self._by_name.values():
            sight.samples = {each: sample for each, sample in sight.samples.items() if each not in memories}

    def save(self) -> None:
        """Write the record if it changed; if that fails, log the error, because a session must go on."""
        if (document := _document(self._by_name.values())) == self._text:
            return
        try:
            make_directories(self._file.parent)
            write_text(self._file, document, mode=0o600)
        except OSError as error:
            _log.warning("%s cannot be written: %s", self._file, error)

    @cached_property
    def _by_name(self) -> dict[str, Sight]:
        try:
            sights = [_sight(json.loads(line)) for line in self._text.splitlines()]
        except (ValueError, TypeError, AttributeError) as error:
            _log.warning("%s cannot be read, and is begun anew: %s", self._file, error)
            return {}
        return {each.reference: each for each in sights}

    @cached_property
    def _text(self) -> str:
        try:
            return self._file.read_text(encoding="utf-8")
        except FileNotFoundError:
            return ""
        except (OSError, ValueError) as error:
            _log.warning("%s cannot be read, and is begun anew: %s", self._file, error)
            return ""


def record_file(home: Path, project: Path) -> Path:
    """Return the file of the record of a project's directory."""
    return home / DIRECTORY / f"{digest_of(os.fsdecode(project))}.jsonl"


def confirm_references(home: Path, texts: Iterable[str]) -> None:
    """Delete the samples of a confirmed memory, so that its references are compared with the code of today.

    Args:
        home: The home, whose records of all projects are changed.
        texts: The text of the memory as in blocks, without subject and predicate, and as in answers, with them.
    """
    memories = {digest_of(text) for text in texts}
    for file in sorted((home / DIRECTORY).glob("*.jsonl")):
        sights = Sights(file)
        sights.forget_samples(memories)
        sights.save()


def sample_of(checksums: set[int], *, today: date) -> CodeSample:
    """Return a sample of lines."""
    return CodeSample(day=today.isoformat(), lines=nsmallest(SAMPLE, checksums))


def _sight(values: dict[str, Any]) -> Sight:
    """Return a reference from its line; a line of an earlier release has no samples."""
    samples = {text: CodeSample(**each) for text, each in values.pop("samples", {}).items()}
    sight = Sight(**values, samples=samples)
    for day in (sight.day, *(each.day for each in samples.values())):
        date.fromisoformat(day)
    return sight


def _document(sights: Iterable[Sight]) -> str:
    return "".join(f"{json.dumps(asdict(each))}\n" for each in sights)
