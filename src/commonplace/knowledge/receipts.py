"""What the facade says about what it stored."""

from dataclasses import dataclass
from uuid import UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodeReceipt:
    """What became of an episode.

    Attributes:
        id: Of the stored episode; ``None`` where the database or the model was out of reach.
        reason: Then: why. The same episode may be stored again later.
    """

    id: UUID | None
    reason: str = ""

    @property
    def stored(self) -> bool:
        """Whether the episode is in the database."""
        return self.id is not None
