"""``commonplace sync``: the same memories on several devices, over a folder, a Git remote or a service."""

import asyncio
import platform
import re
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Final

import typer
from rich.console import Console

from commonplace.cli.frame.command import Answer, commands
from commonplace.cli.frame.command import show as show_answer
from commonplace.cli.frame.output import JsonOption, shown, table
from commonplace.cli.frame.run import run, settings
from commonplace.core.errors import CommonplaceError, InvalidInputError
from commonplace.core.settings import Settings
from commonplace.core.text import plural
from commonplace.services.sync.carriers.targets import SyncTarget
from commonplace.services.sync.home import SyncedHome, create_home, join_home
from commonplace.services.sync.status import SyncStatus, summary_of
from commonplace.services.sync.syncing import SyncReport

WATCH_EVERY_S: Final = 30.0
_REMOTE: Final = re.compile(r"\w+://|[\w.-]+@[\w.-]+:")
"""The beginning of an address that is no path."""

app = typer.Typer(add_completion=False)
plain = commands(app)

TargetArgument = Annotated[
    str,
    typer.Argument(
        metavar="TARGET",
        help="A folder that Syncthing, Dropbox, a disk or a stick carries; a Git remote of its own (git+PATH, or a URL "
        "that ends in .git); or the URL of a commonplace service.",
    ),
]
NameOption = Annotated[
    str | None, typer.Option(help="Name of this device.", show_default="the name of this machine")
]
PassphraseOption = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="A file with the passphrase.", show_default="asked at the terminal"),
]
TokenOption = Annotated[
    Path | None, typer.Option(metavar="FILE", help="A file with the token for a service.")
]


@app.callback(invoke_without_command=True)
def sync(
    ctx: typer.Context,
    *,
    watch: Annotated[bool, typer.Option("--watch", help="Sync every 30 seconds until Ctrl-C.")] = False,
    delete_many: Annotated[
        bool, typer.Option("--delete-many", help="Sync though most memories were deleted here.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Sync the memories of this home with those of your other devices.

    Without a command, sync once. Sessions of agent hosts, the worker and the service sync in the background.
    """
    if ctx.invoked_subcommand is not None:
        return
    if watch:
        with suppress(KeyboardInterrupt):
            run(_watch(settings()))
        return
    show_answer(run(_once(settings(), deletes_many=delete_many)), as_json=as_json)


@plain()
async def init(
    target: TargetArgument,
    *,
    name: NameOption = None,
    passphrase_file: PassphraseOption = None,
    token_file: TokenOption = None,
) -> Answer:
    """Begin a home at a target, and sync this device with it.

    Choose a passphrase of at least 12 characters. Your other devices join with it, and nobody who carries the files can
    read them without it. There is no way back if you lose it and all devices.
    """
    return await _begin(create_home, target, name, passphrase_file, token_file, is_new=True)


@plain()
async def join(
    target: TargetArgument,
    *,
    name: NameOption = None,
    passphrase_file: PassphraseOption = None,
    token_file: TokenOption = None,
) -> Answer:
    """Join the home at a target, and sync this device with it. What is in this home already is kept and shared."""
    return await _begin(join_home, target, name, passphrase_file, token_file, is_new=False)


@plain()
async def status() -> Answer:
    """Show the devices, when this one synced, what waits, which conflicts are in review, and what to look at."""
    async with SyncedHome.open(settings()) as home:
        seen = home.status()
        conflicts = await _conflicts(home)
    return Answer({**asdict(seen), "conflicts": conflicts}, lambda out: _print_status(out, seen, conflicts))


@plain()
async def leave(
    *,
    here: Annotated[
        bool, typer.Option("--here", help="Only forget it here, as when the target is lost.")
    ] = False,
) -> Answer:
    """Stop syncing this device, after a last sync. Its memories stay, here and on the other devices."""
    async with SyncedHome.open(settings()) as home:
        await home.leave(only_here=here)
    return Answer({"left": True}, "This device has left. Its memories stay.")


@plain()
async def revoke(
    device: Annotated[str, typer.Argument(metavar="DEVICE", help="Name or id of a lost device.")],
    *,
    passphrase_file: PassphraseOption = None,
) -> Answer:
    """Refuse what a lost device writes from now on, and give the home a new key and a new passphrase.

    Your other devices get the new key with their next sync. Who has the lost device still has the memories that were on
    it, and can read the files that were at the target until now.
    """
    passphrase = _line_of(passphrase_file) if passphrase_file else _asked(is_new=True)
    async with SyncedHome.open(settings()) as home:
        lost = await home.revoke(device, passphrase=passphrase)
    return Answer({"device": lost.device, "name": lost.name}, f"{lost.name} is revoked.")


async def _conflicts(home: SyncedHome) -> int | None:
    """Return the number of conflicts; ``None`` if knowledge memory cannot be read, as `commonplace doctor` says."""
    try:
        return await home.count_conflicts()
    except CommonplaceError:
        return None


async def _begin(
    begin: Callable[..., object],
    address: str,
    name: str | None,
    passphrase_file: Path | None,
    token_file: Path | None,
    *,
    is_new: bool,
) -> Answer:
    chosen = settings()
    target = SyncTarget(address=_absolute(address), token_file=token_file and _path(token_file))
    passphrase = _line_of(passphrase_file) if passphrase_file else _asked(is_new=is_new)
    device = name or platform.node() or "device"
    await begin(chosen, target, passphrase=passphrase, name=device)  # type: ignore[misc]
    async with SyncedHome.open(chosen) as home:
        report = await home.sync()

    def text(out: Console) -> None:
        out.print(f"This device, {shown(device)}, syncs with {shown(target.address)} now.")
        if report.is_news or report.problems:
            _print_report(out, report)
        if is_new:
            out.print(
                "On each other device, run `commonplace sync join` with this target and the passphrase."
            )

    return Answer(asdict(report), text)


async def _once(chosen: Settings, *, deletes_many: bool = False) -> Answer:
    async with SyncedHome.open(chosen) as home:
        report = await home.sync(deletes_many=deletes_many)
    return Answer(asdict(report), lambda out: _print_report(out, report))


async def _watch(chosen: Settings) -> None:
    while True:
        try:
            async with SyncedHome.open(chosen) as home:
                report = await home.sync()
            if report.is_news:
                _print_report(Console(stderr=True), report)
        except CommonplaceError as error:
            typer.echo(f"not synced: {error}", err=True)
        await asyncio.sleep(WATCH_EVERY_S)


def _path(file: Path) -> Path:
    return file.expanduser().absolute()


def _absolute(address: str) -> str:
    """Return the address of a target; the path of a folder or repository in full."""
    prefix = "git+" if address.startswith("git+") else ""
    path = address.removeprefix(prefix)
    return address if _REMOTE.match(path) else f"{prefix}{_path(Path(path))}"


def _line_of(file: Path) -> str:
    try:
        return file.expanduser().read_text(encoding="utf-8").splitlines()[0].strip()
    except (OSError, UnicodeDecodeError, IndexError) as error:
        raise InvalidInputError("--passphrase-file", "a readable file with one line", str(file)) from error


def _asked(*, is_new: bool) -> str:
    """Return the passphrase that a person types, or the first line of standard input."""
    if not sys.stdin.isatty():
        return sys.stdin.readline().strip()
    return typer.prompt("Passphrase", hide_input=True, confirmation_prompt=is_new, err=True)


def _print_report(out: Console, report: SyncReport) -> None:
    out.print(summary_of(report))
    _print_problems(out, report.problems)


def _print_status(out: Console, seen: SyncStatus, conflicts: int | None) -> None:
    out.print(f"Target: {shown(seen.target)}")
    _print_last_sync(out, seen)
    rows = [
        (
            each.name + (" (this one)" if each.is_this else ""),
            each.device,
            each.departure or "syncs",
            each.seen_at or "",
            each.number,
        )
        for each in seen.devices
    ]
    out.print(table("device", "id", "state", "last seen (UTC)", "files", rows=rows))
    if seen.is_waiting:
        out.print("Changes of this device wait to be sent.")
    if seen.unwritten:
        out.print(f"{plural(seen.unwritten, 'memory waits', 'memories wait')} to be written here.")
    if conflicts:
        waiting = plural(conflicts, "conflict waits", "conflicts wait")
        out.print(f"{waiting} for you, because two devices changed a memory at once: `commonplace review`.")
    for erasure in seen.erasures:
        waiting = ", ".join(seen.names_of(erasure.waiting))
        count = plural(erasure.count, "memory", "memories")
        out.print(
            f"Erasure of {count} on {erasure.at}: {f'waits for {shown(waiting)}' if waiting else 'done'}"
        )
    problems = seen.last.problems if seen.last else ()
    _print_problems(out, dict.fromkeys((*problems, *seen.notes)))


def _print_last_sync(out: Console, seen: SyncStatus) -> None:
    if seen.synced_at is None or seen.last is None:
        out.print("This device has not synced yet: run `commonplace sync`.")
    else:
        synced, news = (f"{each:%Y-%m-%d %H:%M} UTC" for each in (seen.synced_at, seen.last.at))
        out.print(f"Last sync: {synced}, with news: {news}")
    if seen.failure:
        since = f"{seen.failure.since:%Y-%m-%d %H:%M} UTC"
        out.print(f"[yellow]Every sync has failed since {since}: {shown(seen.failure.error)}[/]")


def _print_problems(out: Console, problems: Iterable[str]) -> None:
    for each in problems:
        out.print(f"[yellow]{shown(each)}[/]")
