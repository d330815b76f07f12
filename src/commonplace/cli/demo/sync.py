"""The step of the tour about sync: a second home gets the memories of the first."""

from typing import Final

from rich.console import Console

from commonplace.cli.demo.step import step
from commonplace.cli.frame.output import shown, table
from commonplace.core.settings import Settings
from commonplace.knowledge import KnowledgeMemory, Validity
from commonplace.services.sync.carriers.targets import SyncTarget
from commonplace.services.sync.home import SyncedHome, create_home, join_home

PASSPHRASE: Final = "four words of the tour"  # noqa: S105 - the home is temporary
MOST_SHOWN: Final = 4
SECOND: Final = "second-home"


async def sync_homes(out: Console, settings: Settings, number: int) -> None:
    """Sync the home of the tour with a second home over a folder."""
    step(
        out,
        number,
        "A second device gets the same memories",
        "A folder carries sealed files between two homes. A Git remote or a service can carry them too.",
    )
    other = Settings(home=settings.home.with_name(SECOND), workspace=settings.workspace)
    target = SyncTarget(address=str(settings.home.with_name("carried")))
    await create_home(settings, target, passphrase=PASSPHRASE, name="laptop")
    await _sync(out, settings, "laptop")
    await join_home(other, target, passphrase=PASSPHRASE, name="desktop")
    await _sync(out, other, "desktop")
    async with KnowledgeMemory.open(other) as memory:
        facts = await memory.lists.facts(validity=Validity.ACTIVE, limit=MOST_SHOWN)
    rows = [(each.subject, each.predicate, each.content) for each in facts]
    out.print(table("subject", "predicate", "fact on the desktop", rows=rows))
    async with SyncedHome.open(settings) as home:
        count = await home.count_files()
    out.print(f"[dim]{count} files were carried, and none can be read without the passphrase.[/]")


async def _sync(out: Console, settings: Settings, name: str) -> None:
    async with SyncedHome.open(settings) as home:
        report = await home.sync()
    out.print(
        f"[bold]{shown(name)}[/]: {report.own_changes:,} changes of its own, {report.memories:,} memories written"
    )
