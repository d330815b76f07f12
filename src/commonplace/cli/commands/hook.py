"""``commonplace hook``: the command that a host calls at the start of a session, at each prompt, and at the end.

The resident process answers most hooks (:mod:`commonplace.hosts.resident`); this module does the work without it.

A hook always ends soon, with status 0, and prints its output completely or not at all: status 2 would drop the user's
prompt. Errors go to ``$COMMONPLACE_HOME/logs/hooks.log``.
"""

import asyncio
import logging
import os
import sys
import threading
from importlib import import_module
from typing import Annotated, Any, NoReturn

import typer

from commonplace.cli.frame.usage import Command
from commonplace.core.decoding import decode_text
from commonplace.core.errors import CommonplaceError, InvalidInputError
from commonplace.core.settings import home_of, load_settings
from commonplace.hosts.hooks.events import ACTOR, handler
from commonplace.hosts.hooks.hook_input import HookCall, read_call
from commonplace.hosts.hooks.log import log_to
from commonplace.hosts.install.output import CLAUDE_CODE, rendered
from commonplace.hosts.resident.client import DEADLINES_S, MAX_INPUT_BYTES
from commonplace.services.team_client import TeamClient

_log = logging.getLogger(__name__)

app = typer.Typer(add_completion=False)


class _NeverRefuses(Command):
    """Command that ends with status 0 on wrong usage, where other commands end with status 2."""

    def parse_args(self, ctx: Any, args: list[str]) -> Any:  # noqa: ANN401 - the signature is typer's
        given = list(args)
        try:
            return super().parse_args(ctx, args)
        except typer.Exit:
            raise
        except Exception as error:  # noqa: BLE001 - every usage error of the library
            log_to(home_of(os.environ))
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
        str, typer.Option(help="The name of the host that sends JSON on standard input.")
    ] = CLAUDE_CODE,
    server: Annotated[
        str | None,
        typer.Option(help="The address of a service.", show_default="knowledge memory of the home"),
    ] = None,
    token_file: Annotated[
        str | None, typer.Option(help="The file with the token for the service.", show_default="none")
    ] = None,
) -> None:
    """Handle an event of an agent host: read its JSON from standard input, and print the output for the model.

    The exit status is always 0. Errors go to logs/hooks.log under COMMONPLACE_HOME.
    """
    log_to(home_of(os.environ))
    deadline_s = DEADLINES_S.get(event, 1.0)
    watchdog = threading.Timer(deadline_s, _give_up, (event, deadline_s))
    watchdog.daemon = True
    watchdog.start()
    text = ""
    try:
        service = TeamClient.at(server, token_file or "") if server else None
        text = _answer(event, butler, host, service)
    except (CommonplaceError, OSError) as error:
        _log.error("%s: %s", event, error)
    except Exception:  # noqa: BLE001 - an outer door: the session goes on
        _log.exception("%s failed", event)
    # From here on, nothing may interrupt the output.
    watchdog.cancel()
    _write(text)


def _answer(event: str, butler: str | None, host: str, service: TeamClient | None) -> str:
    if event not in DEADLINES_S:
        raise InvalidInputError("event", f"one of {', '.join(DEADLINES_S)}", event)
    if sys.stdin.isatty():
        raise InvalidInputError("standard input", "a JSON object from the host", "a terminal")
    document = decode_text(sys.stdin.buffer.read(MAX_INPUT_BYTES))
    settings = load_settings(read_current_directory=False)
    call = read_call(document, settings, os.environ, butler=butler, host=host, service=service)
    return rendered(asyncio.run(_work(event, call)), host=call.host, event=call.event)


async def _work(event: str, call: HookCall) -> str:
    # Imported here, because most hooks are answered by the resident process.
    knowledge: Any = import_module("commonplace.knowledge").KnowledgeMemory
    async with knowledge.open(call.settings, actor=ACTOR, lazy=True) as memory:
        return await handler(event)(call, memory)


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
