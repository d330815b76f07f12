"""``commonplace knowledge reembed``: moves all memories of all tenants to another embedding model."""

from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from commonplace.cli.knowledge.options import TENANT, use
from commonplace.cli.output import JsonOption, console, print_json, table
from commonplace.cli.run import settings
from commonplace.core.errors import InvalidInputError
from commonplace.core.text import plural
from commonplace.embedding import EmbeddingEngine, EmbeddingOptions
from commonplace.knowledge import BATCH_ROWS, MoveProgress, MoveReceipt, MoveState, MoveStatus

app = typer.Typer()


@app.command("reembed")
def reembed_command(
    *,
    model: Annotated[
        str | None,
        typer.Option(
            help="Name or directory of the new model.",
            show_default="the embedding_model of the settings",
        ),
    ] = None,
    batch: Annotated[int, typer.Option(help="Memories per batch.")] = BATCH_ROWS,
    status: Annotated[
        bool, typer.Option("--status", help="Show the progress of the move, and change nothing.")
    ] = False,
    abort: Annotated[
        bool, typer.Option("--abort", help="End the running move and remove its vectors.")
    ] = False,
    drop_former: Annotated[
        bool,
        typer.Option(
            "--drop-former", help="Remove the former model's vectors; going back then embeds all memories."
        ),
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Move all memories of all tenants to another embedding model, or resume a move that was interrupted."""
    if status + abort + drop_former > 1:
        raise InvalidInputError("reembed", "one of --status, --abort and --drop-former", "several")
    if status:
        _show_status(use(TENANT, lambda memory: memory.reembedding_status()), as_json=as_json)
    elif abort:
        _show_removed(use(TENANT, lambda memory: memory.abort_reembedding(batch_rows=batch)), as_json=as_json)
    elif drop_former:
        _show_removed(
            use(TENANT, lambda memory: memory.drop_former_vectors(batch_rows=batch)), as_json=as_json
        )
    else:
        loaded = settings()
        options = EmbeddingOptions.from_settings(
            loaded if model is None else loaded.model_copy(update={"embedding_model": model})
        )
        _show_receipt(_move(options, batch), options.model, as_json=as_json)


def _move(options: EmbeddingOptions, batch: int) -> MoveReceipt:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    engine = EmbeddingEngine(options)
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("embedding", total=None)

        def show(progress: MoveProgress) -> None:
            bar.update(task, description=progress.step, completed=progress.done, total=progress.total)

        try:
            return use(TENANT, lambda memory: memory.reembed(engine, batch_rows=batch, on_progress=show))
        finally:
            engine.close()


def _show_removed(removed: int, *, as_json: bool) -> None:
    _say({"removed": removed}, f"removed {plural(removed, 'unused vector')}", as_json=as_json)


def _show_receipt(receipt: MoveReceipt, model: str, *, as_json: bool) -> None:
    if receipt.model is None:
        said = "nothing to move: no memory was ever stored"
    elif not receipt.moved:
        said = f"nothing to move: every memory has vectors of {receipt.model}"
    else:
        said = (
            f"embedded {plural(receipt.embedded, 'memory', 'memories')}; the active model is now {receipt.model}\n"
            f"Restart all processes with COMMONPLACE_EMBEDDING_MODEL={model}. Until then they search by words alone "
            "and store nothing."
        )
    _say(receipt, said, as_json=as_json)


def _show_status(status: MoveStatus, *, as_json: bool) -> None:
    if as_json:
        print_json(status)
        return
    last = status.last
    rows: list[tuple[str, object]] = [("active model", status.active or "none yet")]
    if last is not None:
        rows += [
            ("last move", f"to {last.to}"),
            ("state", f"{last.state}{_at_work(status)}"),
            ("step", last.step),
            ("embedded", f"{last.done} of {last.total}"),
            ("started (UTC)", f"{last.started_at:%Y-%m-%d %H:%M:%S}"),
            ("last progress (UTC)", f"{last.updated_at:%Y-%m-%d %H:%M:%S}"),
        ]
    console().print(table("field", "value", rows=rows))


def _at_work(status: MoveStatus) -> str:
    if status.last is None or status.last.state is not MoveState.RUNNING:
        return ""
    return ", in progress" if status.working else ", but interrupted: run reembed again to resume"


def _say(document: object, said: str, *, as_json: bool) -> None:
    if as_json:
        print_json(document)
    else:
        typer.echo(said)
