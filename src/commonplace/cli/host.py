"""``commonplace host``: sessions of a butler that start with its memories and end with an episode."""

import os
from pathlib import Path
from typing import Annotated, Final

import typer

from commonplace.cli.operational.session_options import ClaudeOption, ExtraArguments, TimeoutOption
from commonplace.cli.output import JsonOption, console, print_json, table
from commonplace.cli.run import settings, use
from commonplace.core.errors import SettingsError
from commonplace.host.butler import FILE_NAME, load_butler
from commonplace.host.claude_runtime import DEFAULT_TIMEOUT_S, ClaudeRuntime
from commonplace.host.host import Host
from commonplace.host.memory_module import MemoryModule
from commonplace.operational import find_claude

FAILED: Final = 1

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    help="A minimal host: sessions with memory, configured by butler.toml.",
)

ButlerOption = Annotated[Path, typer.Option("--butler", help="The butler.toml to use.")]


@app.command("run")
def run_session(
    *,
    prompt: Annotated[str, typer.Option(help="The task of the session.")],
    butler: ButlerOption = Path(FILE_NAME),
    timeout: TimeoutOption = None,
    claude: ClaudeOption = None,
    arguments: ExtraArguments = None,
    as_json: JsonOption = False,
) -> None:
    """Run a session of the claude CLI with the butler's tools and memory, and store an episode of it.

    The default time-out is half an hour. Exit status 1 if the session failed.
    """
    loaded = load_butler(butler)
    runtime = ClaudeRuntime(
        find_claude(claude, os.environ),
        directory=Path.cwd(),
        arguments=tuple(arguments or ()),
        timeout_s=timeout.total_seconds() if timeout else DEFAULT_TIMEOUT_S,
    )
    outcome = use(Host.open(loaded, settings(), runtime), lambda host: host.run_session(prompt))
    if as_json:
        print_json(outcome)
    elif outcome.answer:
        typer.echo(outcome.answer)
    if outcome.failure:
        typer.echo(f"error: the session failed: {outcome.failure}", err=True)
        raise typer.Exit(FAILED)


@app.command()
def config(*, butler: ButlerOption = Path(FILE_NAME), as_json: JsonOption = False) -> None:
    """Print the configuration of a butler.toml with its defaults."""
    loaded = load_butler(butler)
    if unknown := sorted(loaded.modules.keys() - {MemoryModule.name}):
        raise SettingsError(f"{butler}: modules.{unknown[0]}: no module has this name")
    memory = loaded.module_config(MemoryModule.name, MemoryModule.config_model).model_dump(mode="json")
    if as_json:
        print_json({"butler": loaded.butler.model_dump(), "modules": {MemoryModule.name: memory}})
        return
    rows = [(f"butler.{key}", value) for key, value in loaded.butler.model_dump().items()]
    rows += [(f"modules.memory.retrieval.{key}", value) for key, value in memory["retrieval"].items()]
    console().print(table("key", "value", rows=rows))
