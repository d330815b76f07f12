"""Play a year of one person with three devices that sync, and check the laws after each week.

    python benchmarks/sync_year.py [--seed N] [--days N] [--real]

On a simulated clock, about 1,300 sessions learn, edit, confirm and forget memories of all kinds on a laptop, a desktop
and a server, with the real engine and real files of state. Meanwhile devices are off for weeks or cannot reach the
carrier, clocks jump by up to a year, each step of a sync is killed or meets a full disk, files come late and out of
order, and the carrier drops, replays, forges, splices and swaps files. Memories are erased, a device is lost and
revoked, another one leaves, and new ones join. After each week the devices exchange everything, and a model that knows
ADR 0040 but not the engine says what each memory must show.

With ``--real``, a few weeks are played on homes with their own SQLite and PostgreSQL databases, and processes that sync
are killed by the system.

The exit status is 1 if a law does not hold. ``--seed`` determines everything that happens.
"""

import argparse
import asyncio
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from commonplace.core.request_context import OPERATOR, request_context
from commonplace.core.sources import Source
from support.sync_year import Year
from support.sync_year_homes import Homes

SHOWN = 20
"""The number of broken laws that are printed."""


def show(title: str, count: Mapping[str, int]) -> None:
    """Print a part of the table."""
    print(f"\n{title}")
    for name, number in sorted(count.items()):
        print(f"  {name:58} {number:>11,}")


def show_year(year: Year) -> None:
    """Print what happened, which laws were checked, and how many bytes there are."""
    steps, members = year.world.steps, year.devices.values()
    show("What happened", {**year.count, "acts of the person": year.world.model.count()})
    show("Kills, by step", steps.kills)
    show("Full disks, by step", steps.full_disks)
    show("Checks of laws", year.laws)
    sizes = {f"state of {each.name}": each.size() for each in members}
    show("Bytes", {"carrier": year.world.carrier.size(), **sizes})


def play_year(folder: Path, seed: int, days: int) -> Sequence[str]:
    """Play a year; return the laws that were broken."""
    year = Year(folder, seed, days=days)
    asyncio.run(year.play())
    show_year(year)
    return year.broken


def play_homes(folder: Path, seed: int) -> Sequence[str]:
    """Play weeks of real homes; return the laws that were broken."""
    homes = Homes(folder, seed)
    with request_context(actor=OPERATOR, source=Source.PERSON):
        asyncio.run(homes.play())
    show("What happened", homes.count)
    return homes.broken


def main() -> int:
    """Play and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--days", type=int, default=365)
    parser.add_argument("--real", action="store_true")
    args = parser.parse_args()
    begin = time.process_time()
    with tempfile.TemporaryDirectory(prefix="commonplace-year-") as folder:
        broken = (
            play_homes(Path(folder), args.seed)
            if args.real
            else play_year(Path(folder), args.seed, args.days)
        )
    used = time.process_time() - begin
    print(f"\nseed {args.seed}: {len(broken)} laws broken, {used:,.0f} s of processor")
    for each in broken[:SHOWN]:
        print(each)
    return 1 if broken else 0


if __name__ == "__main__":
    raise SystemExit(main())
