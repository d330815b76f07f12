"""``commonplace admin clock``: the clock that decay, expiry and cleanup depend on."""

from typing import Annotated

import typer

from commonplace.cli.frame.command import Answer, commands
from commonplace.cli.frame.run import settings
from commonplace.core.clock import format_timestamp
from commonplace.core.errors import ClockError
from commonplace.storage.clock_guard import ClockGuard

app = typer.Typer(add_completion=False)


@commands(app)()
async def clock(
    *, confirm: Annotated[bool, typer.Option("--confirm", help="Confirm that the clock is right.")] = False
) -> Answer:
    """Compare the clock with the machine's uptime and with the last use of the home.

    If the time is implausible, decay, expiry and cleanup wait.
    """
    guard = ClockGuard(settings().home)
    if confirm:
        at = format_timestamp(guard.confirm().at, precision="seconds")
        return Answer({"plausible": True, "fault": None}, f"confirmed: it is {at}")
    fault = guard.fault()
    error = None if fault is None else str(ClockError(fault))
    return Answer({"plausible": fault is None, "fault": fault}, "" if fault else "plausible", error=error)
