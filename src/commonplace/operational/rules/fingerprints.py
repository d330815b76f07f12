"""Fingerprints of the markers and lines of a session."""

import hashlib
from collections import Counter


class Fingerprints:
    """Names for the markers and lines of one session, so that reading its transcript again stores nothing twice."""

    def __init__(self) -> None:
        self._seen: Counter[tuple[str | None, ...]] = Counter()

    def of(self, *parts: str | None) -> str:
        """Return a name made of some parts and the number of earlier occurrences of the same parts."""
        self._seen[parts] += 1
        return hashlib.sha256(repr((*parts, self._seen[parts])).encode()).hexdigest()[:32]
