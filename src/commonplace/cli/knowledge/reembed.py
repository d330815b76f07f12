"""``commonplace knowledge reembed``: moves all memories of all tenants to another embedding model."""

from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from commonplace.cli.frame.command import Answer, commands
from commonplace.cli.frame.output import table
from commonplace.cli.frame.run import settings
from commonplace.cli.knowledge.options import opened
from commonplace.core.text import plural
from commonplace.embedding import EmbeddingEngine, EmbeddingOptions
from commonplace.knowledge import (
    KnowledgeMemory,
    MoveProgress,
    MoveReceipt,
    MoveState,
    MoveStatus,
    Reembedding,
)

app = typer.Typer()
command = commands(app, lambda: opened())  # noqa: PLW0108 - without the option --tenant


@command("reembed")
async def reembed_command(
    memory: KnowledgeMemory,
    *,
    model: Annotated[
        str | None,
        typer.Option(
            help="Name or directory of the new model.",
            show_default="the embedding_model of the settings",
        ),
    ] = None,
    batch: Annotated[int, typer.Option(help="Memories per batch.")] = Reembedding.BATCH_ROWS,
    status: Annotated[
        bool, typer.Option("--status", help="Show the progress of the move without changing anything.")
    ] = False,
    abort: Annotated[
        bool, typer.Option("--abort", help="End the running move and remove its vectors.")
    ] = False,
    drop_former: Annotated[
        bool,
        typer.Option(
            "--drop-former",
            help="Remove the vectors of the former model. Going back to it later embeds all memories again.",
        ),
    ] = False,
) -> Answer:
    """Move all memories of all tenants to another embedding model, or resume a move that was interrupted."""
    if status + abort + drop_former > 1:
        raise typer.BadParameter("expected one of --status, --abort and --drop-former, got several")
    if status:
        return _status(await memory.reembedding.status())
    if abort or drop_former:
        remove = memory.reembedding.abort if abort else memory.reembedding.drop_former_vectors
        removed = await remove(batch_rows=batch)
        return Answer({"removed": removed}, f"removed {plural(removed, 'unused vector')}")
    loaded = settings()
    options = EmbeddingOptions.from_settings(
        loaded if model is None else loaded.model_copy(update={"embedding_model": model})
    )
    receipt = await _move(memory, options, batch)
    return Answer(receipt, _sentence(receipt, options.model))


async def _move(memory: KnowledgeMemory, options: EmbeddingOptions, batch: int) -> MoveReceipt:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    engine = EmbeddingEngine(options)
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("embedding", total=None)

        def show(progress: MoveProgress) -> None:
            bar.update(task, description=progress.step, completed=progress.done, total=progress.total)

        try:
            return await memory.reembedding.run(engine, batch_rows=batch, on_progress=show)
        finally:
            engine.close()


def _sentence(receipt: MoveReceipt, model: str) -> str:
    if receipt.model is None:
        return "nothing to move: no memory has ever been stored"
    if not receipt.moved:
        memories = plural(receipt.with_passages, "long memory", "long memories")
        passages = f"\nmade the missing passages of {memories}" if receipt.with_passages else ""
        return f"nothing to move: every memory already has vectors of {receipt.model}{passages}"
    return (
        f"embedded {plural(receipt.embedded, 'memory', 'memories')}; the active model is now {receipt.model}\n"
        f"Restart all processes with COMMONPLACE_EMBEDDING_MODEL={model}. Until then they search by words alone "
        "and store nothing."
    )


def _status(status: MoveStatus) -> Answer:
    last = status.last
    rows: list[tuple[str, object]] = [("active model", status.active or "none yet")]
    if last is not None:
        at_work = ""
        if last.state is MoveState.RUNNING:
            at_work = ", in progress" if status.working else ", but interrupted: run reembed again to resume"
        rows += [
            ("last move", f"to {last.to}"),
            ("state", f"{last.state}{at_work}"),
            ("step", last.step),
            ("embedded", f"{last.done} of {last.total}"),
            ("started (UTC)", f"{last.started_at:%Y-%m-%d %H:%M:%S}"),
            ("last progress (UTC)", f"{last.updated_at:%Y-%m-%d %H:%M:%S}"),
        ]
    return Answer(status, table("field", "value", rows=rows))
