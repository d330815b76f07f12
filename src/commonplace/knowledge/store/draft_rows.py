"""Drafts as rows: parameters for the statements that store them."""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import fields
from typing import Any
from uuid import uuid4

import asyncpg

from commonplace.core.errors import InvalidInputError
from commonplace.core.instructions import find_flags
from commonplace.knowledge.model import inputs
from commonplace.knowledge.model.drafts import Draft
from commonplace.knowledge.model.search_text import search_text
from commonplace.knowledge.store.vectors import Embeddings


def columns(drafts: Sequence[Draft], texts: Sequence[str], embeddings: Embeddings) -> dict[str, Any]:
    """Return the parameters of a statement that stores drafts, as one list for each column, with new ids.

    The drafts must be checked, of one kind, and at least one. Searches find the memories by the given texts.
    """
    by_name = {each.name: [getattr(draft, each.name) for draft in drafts] for each in fields(drafts[0])}
    for name in by_name.keys() & {"tags", "metadata"}:
        by_name[name] = [inputs.json_text(value) for value in by_name[name]]
    return by_name | {
        "id": [uuid4() for _ in drafts],
        "flags": [inputs.json_text(find_flags(text)) for text in texts],
        "search_text": [search_text(text) for text in texts],
        "embedding": embeddings.vectors,
        "model": embeddings.model,
        "version": embeddings.version,
    }


@contextmanager
def known_sources(drafts: Sequence[Any]) -> Generator[None]:
    """Translate the database's refusal of unknown source episodes into a clear error.

    Raises:
        InvalidInputError: An episode does not exist; roll back the transaction or savepoint.
    """
    try:
        yield
    except asyncpg.ForeignKeyViolationError:
        sources = sorted({str(draft.source_episode_id) for draft in drafts if draft.source_episode_id})
        raise InvalidInputError("source_episode_id", "the id of an existing episode", sources) from None
