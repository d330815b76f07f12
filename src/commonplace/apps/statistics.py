"""Usage figures of the database, over all processes and restarts (APP-12, APP-16.4)."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from commonplace.apps.energy import EnergyBudget, EnergyStatus
from commonplace.apps.memories import ChangeKind
from commonplace.apps.statements import AppStatements
from commonplace.core.clock import format_timestamp
from commonplace.storage.store import Store

HOUR: Final = timedelta(hours=1)
DAY: Final = timedelta(days=1)
MOST_APPS: Final = 20


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


async def gather(store: Store[AppStatements], energy: EnergyBudget) -> Statistics:
    """Return the figures of the database."""
    now = store.now()
    async with store.reading() as sql:
        apps = await sql.count_apps()
        contents = await sql.count_contents()
        talks = await sql.count_conversations()
        hour = await sql.changes_since(since=format_timestamp(now - HOUR))
        day = await sql.changes_since(since=format_timestamp(now - DAY))
        digests = {row["state"]: row["digests"] for row in await sql.digests_by_state()}
        fullest = {row["app_id"]: row["memories"] for row in await sql.memories_per_app(limit=MOST_APPS)}
    return Statistics(
        apps=apps["apps"],
        apps_with_memories=apps["with_memories"],
        utilisation=share(apps["with_memories"], apps["apps"]),
        memories=contents["memories"],
        average_chars=round(contents["characters"] / max(1, contents["memories"]), 1),
        created_last_hour=sum(row["changes"] for row in hour if row["kind"] == ChangeKind.CREATED),
        created_last_day=sum(row["changes"] for row in day if row["kind"] == ChangeKind.CREATED),
        compactions_last_day={
            row["app_id"]: row["changes"] for row in day if row["kind"] == ChangeKind.COMPACTED
        },
        conversations=talks["conversations"],
        in_focus=talks["in_focus"],
        injection_rate=share(talks["with_memories"], talks["in_focus"]),
        digests=digests,
        energy=await energy.status(),
        energy_last_day=await energy.spent(DAY),
        fullest=fullest,
    )


def share(part: int, whole: int) -> float:
    """Return a part as a share of the whole, 0.0 to 1.0; 0.0 if the whole is 0."""
    return round(part / whole, 4) if whole else 0.0
