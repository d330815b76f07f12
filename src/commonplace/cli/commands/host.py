"""``commonplace admin host``: sessions of a butler that start with its memories and end with an episode."""

import os
from pathlib import Path
from typing import Annotated

import typer

from commonplace.butlers.butler import FILE_NAME, load_butler
from commonplace.butlers.claude_runtime import DEFAULT_TIMEOUT_S, ClaudeRuntime
from commonplace.butlers.host import ButlerHost
from commonplace.butlers.memory_module import MemoryModule
from commonplace.cli.frame.command import Answer, commands
from commonplace.cli.frame.output import table
from commonplace.cli.frame.run import settings
from commonplace.cli.frame.session_options import ClaudeOption, ExtraArguments, TimeoutOption
from commonplace.core.errors import SettingsError
from commonplace.operational import find_claude

app = typer.Typer(add_completion=False, no_args_is_help=True)

command = commands(app)

ButlerOption = Annotated[Path, typer.Option("--butler", help="Path of the butler.toml.")]


@command("run")
async def run_session(
    *,
    prompt: Annotated[str, typer.Option(help="The task of the session.")],
    butler: ButlerOption = Path(FILE_NAME),
    time_limit: TimeoutOption = None,
    claude: ClaudeOption = None,
    arguments: ExtraArguments = None,
) -> Answer:
    """Run a session of the claude CLI with the butler's tools and memory, and store an episode of it.

    The default time-out is half an hour. Exit status 1 if the session failed.
    """
    loaded = load_butler(butler)
    runtime = ClaudeRuntime(
        find_claude(claude, os.environ),
        directory=Path.cwd(),
        arguments=tuple(arguments or ()),
        timeout_s=time_limit.total_seconds() if time_limit else DEFAULT_TIMEOUT_S,
    )
    async with ButlerHost.open(loaded, settings(), runtime) as host:
        outcome = await host.run_session(prompt)
    error = f"the session failed: {outcome.failure}" if outcome.failure else None
    return Answer(outcome, outcome.answer or "", error)


@command()
async def config(*, butler: ButlerOption = Path(FILE_NAME)) -> Answer:
    """Print the configuration of a butler.toml with its defaults."""
    loaded = load_butler(butler)
    if unknown := sorted(loaded.modules.keys() - {MemoryModule.name}):
        raise SettingsError(f"{butler}: modules.{unknown[0]}: no module has this name")
    memory = loaded.module_config(MemoryModule.name, MemoryModule.config_model).model_dump(mode="json")
    rows = [(f"butler.{key}", value) for key, value in loaded.butler.model_dump().items()]
    rows += [(f"modules.memory.retrieval.{key}", value) for key, value in memory["retrieval"].items()]
    document = {"butler": loaded.butler.model_dump(), "modules": {MemoryModule.name: memory}}
    return Answer(document, table("key", "value", rows=rows))
