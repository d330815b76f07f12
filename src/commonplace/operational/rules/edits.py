"""The state of a memory after an operator's edit."""

from dataclasses import replace
from datetime import datetime

from commonplace.core import confidence
from commonplace.operational.model.memories import Lesson


def edited(
    memory: Lesson, *, observation: str | None, confidence_value: float | None, now: datetime
) -> Lesson:
    """Return a memory after an operator's edit.

    A confidence is clamped to 0.0 to 1.0; below 0.3 the memory becomes inactive, above 0.3 active, and at 0.3 its state
    does not change. A new text alone does not change the confidence. Source: OPS-08.3, OPS-13, OPS-16.3, R-OPS-8.
    """
    changed = replace(memory, observation=observation or memory.observation, updated_at=now)
    if confidence_value is None:
        return changed
    value = confidence.clamp(confidence_value)
    at = confidence.to_decimal(value)
    active = memory.active if at == confidence.ACTIVE_THRESHOLD else at > confidence.ACTIVE_THRESHOLD
    return replace(changed, confidence=value, active=active)
