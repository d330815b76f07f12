"""Quotas of the sections of a block."""

from dataclasses import dataclass
from enum import StrEnum

from commonplace.core.errors import InvalidInputError


class BlockPart(StrEnum):
    """The sections of a block, in their order."""

    PINNED = "pinned"
    FACTS = "facts"
    RULES = "rules"


@dataclass(frozen=True, slots=True, kw_only=True)
class SectionQuota:
    """Upper limit and reserve of a section.

    Attributes:
        items: The maximum number of lines.
        share: The maximum share of the whole budget, heading included, 0.0 to 1.0.
        reserve: The number of lines that the other section cannot take.
    """

    items: int = 20
    share: float = 1.0
    reserve: int = 5

    def __post_init__(self) -> None:
        for name in ("items", "reserve"):
            if getattr(self, name) < 0:
                raise InvalidInputError(name, "a whole number from 0", getattr(self, name))
        if not 0.0 <= self.share <= 1.0:
            raise InvalidInputError("share", "a number from 0.0 to 1.0", self.share)


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextQuotas:
    """Quotas of the sections. Pinned memories come first and need no reserve. Source: KNW-34.2."""

    pinned: SectionQuota = SectionQuota(items=10, share=0.25, reserve=0)
    facts: SectionQuota = SectionQuota()
    rules: SectionQuota = SectionQuota()
