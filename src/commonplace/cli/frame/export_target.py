"""Target of an export: standard output, a file in JSON Lines or CSV, or a folder of Markdown."""

import io
import os
import shutil
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

import typer

from commonplace.cli.frame.command import Answer
from commonplace.core.atomic_write import draft_of
from commonplace.core.errors import InvalidInputError, StorageUnavailableError
from commonplace.core.text import plural
from commonplace.services.transfer import jsonl, markdown, table
from commonplace.services.transfer.items import ExportedItem

OTHER_FILES: Final = frozenset(
    {
        ".db",
        ".docx",
        ".gz",
        ".html",
        ".json",
        ".md",
        ".ods",
        ".parquet",
        ".pdf",
        ".sqlite",
        ".tgz",
        ".tsv",
        ".txt",
    }
    | {".xls", ".xlsx", ".xml", ".yaml", ".yml", ".zip"}
)
"""Endings of names that nobody gives to a folder."""


def written(items: Sequence[ExportedItem], target: Path) -> Answer:
    """Write or print items, and return their number.

    Raises:
        InvalidInputError: The target already exists, or ends like a file of another kind.
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


def write(items: Iterable[ExportedItem], target: Path) -> None:
    """Write items to a new file in JSON Lines or CSV, or to a new or empty folder.

    Raises:
        InvalidInputError: The target already exists.
        OSError: The items cannot be written; nothing is left of them.
    """
    if os.path.lexists(target) and not (target.is_dir() and not any(target.iterdir())):
        raise InvalidInputError("target", "a path where nothing exists", str(target))
    suffix = target.suffix.lower()
    if suffix in OTHER_FILES and not target.is_dir():
        raise InvalidInputError("target", "a name that ends in .jsonl or .csv, or a folder", str(target))
    if suffix == ".csv":
        with draft_of(target) as file, io.StringIO(newline="") as text:
            table.write(items, text)
            file.write(text.getvalue().encode("utf-8-sig"))  # Excel reads UTF-8 only with this mark.
        return
    if suffix == ".jsonl":
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
