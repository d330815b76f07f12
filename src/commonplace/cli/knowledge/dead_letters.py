"""``commonplace admin dead-letters``: episodes that no retry could consolidate."""

from functools import partial
from typing import Annotated

import typer

from commonplace.cli.frame.command import Answer, commands, listing
from commonplace.cli.frame.ids import with_short_id
from commonplace.cli.knowledge.consolidation import cut
from commonplace.cli.knowledge.options import ButlerOption, opened
from commonplace.core.text import plural
from commonplace.knowledge import KnowledgeMemory, MemoryType, short_id
from commonplace.services.memory_ids import MemoryKind

app = typer.Typer(add_completion=False)
command = commands(app, opened)


@command("dead-letters")
async def dead_letters(
    memory: KnowledgeMemory,
    *,
    requeue: Annotated[
        bool, typer.Option("--requeue", help="Retry the dead letters, with all attempts available again.")
    ] = False,
    butler: ButlerOption = None,
) -> Answer:
    """List dead letters (episodes with no retries left) with their last errors, or requeue them."""
    if requeue:
        number = await memory.dead_letters.requeue(butler=butler)
        return Answer({"requeued": number}, f"requeued {plural(number, 'episode')}")
    return listing(
        "dead_letters",
        await memory.dead_letters.list(butler=butler),
        ("id", "butler", "since (UTC)", "attempts", "last error"),
        lambda each: (
            short_id(MemoryType.EPISODE, each.id),
            each.butler,
            each.created_at,
            each.retry_count,
            cut(each.last_error),
        ),
        if_empty="No dead letters.",
        document=partial(with_short_id, MemoryKind.EPISODE),
    )
