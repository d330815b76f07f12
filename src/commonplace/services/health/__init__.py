"""Warnings about memories that will be lost and about work that is stuck, the same at every door.

- ``readings`` reads what the rules need from the open memories and from the machine.
- ``rules`` turns a reading into warnings; they are pure, and the current time is part of the reading.
- ``warnings`` holds the warning, its code and its severity.

Source: ONE-06.
"""

from commonplace.services.health.readings import WITHOUT_KNOWLEDGE as WITHOUT_KNOWLEDGE
from commonplace.services.health.readings import Aspect as Aspect
from commonplace.services.health.readings import read_health as read_health
from commonplace.services.health.rules import notice_of as notice_of
from commonplace.services.health.rules import warnings_of as warnings_of
from commonplace.services.health.warnings import HealthWarning as HealthWarning
from commonplace.services.health.warnings import Severity as Severity
from commonplace.services.health.warnings import WarningCode as WarningCode
