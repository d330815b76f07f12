"""Drafts of memories: their checks, and parameters for the statements that store them."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import Field, fields, replace
from functools import partial
from typing import Any, ClassVar, Final, Self, TypeVar

from commonplace.core.choices import optional_one_of, require_one_of
from commonplace.core.errors import InvalidInputError
from commonplace.core.sources import Source
from commonplace.knowledge.model import inputs
from commonplace.knowledge.model.bounds import MAX_STATEMENT_CHARS
from commonplace.knowledge.model.kinds import Memory
from commonplace.knowledge.model.permanence import Permanence

LIFECYCLE_METADATA: Final = frozenset(
    {
        *("status", "forgotten", "needs_inversion", "harmful_reasons", "original_content"),
        *("waits", "orphaned", "accepted", "absent_source"),
    }
)
"""Keys that the lifecycle sets in the metadata of a memory. Source: KNW-03.5, KNW-05.9, KNW-09.3, KNW-21, SYN-09."""


class Draft:
    """Base of the drafts of episodes, facts and rules, whose fields have the names of the memory's fields."""

    __slots__ = ()
    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    is_statement: ClassVar[bool] = True
    """Whether the draft is a fact or a rule, whose text is shorter than that of an event may be."""

    @classmethod
    def of(cls, memory: Memory) -> Self:
        """Return a draft that stores a memory again, with the memory's trust as its source."""
        values = {each.name: getattr(memory, each.name) for each in fields(cls)}
        values["metadata"] = {
            key: value for key, value in memory.metadata.items() if key not in LIFECYCLE_METADATA
        }
        return cls(**values | {"source": memory.trust})


_D = TypeVar("_D", bound=Draft)


def checked(draft: _D, *, reserved: Collection[str] = (), allow_secrets: bool) -> _D:
    """Return a draft with checked and cleaned values; the field names determine the checks.

    Args:
        draft: A draft of an episode, fact or rule.
        reserved: Keys of the metadata that callers may not set.
        allow_secrets: Whether the operator allows text that looks like a secret.

    Raises:
        InvalidInputError: A value is invalid; the message names the field.
        SecretRefusedError: A text looks like a secret, and secrets are not allowed.
    """
    if not isinstance(draft, Draft):  # pyright: ignore[reportUnnecessaryIsInstance] - from callers
        raise InvalidInputError("draft", "a draft of an episode, fact or rule", draft)
    values = {each.name: getattr(draft, each.name) for each in fields(draft)}
    metadata = inputs.require_metadata(values["metadata"], reserved=reserved, allow_secrets=allow_secrets)
    cleaned = {
        name: _TEXT_CHECKS[name](value, field=name, allow_secrets=allow_secrets)
        if name in _TEXT_CHECKS
        else _CHECKS[name](value, field=name)
        for name, value in values.items()
        if name != "metadata"
    }
    if draft.is_statement:
        _refuse_document(cleaned["content"])
    return replace(draft, **cleaned, metadata=metadata)


def _refuse_document(content: object) -> None:
    """Refuse a text that is too long to be one memory."""
    length = len(str(content))
    if length > MAX_STATEMENT_CHARS:
        expected = (
            f"at most {MAX_STATEMENT_CHARS:,} characters, because a longer text is a document: "
            "store what matters of it, one statement at a time, or an episode"
        )
        raise InvalidInputError("content", expected, f"{length:,} characters")


_TEXT_CHECKS: Final[Mapping[str, Callable[..., object]]] = {
    "subject": inputs.require_key,
    "predicate": inputs.require_key,
    "content": inputs.require_content,
    "scope": inputs.require_scope,
    "butler": inputs.require_scope,
    "source_butler": inputs.optional_scope,
    "tags": inputs.require_tags,
}
"""Checks that refuse secrets; they take the value, the field name and whether secrets are allowed."""

_CHECKS: Final[Mapping[str, Callable[..., object]]] = {
    "importance": inputs.require_importance,
    "permanence": partial(require_one_of, Permanence),
    "source": partial(optional_one_of, Source),
    **dict.fromkeys(("session_id", "entity_id", "source_episode_id"), inputs.optional_id),
    **dict.fromkeys(("created_at", "valid_from", "last_confirmed_at"), inputs.optional_stored_moment),
    "valid_to": partial(inputs.optional_stored_moment, at_end=True),
}
"""Checks of other values; they take the value and the field name."""
