"""Orders of the lists of facts and rules, and the fields that determine a memory's position in each order."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final


class FactOrder(StrEnum):
    """Orders of facts.

    Newest, longest unconfirmed, least confidence, most important, most used; by subject, scope or state.
    """

    STORED = "stored"
    CONFIRMED = "confirmed"
    CONFIDENCE = "confidence"
    IMPORTANCE = "importance"
    USED = "used"
    SUBJECT = "subject"
    SCOPE = "scope"
    STATE = "state"


class RuleOrder(StrEnum):
    """Orders of rules.

    Newest, longest unconfirmed, least confidence, most effective, applied, helpful or harmful; by text, scope or state.
    """

    STORED = "stored"
    CONFIRMED = "confirmed"
    CONFIDENCE = "confidence"
    EFFECTIVENESS = "effectiveness"
    APPLIED = "applied"
    HELPED = "helped"
    HARMED = "harmed"
    TEXT = "text"
    SCOPE = "scope"
    STATE = "state"


PLACE_FIELDS: Final[Mapping[FactOrder | RuleOrder, tuple[str, ...]]] = {
    FactOrder.CONFIRMED: ("last_confirmed_at",),
    FactOrder.CONFIDENCE: ("confidence", "decay_rate", "last_confirmed_at"),
    FactOrder.IMPORTANCE: ("importance",),
    FactOrder.USED: ("reference_count",),
    FactOrder.SUBJECT: ("subject",),
    FactOrder.SCOPE: ("scope",),
    FactOrder.STATE: ("validity", "maturity"),
    RuleOrder.EFFECTIVENESS: ("effectiveness_score",),
    RuleOrder.APPLIED: ("applied_count",),
    RuleOrder.HELPED: ("success_count",),
    RuleOrder.HARMED: ("harmful_count",),
    RuleOrder.TEXT: ("content",),
}
"""The fields of each order, besides creation time and id; an order that both kinds share is listed once."""
