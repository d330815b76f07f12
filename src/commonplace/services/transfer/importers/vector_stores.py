"""Databases of local vector stores: ``storage.sqlite`` of each Qdrant collection, and ``chroma.sqlite3`` of Chroma.

Qdrant stores its points as pickles. They are read without Qdrant, and no class or function named in a pickle is
imported or called.
"""

import io
import pickle
import sqlite3
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast

from commonplace.services.transfer.importers.sqlite_files import tables_of
from commonplace.services.transfer.items import Unreadable

_QDRANT: Final = "SELECT id, point FROM points ORDER BY id"
_CHROMA: Final = """
SELECT embeddings.embedding_id, fields.key, string_value, int_value, float_value, bool_value
FROM embedding_metadata AS fields JOIN embeddings ON embeddings.id = fields.id ORDER BY embeddings.embedding_id
"""
_CHROMA_LISTS: Final = """
SELECT embeddings.embedding_id, fields.key, string_value, int_value, float_value, bool_value
FROM embedding_metadata_array AS fields JOIN embeddings ON embeddings.id = fields.id ORDER BY fields.rowid
"""
_QDRANT_PACKAGE: Final = "qdrant_client."
_DAMAGED: Final = (
    pickle.UnpicklingError,
    struct.error,
    ArithmeticError,
    AttributeError,
    EOFError,
    LookupError,
    MemoryError,
    RecursionError,
    TypeError,
    ValueError,
)
"""The errors that a damaged pickle may raise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """A point of a vector store without its vector."""

    id: str
    payload: dict[str, Any]


def databases_of(folder: Path) -> list[Path]:
    """Return the databases in the folder of a vector store; an empty list for any other folder."""
    chroma = folder / "chroma.sqlite3"
    return [chroma] if chroma.is_file() else sorted(folder.glob("collection/*/storage.sqlite"))


def points_of(connection: sqlite3.Connection) -> Iterator[Point | Unreadable] | None:
    """Return the points of a database, ordered by id; ``None`` if the database does not belong to a vector store.

    Raises:
        sqlite3.Error: The file is not a database.
    """
    tables = tables_of(connection)
    if "points" in tables:
        return _qdrant(connection)
    if "embedding_metadata" in tables:
        return _chroma(connection, has_lists="embedding_metadata_array" in tables)
    return None


class _Fields:
    """Replacement for every class of Qdrant: it stores the fields and does nothing."""

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.fields: dict[str, Any] = state["__dict__"]


class _Unpickler(pickle.Unpickler):
    def find_class(self, module_name: str, global_name: str, /) -> type[_Fields]:
        if module_name.startswith(_QDRANT_PACKAGE):
            return _Fields
        raise pickle.UnpicklingError(f"expected a point of Qdrant, got {module_name}.{global_name}")


def _qdrant(connection: sqlite3.Connection) -> Iterator[Point | Unreadable]:
    for key, pickled in connection.execute(_QDRANT):
        try:
            fields = _Unpickler(io.BytesIO(pickled)).load().fields
            yield Point(id=str(fields["id"]), payload=dict(fields["payload"] or {}))
        except _DAMAGED as error:
            yield Unreadable(place=f"point {key}", reason=str(error) or type(error).__name__)


def _chroma(connection: sqlite3.Connection, *, has_lists: bool) -> Iterator[Point]:
    payloads: dict[str, dict[str, Any]] = {}
    for point, key, *values in connection.execute(_CHROMA):
        payloads.setdefault(point, {})[key] = _value(*values)
    for point, key, *values in connection.execute(_CHROMA_LISTS) if has_lists else ():
        listed = payloads.setdefault(point, {}).setdefault(key, [])
        if isinstance(listed, list):
            cast("list[object]", listed).append(_value(*values))
    for point, payload in payloads.items():
        yield Point(id=str(point), payload=payload)


def _value(text: object, whole: object, real: object, truth: object) -> object:
    if truth is not None:
        return bool(truth)
    return next((each for each in (text, whole, real) if each is not None), None)
