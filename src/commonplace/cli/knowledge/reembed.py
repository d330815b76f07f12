"""``commonplace knowledge reembed``: all memories of all tenants to another embedding model."""

from collections.abc import Awaitable, Callable
from typing import Annotated, TypeVar

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from commonplace.cli.knowledge.options import TENANT, use
from commonplace.cli.output import JsonOption, console, print_json, table
from commonplace.cli.run import settings
from commonplace.core.errors import InvalidInputError
from commonplace.core.text import plural
from commonplace.embedding import EmbeddingEngine, EmbeddingOptions
from commonplace.knowledge.memory import KnowledgeMemory
from commonplace.knowledge.reembedding import moves
from commonplace.knowledge.reembedding.pipeline import (
    BATCH_ROWS,
    MoveReceipt,
    MoveStatus,
    abort_reembedding,
    drop_former_vectors,
    reembed,
    reembedding_status,
)

app = typer.Typer()

_T = TypeVar("_T")


@app.command("reembed")
def reembed_command(
    *,
    model: Annotated[
        str | None,
        typer.Option(
            help="Name or directory of the model to move to.",
            show_default="the embedding_model of the settings",
        ),
    ] = None,
    batch: Annotated[int, typer.Option(help="Memories a batch.")] = BATCH_ROWS,
    status: Annotated[
        bool, typer.Option("--status", help="Show how far a move is, and change nothing.")
    ] = False,
    abort: Annotated[
        bool, typer.Option("--abort", help="End the move that is under way, and remove what it has made.")
    ] = False,
    drop_former: Annotated[
        bool,
        typer.Option(
            "--drop-former", help="Remove the vectors of the model before; there is no way back then."
        ),
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Move all memories of all tenants to another embedding model; go on with a move that was interrupted."""
    if status + abort + drop_former > 1:
        raise InvalidInputError("reembed", "one of --status, --abort and --drop-former", "several")
    if status:
        _show_status(_use(reembedding_status), as_json=as_json)
    elif abort or drop_former:
        remove = abort_reembedding if abort else drop_former_vectors
        removed = _use(remove, batch_rows=batch)
        _say({"removed": removed}, f"removed {removed} vectors that were not in use", as_json=as_json)
    else:
        loaded = settings()
        options = EmbeddingOptions.from_settings(
            loaded if model is None else loaded.model_copy(update={"embedding_model": model})
        )
        _show_receipt(_move(options, batch), options.model, as_json=as_json)


def _use(function: Callable[..., Awaitable[_T]], *arguments: object, **options: object) -> _T:
    """Run a function on the connections of knowledge memory, whose tenant does not matter here."""

    async def work(memory: KnowledgeMemory) -> _T:
        async with memory.acting() as connections:
            return await function(connections, *arguments, **options)

    return use(TENANT, work)


def _move(options: EmbeddingOptions, batch: int) -> MoveReceipt:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    engine = EmbeddingEngine(options)
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("embedding", total=None)

        def show(progress: moves.Progress) -> None:
            bar.update(task, description=progress.step, completed=progress.done, total=progress.total)

        try:
            return _use(reembed, engine, batch_rows=batch, on_progress=show)
        finally:
            engine.close()


def _show_receipt(receipt: MoveReceipt, model: str, *, as_json: bool) -> None:
    if receipt.model is None:
        said = "nothing to move: no memory was ever stored"
    elif not receipt.moved:
        said = f"nothing to move: every memory is of {receipt.model}"
    else:
        said = (
            f"embedded {plural(receipt.embedded, 'memory', 'memories')}; all are searched by {receipt.model} now\n"
            f"restart what runs with COMMONPLACE_EMBEDDING_MODEL={model}: until then it searches by words alone and "
            "stores nothing"
        )
    _say(receipt, said, as_json=as_json)


def _show_status(status: MoveStatus, *, as_json: bool) -> None:
    if as_json:
        print_json(status)
        return
    last = status.last
    rows: list[tuple[str, object]] = [("memories are searched by", status.active or "no model yet")]
    if last is not None:
        rows += [
            ("last move", f"to {last.to}"),
            ("state", f"{last.state}{_at_work(status)}"),
            ("step", last.step),
            ("embedded", f"{last.done} of {last.total}"),
            ("began (UTC)", f"{last.started_at:%Y-%m-%d %H:%M:%S}"),
            ("got on (UTC)", f"{last.updated_at:%Y-%m-%d %H:%M:%S}"),
        ]
    console().print(table("what", "", rows=rows))


def _at_work(status: MoveStatus) -> str:
    if status.last is None or status.last.state != "running":
        return ""
    return (
        ", a process is at it" if status.working else ", and no process is at it: run reembed again to go on"
    )


def _say(document: object, said: str, *, as_json: bool) -> None:
    if as_json:
        print_json(document)
    else:
        typer.echo(said)
