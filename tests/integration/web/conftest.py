"""Fixtures for the tests of the service."""

import pytest

from commonplace.web.http import health
from support.dashboards import dashboard
from support.deadlines import DEADLINE_S

__all__ = ["dashboard"]


@pytest.fixture(autouse=True)
def patient_health_check(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine, a part that works may take longer than a supervisor would wait."""
    monkeypatch.setattr(health, "TIMEOUT_S", DEADLINE_S)
