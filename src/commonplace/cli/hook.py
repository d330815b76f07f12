"""``commonplace hook``: what Claude Code calls when a session begins, when a prompt comes, and when a session ends.

Whatever happens, a hook ends soon, with status 0 and with its whole output or none: status 2 would drop the user's
prompt. What went wrong stands in ``$COMMONPLACE_HOME/logs/hooks.log``.
"""

import asyncio
import logging
import os
import sys
import threading
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Annotated, Any, Final, NoReturn

import typer
from platformdirs import user_data_path
from typer.core import TyperCommand

from commonplace.cli.claude_code.call import read_call
from commonplace.core.errors import CommonplaceError, InvalidInputError
from commonplace.core.settings import load_settings, variable_of

LOG_FILE: Final = "hooks.log"
MAX_LOG_BYTES: Final = 256 * 1024
MAX_INPUT_BYTES: Final = 16 * 1024 * 1024
PACKAGE: Final = "commonplace.cli.claude_code"

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hook:
    """What an event calls, and how long that may take: less than the client waits, see ``configuration.py``."""

    module: str
    function: str
    deadline_s: float


HOOKS: Final = {
    "session-start": Hook(module="session_hooks", function="session_start", deadline_s=25.0),
    "user-prompt": Hook(module="prompt_hook", function="user_prompt", deadline_s=5.0),
    "session-end": Hook(module="session_hooks", function="session_end", deadline_s=17.0),
}

app = typer.Typer(add_completion=False)


class _NeverRefuses(TyperCommand):
    """Ends with status 0 on wrong usage too, which elsewhere is status 2."""

    def parse_args(self, ctx: Any, args: list[str]) -> Any:  # noqa: ANN401 - the signature is typer's
        given = list(args)
        try:
            return super().parse_args(ctx, args)
        except typer.Exit:
            raise
        except Exception as error:  # noqa: BLE001 - the library's errors of usage, whichever they are
            _log_to(_home())
            _log.error("wrong usage: %s: %s", given, error)
            typer.echo(f"error: {error}", err=True)
            ctx.exit(0)


@app.command(cls=_NeverRefuses)
def hook(
    event: Annotated[str, typer.Argument(metavar="EVENT", help="session-start, user-prompt or session-end.")],
    *,
    butler: Annotated[
        str | None, typer.Option(help="Whose session it is.", show_default="the workspace's name")
    ] = None,
) -> None:
    """Do what an event of Claude Code asks for: its JSON comes on standard input, what is printed goes to the model.

    Always ends with status 0; what failed stands in logs/hooks.log under COMMONPLACE_HOME.
    """
    _log_to(_home())
    deadline_s = HOOKS[event].deadline_s if event in HOOKS else 1.0
    watchdog = threading.Timer(deadline_s, _give_up, (event, deadline_s))
    watchdog.daemon = True
    watchdog.start()
    text = ""
    try:
        text = _answer(event, butler)
    except (CommonplaceError, OSError) as error:
        _log.error("%s: %s", event, error)
    except Exception:  # noqa: BLE001 - an outer door: whatever it was, the session goes on
        _log.exception("%s failed", event)
    # From here on nothing may cut the output in two.
    watchdog.cancel()
    _write(text)


def _answer(event: str, butler: str | None) -> str:
    if event not in HOOKS:
        raise InvalidInputError("event", f"one of {', '.join(HOOKS)}", event)
    if sys.stdin.isatty():
        raise InvalidInputError("standard input", "a JSON object from Claude Code", "a terminal")
    document = sys.stdin.buffer.read(MAX_INPUT_BYTES).decode("utf-8", "replace")
    call = read_call(document, load_settings(read_current_directory=False), os.environ, butler=butler)
    module = import_module(f"{PACKAGE}.{HOOKS[event].module}")
    return asyncio.run(getattr(module, HOOKS[event].function)(call))


def _write(text: str) -> None:
    try:
        sys.stdout.buffer.write(text.encode())
        sys.stdout.buffer.flush()
    except OSError as error:
        _log.error("nobody reads the answer: %s", error)
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _give_up(event: str, deadline_s: float) -> NoReturn:
    _log.error("%s: gave up after %g s", event, deadline_s)
    os._exit(0)


def _home() -> Path:
    """Return where the log goes, also where the settings cannot be loaded."""
    named = os.environ.get(variable_of("home"))
    return Path(named).expanduser() if named else user_data_path("commonplace")


class _LogFile(RotatingFileHandler):
    """Says on standard error what cannot be written; the client never shows that to the model."""

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - the name is the library's
        with suppress(OSError, ValueError):
            sys.stderr.write(f"{self.format(record)}\n")
            sys.stderr.flush()


def _log_to(home: Path) -> None:
    """Send the log to a file of bounded size; to a person who tries a hook by hand as well.

    A hook may be the first to use a home, and closes it to others.
    """
    with suppress(OSError):
        for directory in (home, home / "logs"):
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    handler = _LogFile(
        home / "logs" / LOG_FILE, maxBytes=MAX_LOG_BYTES, backupCount=1, encoding="utf-8", delay=True
    )
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    also = [logging.StreamHandler()] if sys.stderr.isatty() else []
    logging.basicConfig(handlers=[handler, *also], level=logging.WARNING, force=True)
