"""Orders of the lists of facts and rules."""

from enum import StrEnum


class FactOrder(StrEnum):
    """Orders of facts: newest, longest unconfirmed, least confidence, most important, most used, by subject."""

    STORED = "stored"
    CONFIRMED = "confirmed"
    CONFIDENCE = "confidence"
    IMPORTANCE = "importance"
    USED = "used"
    SUBJECT = "subject"


class RuleOrder(StrEnum):
    """Orders of rules: newest, longest unconfirmed, least confidence, most effective, applied or harmful."""

    STORED = "stored"
    CONFIRMED = "confirmed"
    CONFIDENCE = "confidence"
    EFFECTIVENESS = "effectiveness"
    APPLIED = "applied"
    HARMED = "harmed"
