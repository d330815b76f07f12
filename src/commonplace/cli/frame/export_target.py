"""Target of an export: standard output, a JSON Lines file, or a folder of Markdown."""

import os
import shutil
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

import typer

from commonplace.cli.frame.command import Answer
from commonplace.core.atomic_write import draft_of
from commonplace.core.errors import InvalidInputError, StorageUnavailableError
from commonplace.core.text import plural
from commonplace.services.transfer import jsonl, markdown
from commonplace.services.transfer.items import Item


def written(items: Sequence[Item], target: Path) -> Answer:
    """Write or print items, and return their number.

    Raises:
        InvalidInputError: The target already exists.
        StorageUnavailableError: The items cannot be written.
    """
    if str(target) == "-":
        # JSON Lines are UTF-8, whatever the encoding of the terminal is.
        return Answer({"count": len(items)}, lambda _: typer.echo("\n".join(jsonl.lines(items)).encode()))
    try:
        write(items, target.absolute())
    except OSError as error:
        raise StorageUnavailableError(f"{target}: {error.strerror or error}") from error
    return Answer({"count": len(items), "target": target}, f"{plural(len(items), 'item')} in {target}")


def write(items: Iterable[Item], target: Path) -> None:
    """Write items to a new JSON Lines file or to a new or empty folder.

    Raises:
        InvalidInputError: The target already exists.
        OSError: The items cannot be written; nothing is left of them.
    """
    if os.path.lexists(target) and not (target.is_dir() and not any(target.iterdir())):
        raise InvalidInputError("target", "a path where nothing exists", str(target))
    if target.suffix == ".jsonl":
        with draft_of(target) as file:
            file.writelines(f"{line}\n".encode() for line in jsonl.lines(items))
        return
    staging = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    try:
        markdown.write(items, staging)
        if (
            target.is_dir()
        ):  # The directory itself stays, because a shell may be in it, or a disk mounted on it.
            for folder in staging.iterdir():
                shutil.move(folder, target)
            staging.rmdir()
        else:
            staging.rename(target)
    except BaseException:
        shutil.rmtree(staging, ignore_errors=True)
        raise
