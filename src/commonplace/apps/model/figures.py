"""Usage figures of a database and of one app (APP-12, APP-16.4)."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from commonplace.apps.model.apps import App
from commonplace.apps.model.energy import EnergyStatus
from commonplace.storage.rows import Noun

HOUR: Final = timedelta(hours=1)
DAY: Final = timedelta(days=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Statistics:
    """Figures of a database.

    Attributes:
        apps: Installed apps, and uninstalled apps that hold memories.
        apps_with_memories: Apps with at least one memory.
        utilisation: The share of all apps that have memories, 0.0 to 1.0.
        average_chars: The mean length of a memory.
        created_last_hour: Memories created within an hour.
        created_last_day: Memories created within 24 hours.
        compactions_last_day: Memories compacted within 24 hours, by app.
        in_focus: Conversations whose context was built at an injection point.
        injection_rate: The share of these conversations whose model saw a memory.
        digests: Digests by state: ``waiting``, ``running``, ``deferred``, ``done``.
        energy_last_day: Units by operation within 24 hours.
        fullest: The memories of the apps with the most memories; at most 20 apps.
    """

    apps: int
    apps_with_memories: int
    utilisation: float
    memories: int
    average_chars: float
    created_last_hour: int
    created_last_day: int
    compactions_last_day: Mapping[str, int]
    conversations: int
    in_focus: int
    injection_rate: float
    digests: Mapping[str, int]
    energy: EnergyStatus
    energy_last_day: Mapping[str, float]
    fullest: Mapping[str, int]


WEEK: Final = timedelta(days=7)


@dataclass(frozen=True, slots=True, kw_only=True)
class AppSummary:
    """An app in a list.

    Attributes:
        users: The number of users whose spaces hold memories.
        fullest: The number of memories in its fullest space, of ten.
        last_digest_at: The time of its last digest; ``None`` before the first.
        energy_last_day: Units that its memories took within 24 hours.
    """

    app: App
    memories: int
    users: int
    fullest: int
    last_digest_at: datetime | None
    energy_last_day: float


@dataclass(frozen=True, slots=True, kw_only=True)
class AppPage:
    """One page of the apps that match a filter, and the number of all that match."""

    apps: list[AppSummary]
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Space(Noun):
    """A space with its number of memories; ``user_id`` is ``None`` for the app's common space."""

    user_id: str | None
    memories: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AppFigures:
    """Usage figures of one app (APP-12).

    Attributes:
        created_last_hour: Memories created within an hour.
        created_last_day: Memories created within 24 hours.
        compactions_last_day: Memories compacted within 24 hours.
        utilisation: The memories in its fullest space as a share of ten, 0.0 to 1.0.
        injection_rate: The share of conversations with a context whose model saw a memory, 0.0 to 1.0.
        energy_last_day: Units that its memories took within 24 hours.
    """

    created_last_hour: int
    created_last_day: int
    compactions_last_day: int
    utilisation: float
    conversations: int
    injection_rate: float
    energy_last_day: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SpentEnergy:
    """Units that memories took in each hour; the last hour is not over."""

    hours: list[datetime]
    units: list[float]
