"""Usage figures of the database, over all processes and restarts (APP-12, APP-16.4)."""

from typing import Final

from commonplace.apps.model.figures import DAY, HOUR, Statistics
from commonplace.apps.model.memories import ChangeKind
from commonplace.apps.rules.figures import share
from commonplace.apps.store.energy import EnergyBudget
from commonplace.apps.store.statements import AppStatements
from commonplace.core.clock import format_timestamp
from commonplace.storage.store import Store

MOST_APPS: Final = 20


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
