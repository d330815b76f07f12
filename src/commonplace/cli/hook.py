"""``commonplace hook``: the command that a host calls at the start of a session, at a prompt, and at the end.

A hook always ends soon, with status 0, and prints its output completely or not at all: status 2 would drop the user's
prompt. Errors go to ``$COMMONPLACE_HOME/logs/hooks.log``.
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
from commonplace.cli.hosts.output import CLAUDE_CODE, rendered
from commonplace.core.errors import CommonplaceError, InvalidInputError
from commonplace.core.settings import load_settings, variable_of

LOG_FILE: Final = "hooks.log"
MAX_LOG_BYTES: Final = 256 * 1024
MAX_INPUT_BYTES: Final = 16 * 1024 * 1024
PACKAGE: Final = "commonplace.cli.claude_code"

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hook:
    """The function of an event, and its deadline, which is shorter than the client's (see ``configuration.py``)."""

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
    """Ends with status 0 on wrong usage, where other commands end with status 2."""

    def parse_args(self, ctx: Any, args: list[str]) -> Any:  # noqa: ANN401 - the signature is typer's
        given = list(args)
        try:
            return super().parse_args(ctx, args)
        except typer.Exit:
            raise
        except Exception as error:  # noqa: BLE001 - every usage error of the library
            _log_to(_home())
            _log.error("wrong usage: %s: %s", given, error)
            typer.echo(f"error: {error}", err=True)
            ctx.exit(0)


@app.command(cls=_NeverRefuses)
def hook(
    event: Annotated[str, typer.Argument(metavar="EVENT", help="session-start, user-prompt or session-end.")],
    *,
    butler: Annotated[
        str | None, typer.Option(help="The butler of the session.", show_default="the id of the project")
    ] = None,
    host: Annotated[
        str, typer.Option(help="The name of the host, whose JSON comes on standard input.")
    ] = CLAUDE_CODE,
) -> None:
    """Handle an event of a host. Its JSON comes on standard input; the output goes to the model.

    The exit status is always 0. Errors go to logs/hooks.log under COMMONPLACE_HOME.
    """
    _log_to(_home())
    deadline_s = HOOKS[event].deadline_s if event in HOOKS else 1.0
    watchdog = threading.Timer(deadline_s, _give_up, (event, deadline_s))
    watchdog.daemon = True
    watchdog.start()
    text = ""
    try:
        text = _answer(event, butler, host)
    except (CommonplaceError, OSError) as error:
        _log.error("%s: %s", event, error)
    except Exception:  # noqa: BLE001 - an outer door: the session goes on
        _log.exception("%s failed", event)
    # From here on, nothing may interrupt the output.
    watchdog.cancel()
    _write(text)


def _answer(event: str, butler: str | None, host: str) -> str:
    if event not in HOOKS:
        raise InvalidInputError("event", f"one of {', '.join(HOOKS)}", event)
    if sys.stdin.isatty():
        raise InvalidInputError("standard input", "a JSON object from the host", "a terminal")
    document = sys.stdin.buffer.read(MAX_INPUT_BYTES).decode("utf-8", "replace")
    call = read_call(
        document, load_settings(read_current_directory=False), os.environ, butler=butler, host=host
    )
    module = import_module(f"{PACKAGE}.{HOOKS[event].module}")
    text = asyncio.run(getattr(module, HOOKS[event].function)(call))
    return rendered(text, host=call.host, event=call.event)


def _write(text: str) -> None:
    try:
        sys.stdout.buffer.write(text.encode())
        sys.stdout.buffer.flush()
    except OSError as error:
        _log.error("the output cannot be written: %s", error)
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _give_up(event: str, deadline_s: float) -> NoReturn:
    _log.error("%s: gave up after %g s", event, deadline_s)
    os._exit(0)


def _home() -> Path:
    """Return the home for the log, even if the settings cannot be loaded."""
    named = os.environ.get(variable_of("home"))
    return Path(named).expanduser() if named else user_data_path("commonplace")


class _LogFile(RotatingFileHandler):
    """Prints records that cannot be written on standard error, which the client does not show to the model."""

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - the name is the library's
        with suppress(OSError, ValueError):
            sys.stderr.write(f"{self.format(record)}\n")
            sys.stderr.flush()


def _log_to(home: Path) -> None:
    """Send the log to a file of bounded size, and to a terminal.

    The home may be new; it is created for its owner only.
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
