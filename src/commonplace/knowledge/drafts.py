"""Drafts of memories: their checks, and the parameters of the statements that store them."""

from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, Final, TypeVar
from uuid import uuid4

import asyncpg

from commonplace.core.choices import optional_one_of
from commonplace.core.errors import InvalidInputError
from commonplace.core.instructions import find_flags
from commonplace.core.sources import Source
from commonplace.knowledge import inputs
from commonplace.knowledge.connection.vectors import Embeddings
from commonplace.knowledge.lifecycle.permanence import require_permanence
from commonplace.knowledge.search.search_text import search_text

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_D = TypeVar("_D", bound="DataclassInstance")

LIFECYCLE_METADATA: Final = frozenset(
    {"status", "forgotten", "needs_inversion", "harmful_reasons", "original_content"}
)
"""Keys that the lifecycle sets in the metadata of a memory. Source: KNW-03.5, KNW-05.9, KNW-09.3, KNW-21."""


def own_metadata(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return the metadata of a memory without the keys that the lifecycle sets."""
    return {key: value for key, value in metadata.items() if key not in LIFECYCLE_METADATA}


def checked(draft: _D, *, reserved: Collection[str] = (), allow_secrets: bool) -> _D:
    """Return a draft with checked and cleaned values; the names of its fields decide the checks.

    Args:
        draft: A draft of an episode, fact or rule.
        reserved: Keys of the metadata that callers may not set.
        allow_secrets: Whether the operator allows text that looks like a secret.

    Raises:
        InvalidInputError: A value is invalid; the message names the field.
        SecretRefusedError: A text looks like a secret, and secrets are not allowed.
    """
    values = {each.name: getattr(draft, each.name) for each in fields(draft)}
    if "metadata" in values:
        values["metadata"] = inputs.require_metadata(
            values["metadata"], reserved=reserved, allow_secrets=allow_secrets
        )
    return replace(
        draft, **{name: _checked(name, value, allow_secrets=allow_secrets) for name, value in values.items()}
    )


def _checked(field: str, value: object, *, allow_secrets: bool) -> object:
    match field:
        case "subject" | "predicate":
            return inputs.require_key(value, field=field, allow_secrets=allow_secrets)
        case "content":
            return inputs.require_content(value, allow_secrets=allow_secrets)
        case "scope" | "butler":
            return inputs.require_scope(value, field=field, allow_secrets=allow_secrets)
        case "source_butler":
            return inputs.optional_scope(value, field=field, allow_secrets=allow_secrets)
        case "tags":
            return inputs.require_tags(value, allow_secrets=allow_secrets)
        case _:
            check = _CHECKS.get(field)
            return value if check is None else check(value, field)


_CHECKS: Final[Mapping[str, Callable[[object, str], object]]] = {
    "importance": lambda value, _: inputs.require_importance(value),
    "permanence": lambda value, _: require_permanence(value),
    "source": lambda value, field: optional_one_of(Source, value, field=field),
    **dict.fromkeys(
        ("session_id", "entity_id", "source_episode_id"),
        lambda value, field: inputs.optional_id(value, field=field),
    ),
    **dict.fromkeys(
        ("created_at", "valid_from", "valid_to"),
        lambda value, field: inputs.optional_moment(value, field=field),
    ),
}
"""Checks that take the value and the name of its field."""


def columns(
    drafts: Sequence["DataclassInstance"], texts: Sequence[str], embeddings: Embeddings
) -> dict[str, Any]:
    """Return the parameters of a statement that stores drafts, as one list for each column, with new ids.

    Args:
        drafts: Checked drafts of one kind, at least one.
        texts: The text that each memory is found by.
        embeddings: The vectors of these texts.
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
    """Raise a clear error if the database refuses the episodes that drafts name as their sources.

    Raises:
        InvalidInputError: An episode does not exist; roll back the transaction or savepoint.
    """
    try:
        yield
    except asyncpg.ForeignKeyViolationError:
        sources = sorted({str(draft.source_episode_id) for draft in drafts if draft.source_episode_id})
        raise InvalidInputError("source_episode_id", "the id of an existing episode", sources) from None
