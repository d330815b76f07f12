"""Changes: the whole new state of one memory, or its deletion, as files of devices carry it. Pure.

Source: ADR 0040.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from commonplace.core.errors import InvalidInputError
from commonplace.services.sync.kinds import SyncKind
from commonplace.services.sync.versions import Stamp, Versions

Fields = Mapping[str, Any]
"""The fields of a memory that travel: values of JSON."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A change of one memory.

    Attributes:
        kind: What it is.
        name: What the memory is called on every device.
        versions: What the change has seen, itself included.
        stamp: When it was made, and by which device.
        fields: The new state; ``None`` if the memory was deleted.
        vector: The vector of its text, as its memory gave it; ``None`` if there is none.
    """

    kind: SyncKind
    name: str
    versions: Versions
    stamp: Stamp
    fields: Fields | None
    vector: Fields | None = None

    @property
    def is_deletion(self) -> bool:
        """Whether the memory was deleted."""
        return self.fields is None

    def to_json(self) -> str:
        """Return the change as one line of JSON; equal changes give equal lines."""
        values = {
            "kind": self.kind,
            "name": self.name,
            "versions": dict(self.versions),
            "stamp": [self.stamp.milliseconds, self.stamp.count, self.stamp.device],
            "fields": self.fields,
        }
        if self.vector is not None:
            values["vector"] = self.vector
        return json.dumps(values, ensure_ascii=False, sort_keys=True)

    @classmethod
    def from_json(cls, line: str) -> Self:
        """Return the change of a line.

        Raises:
            InvalidInputError: The line is no change that this version of the program knows.
        """
        try:
            values = json.loads(line)
            milliseconds, count, device = values["stamp"]
            return cls(
                kind=SyncKind(values["kind"]),
                name=str(values["name"]),
                versions={str(key): int(number) for key, number in values["versions"].items()},
                stamp=Stamp(int(milliseconds), int(count), str(device)),
                fields=values["fields"],
                vector=values.get("vector"),
            )
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise InvalidInputError("change", "a change of a known kind", line[:200]) from error
