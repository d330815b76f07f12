"""Criteria of lists of facts and rules, beside the narrowing that all reads share."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final
from uuid import UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleCriteria:
    """Criteria of a list of rules; ``None`` turns one off.

    Attributes:
        ids: Only these rules.
        maturity: A :class:`~commonplace.knowledge.rules.maturity.Maturity`.
        text: A text in the content; case does not matter.
        unused: Only rules that no search or block has shown, or only other rules.
        source: A :class:`~commonplace.core.sources.Source`.
        max_confidence: The maximum effective confidence, 0.0 to 1.0.
    """

    ids: Collection[UUID] | None = None
    maturity: str | None = None
    text: str | None = None
    unused: bool | None = None
    source: str | None = None
    max_confidence: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FactCriteria:
    """Criteria of a list of facts; ``None`` turns one off.

    Attributes:
        ids: Only these facts.
        fading: Only facts that are marked as fading, or only other facts.
        subject: The exact subject.
        predicate: The exact predicate.
        text: A text in subject, predicate or content; case does not matter.
        unused: Only facts that no search or block has shown, or only other facts.
        source: A :class:`~commonplace.core.sources.Source`.
        max_confidence: The maximum effective confidence, 0.0 to 1.0.
    """

    ids: Collection[UUID] | None = None
    fading: bool | None = None
    subject: str | None = None
    predicate: str | None = None
    text: str | None = None
    unused: bool | None = None
    source: str | None = None
    max_confidence: float | None = None


ALL_FACTS: Final = FactCriteria()
ALL_RULES: Final = RuleCriteria()
