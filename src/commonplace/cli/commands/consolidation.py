"""``commonplace consolidation``: the model and the budget that turn sessions into knowledge."""

from typing import Annotated, Final

import typer

from commonplace.cli.commands.permission import (
    DAILY_TOKENS,
    allow_consolidation,
    allowed,
    write_consolidation,
)
from commonplace.cli.frame.command import Answer, commands
from commonplace.cli.frame.run import settings
from commonplace.core.errors import SettingsError
from commonplace.core.settings import load_settings, written_config
from commonplace.core.text import plural
from commonplace.knowledge import KnowledgeMemory
from commonplace.llm import can_consolidate, consolidation_ledger, names_language_model

DEFAULT_MODEL: Final = "claude-code"

app = typer.Typer(add_completion=False, no_args_is_help=True)
command = commands(app)


@command()
async def allow(
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL", help="claude-code, codex and gemini-cli use the account of that program."
        ),
    ] = DEFAULT_MODEL,
    *,
    daily_tokens: Annotated[
        int, typer.Option(min=0, help="Tokens per day (UTC); 0: no limit.")
    ] = DAILY_TOKENS,
) -> Answer:
    """Allow a model to turn sessions into facts and rules, with a daily token budget.

    The model reads the episodes of your sessions. The tokens are charged to the account of the model.
    """
    path = await allow_consolidation(model, daily_tokens)
    document = {"model": model, "daily_tokens": daily_tokens, "file": path}
    return Answer(document, allowed(model, daily_tokens, path))


@command()
async def refuse() -> Answer:
    """Withdraw the permission. Sessions then expire after seven days, unless COMMONPLACE_MODEL is set."""
    path, loaded = written_config(), load_settings(read_current_directory=False)
    was_allowed, origin = loaded.settings.consolidation_model, loaded.origins["consolidation_model"]
    if was_allowed is None:
        return Answer({"file": path}, "no model had permission to consolidate sessions; nothing changed")
    if origin != str(path):
        raise SettingsError(
            f"consolidation_model: the {origin} allows {was_allowed}; remove the setting there"
        )
    write_consolidation(None, None)
    return Answer({"file": path}, f"{was_allowed} may no longer consolidate sessions ({path})")


@command()
async def show() -> Answer:
    """Show the model, the tokens and cost of today, and the episodes that wait or expire soon."""
    chosen = settings()
    async with KnowledgeMemory.open(chosen) as memory:
        waiting = sum(each.episodes for each in await memory.runs.pending())
        expiring = await memory.runs.expiring()
        failed = await memory.lists.episodes(status="failed", live=True, limit=1)
    document: dict[str, object] = {
        "model": chosen.consolidation_model or (chosen.model if names_language_model(chosen) else None),
        "episodes_waiting": waiting,
        "episodes_expiring": expiring.episodes,
        "first_expires_at": expiring.first_at,
        "last_error": failed[0].last_error if failed else None,
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
        cost = ledger.cost_today_usd
        price = "price unknown" if cost is None else f"${cost:.2f} at list prices"
        lines.append(f"today: {ledger.spent_today:,}{limit} tokens, {price}")
    elif can_consolidate(chosen):
        lines.append(f"{chosen.model} consolidates sessions")
    else:
        lines.append(
            "no model consolidates sessions. To allow claude-code, codex, gemini-cli or another model: "
            "commonplace consolidation allow MODEL"
        )
    lines.append(f"{plural(waiting, 'episode')} waiting, {expiring.episodes} of which expire within a day")
    if failed:
        lines.append(f"an episode failed and will be retried: {failed[0].last_error}")
    if waiting and can_consolidate(chosen):
        lines.append("consolidate now: commonplace knowledge consolidate")
    return Answer(document, "\n".join(lines))
