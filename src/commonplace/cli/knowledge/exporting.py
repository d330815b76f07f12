"""``commonplace knowledge export``: the memories of one tenant as JSON Lines, or as a folder of Markdown."""

import typer

from commonplace.cli.frame.command import Answer, commands
from commonplace.cli.frame.output import TargetArgument
from commonplace.cli.knowledge.options import opened
from commonplace.knowledge import KnowledgeMemory

app = typer.Typer(add_completion=False)
command = commands(app, opened)


@command()
async def export(memory: KnowledgeMemory, target: TargetArgument) -> Answer:
    """Export facts, rules, episodes and entities to JSON Lines, to a table in CSV, or to a folder of Markdown.

    The export holds times, confidence and superseded facts. It omits forgotten memories.
    """
    from commonplace.cli.frame.export_target import written  # noqa: PLC0415 - the forms take time to import
    from commonplace.services.transfer.exporting import export_knowledge  # noqa: PLC0415

    return written([item async for item in export_knowledge(memory)], target)
