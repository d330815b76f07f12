"""Why an item cannot be stored, found without storing it, so that a dry run says what the import does."""

from dataclasses import replace
from typing import assert_never

from commonplace.core.errors import InvalidInputError, SecretRefusedError
from commonplace.core.secrets import find_secret_in_json
from commonplace.knowledge import EpisodeDraft, FactDraft, RuleDraft, check_draft, check_entity
from commonplace.operational import check_lesson
from commonplace.services.transfer.items import (
    DigestItem,
    EntityItem,
    Item,
    OperationalItem,
    WorkspaceItem,
    to_json,
)
from commonplace.workspace import check_note


def refusal_of(item: Item, *, allow_secrets: bool) -> str | None:
    """Return why an item would be refused; ``None`` if it can be stored. Digests are checked when they are stored."""
    secret = None if allow_secrets else find_secret_in_json(to_json(item))
    if secret is not None:
        return f"text appears to contain a secret ({secret.kind})"
    try:
        _check(item)
    except (InvalidInputError, SecretRefusedError) as error:
        return str(error)
    return None


def _check(item: Item) -> None:
    """Raise the error with which a memory would refuse an item. Secrets are allowed, for they were looked for."""
    match item:
        case FactDraft():
            check_draft(replace(item, entity_id=None), allow_secrets=True)
        case RuleDraft() | EpisodeDraft():
            check_draft(item, allow_secrets=True)
        case EntityItem():
            check_entity(
                canonical_name=item.name,
                entity_type=item.entity_type,
                aliases=item.aliases,
                metadata=item.metadata,
                allow_secrets=True,
            )
        case OperationalItem():
            check_lesson(
                category=item.category,
                observation=item.observation,
                service=item.service,
                confidence=item.confidence,
                allow_secrets=True,
            )
        case WorkspaceItem():
            check_note(item.text, tags=item.tags, scope=item.scope, allow_secrets=True)
        case DigestItem():
            pass
        case _:
            assert_never(item)
