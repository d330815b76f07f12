"""Checks of what is about to be stored, without storing it."""

from collections.abc import Mapping, Sequence
from typing import Any

from commonplace.core.choices import require_one_of
from commonplace.knowledge.memories.episodes import EpisodeDraft
from commonplace.knowledge.memories.rules import RuleDraft, checked_rule
from commonplace.knowledge.model.drafts import checked
from commonplace.knowledge.model.entity_fields import (
    RESERVED_METADATA,
    EntityType,
    require_aliases,
    require_name,
)
from commonplace.knowledge.model.fact_drafts import FactDraft, checked_fact
from commonplace.knowledge.model.inputs import require_metadata


def check_draft(draft: EpisodeDraft | FactDraft | RuleDraft, *, allow_secrets: bool = False) -> None:
    """Raise the error with which a store would refuse a draft.

    Raises:
        InvalidInputError: A value is invalid; the message names the field.
        SecretRefusedError: A text looks like a secret, and secrets are not allowed.
    """
    if isinstance(draft, FactDraft):
        checked_fact(draft, allow_secrets=allow_secrets)
    elif isinstance(draft, RuleDraft):
        checked_rule(draft, allow_secrets=allow_secrets)
    else:
        checked(draft, allow_secrets=allow_secrets)


def check_entity(
    *,
    canonical_name: str,
    entity_type: str,
    aliases: Sequence[str] = (),
    metadata: Mapping[str, Any] | None = None,
    allow_secrets: bool = False,
) -> None:
    """Raise the error with which the creation of an entity would refuse its values.

    Raises:
        InvalidInputError: A value is invalid; the message names the field.
        SecretRefusedError: A text looks like a secret, and secrets are not allowed.
    """
    require_one_of(EntityType, entity_type, field="entity_type")
    require_name(canonical_name, field="canonical_name", allow_secrets=allow_secrets)
    require_aliases(aliases, allow_secrets=allow_secrets)
    require_metadata(metadata, reserved=RESERVED_METADATA, allow_secrets=allow_secrets)
