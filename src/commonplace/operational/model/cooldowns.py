"""Cooldown actions: remediations that the agent must not repeat at once (OPS-20.3)."""

from dataclasses import dataclass
from datetime import datetime

from commonplace.operational.model.markers import CooldownAction
from commonplace.storage.rows import Noun


@dataclass(frozen=True, slots=True, kw_only=True)
class Cooldown(Noun):
    """A row of ``cooldown_actions``."""

    id: int
    session_id: int | None
    service: str
    action: CooldownAction
    reason: str
    tier: int
    created_at: datetime
