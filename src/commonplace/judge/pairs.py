"""Verdicts of a person about two texts that oppose each other."""

from enum import StrEnum


class PairVerdict(StrEnum):
    """How the newer text of a pair relates to the older one."""

    SAME = "same"
    REFINES = "refines"
    CORRECTS = "corrects"
    DISTINCT = "distinct"

    @property
    def keeps_both(self) -> bool:
        """Whether both texts hold; otherwise the newer one replaces the older one."""
        return self in {PairVerdict.REFINES, PairVerdict.DISTINCT}
