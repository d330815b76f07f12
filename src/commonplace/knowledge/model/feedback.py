"""Feedback on rules: the outcome of an application."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from commonplace.storage.rows import Noun


class Outcome(StrEnum):
    """The outcome of an application of a rule."""

    HELPFUL = "helpful"
    HARMFUL = "harmful"


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleApplication(Noun):
    """An application of a rule, and the feedback on it."""

    outcome: Outcome
    reason: str | None
    actor: str | None
    applied_at: datetime
    context: Mapping[str, Any]
