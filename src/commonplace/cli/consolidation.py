"""``commonplace consolidation``: whether sessions become knowledge, by which model, and what that costs."""

from pathlib import Path
from typing import Annotated, Final

import typer

from commonplace.cli.command import Answer, commands
from commonplace.cli.run import settings
from commonplace.core.directories import make_directories
from commonplace.core.drafts import write_text
from commonplace.core.errors import SettingsError, StorageUnavailableError
from commonplace.core.settings import Settings, load_settings, with_settings, written_config
from commonplace.core.text import plural
from commonplace.knowledge import KnowledgeMemory
from commonplace.llm import can_consolidate, consolidation_ledger, names_language_model, open_model

DEFAULT_MODEL: Final = "claude-code"

app = typer.Typer(add_completion=False, no_args_is_help=True)
command = commands(app)

DailyTokensOption = Annotated[int, typer.Option(min=0, help="Tokens a day (UTC); 0: no limit.")]


@app.callback()
def group() -> None:
    """Whether sessions become knowledge, by which model, and what that costs."""


async def allow_consolidation(
    model: str, daily_tokens: int = Settings.model_fields["consolidation_daily_tokens"].default
) -> Path:
    """Write into the settings of the home that a model may consolidate, with a budget for each day.

    Args:
        model: The model, named like ``COMMONPLACE_MODEL``.
        daily_tokens: Tokens a day; 0 for no limit.

    Returns:
        The file that was written.

    Raises:
        SettingsError: The model is unknown, or what it needs is not installed; nothing was written.
        StorageUnavailableError: The file cannot be written.
    """
    loaded = load_settings(read_current_directory=False).settings
    chosen = {"model": model, "model_base_url": None, "model_api_key_file": None}
    async with open_model(loaded.model_copy(update=chosen)):
        return _write({"consolidation_model": model, "consolidation_daily_tokens": daily_tokens})


@command()
async def allow(
    model: Annotated[
        str, typer.Argument(metavar="MODEL", help="claude-code uses the account of Claude Code.")
    ] = DEFAULT_MODEL,
    *,
    daily_tokens: DailyTokensOption = Settings.model_fields["consolidation_daily_tokens"].default,
) -> Answer:
    """Let a model turn sessions into facts and rules, with a budget for each day.

    It reads the episodes of your sessions. The tokens count against the account of the model.
    """
    path = await allow_consolidation(model, daily_tokens)
    budget = f"at most {daily_tokens:,} tokens a day" if daily_tokens else "without a limit"
    document = {"model": model, "daily_tokens": daily_tokens, "file": path}
    return Answer(document, f"{model} consolidates sessions, {budget} ({path})")


@command()
async def refuse() -> Answer:
    """Take the permission back; sessions then expire after seven days, unless COMMONPLACE_MODEL is set."""
    path, loaded = written_config(), load_settings(read_current_directory=False)
    was_allowed, origin = loaded.settings.consolidation_model, loaded.origins["consolidation_model"]
    if was_allowed is None:
        return Answer({"file": path}, "no model was allowed to consolidate sessions; nothing changed")
    if origin != str(path):
        raise SettingsError(
            f"consolidation_model: the {origin} allows {was_allowed}; remove the setting there"
        )
    _write({"consolidation_model": None, "consolidation_daily_tokens": None})
    return Answer({"file": path}, f"{was_allowed} may no longer consolidate sessions ({path})")


@command()
async def show() -> Answer:
    """Show the model, today's tokens and cost, and the episodes that wait or expire soon."""
    chosen = settings()
    async with KnowledgeMemory.open(chosen) as memory:
        waiting = sum(each.episodes for each in await memory.pending_groups())
        expiring = await memory.expiring_episodes()
    document: dict[str, object] = {
        "model": chosen.consolidation_model or (chosen.model if names_language_model(chosen) else None),
        "episodes_waiting": waiting,
        "episodes_expiring": expiring.episodes,
        "first_expires_at": expiring.first_at,
    }
    lines: list[str] = []
    if chosen.consolidation_model is not None:
        ledger = consolidation_ledger(chosen)
        document |= {
            "tokens_today": ledger.spent_today,
            "daily_tokens": ledger.daily_tokens,
            "cost_today_usd": ledger.cost_today_usd,
        }
        limit = f" of {ledger.daily_tokens:,}" if ledger.daily_tokens else ""
        lines.append(f"{chosen.consolidation_model} consolidates sessions")
        lines.append(
            f"today: {ledger.spent_today:,}{limit} tokens, ${ledger.cost_today_usd:.2f} at list prices"
        )
    elif can_consolidate(chosen):
        lines.append(f"{chosen.model} consolidates sessions")
    else:
        lines.append("no model consolidates sessions; allow one: commonplace consolidation allow claude-code")
    lines.append(f"{plural(waiting, 'episode')} waiting, {expiring.episodes} of them expire within a day")
    if waiting and can_consolidate(chosen):
        lines.append("consolidate now: commonplace knowledge consolidate")
    return Answer(document, "\n".join(lines))


def _write(values: dict[str, str | int | None]) -> Path:
    path = written_config()
    try:
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        make_directories(path.parent)
        write_text(path, with_settings(text, values))
    except (OSError, UnicodeDecodeError) as error:
        raise StorageUnavailableError(f"{path}: cannot be written: {error}") from error
    return path
