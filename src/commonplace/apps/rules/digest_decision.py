"""The decision whether the digest of a conversation becomes a memory. Source: APP-02, APP-16.1."""

from datetime import UTC, datetime, tzinfo

from commonplace.apps.model.bounds import MAX_CONTENT_CHARS
from commonplace.apps.model.digests import DigestAttempt, DigestText, MemoryCreationRequest, Proposal
from commonplace.apps.model.memories import DigestDraft, Metadata
from commonplace.apps.model.receipts import DigestOutcome
from commonplace.apps.rules.importance import assess
from commonplace.core.instructions import Flag, find_flags
from commonplace.language.relative_days import with_dates
from commonplace.llm import Completion


def decide(
    request: MemoryCreationRequest,
    digest: DigestText,
    answer: Completion[None],
    now: datetime,
    zone: tzinfo = UTC,
) -> Proposal | DigestAttempt:
    """Return the memory to store, or the ending of an attempt without a memory.

    Args:
        request: The conversation.
        digest: The memory's text in the answer.
        answer: The model's answer.
        now: The time of the memory.
        zone: The time zone in which the conversation ended, for words such as "tomorrow".
    """
    if digest.content is None and digest.secrets:
        reason = f"the digest looks like a secret ({digest.secrets[0]})"
        return DigestAttempt(outcome=DigestOutcome.REFUSED, reason=reason)
    if digest.refused:
        return DigestAttempt(outcome=DigestOutcome.SKIPPED, reason="the model refused to answer")
    if not answer.text and not answer.extractive:
        # A model that finds nothing says so in a word; the extractive model picks no sentence.
        return DigestAttempt(outcome=DigestOutcome.SKIPPED, reason="the model answered with an empty text")
    assessment = assess(digest.content or "")
    if digest.content is None or assessment.importance == 0:
        return DigestAttempt(outcome=DigestOutcome.NOTHING, reason="nothing is worth keeping")
    draft = DigestDraft(
        app_id=request.app_id,
        user_id=request.user_id,
        content=with_dates(
            digest.content, (request.ended_at or now).astimezone(zone), max_chars=MAX_CONTENT_CHARS
        ),
        source_conversation_id=request.conversation_id,
        metadata=Metadata(
            importance=assessment.importance,
            tags=assessment.tags,
            model=answer.model,
            flags=_flags_of(request),
        ),
        created_at=now,
        updated_at=now,
    )
    reason = f"left out a text that looks like a secret ({digest.secrets[0]})" if digest.secrets else ""
    return Proposal(draft=draft, reason=reason, extractive=answer.extractive)


def _flags_of(request: MemoryCreationRequest) -> tuple[Flag, ...]:
    """Return why the user's messages look like instructions; a digest keeps the flags without repeating the words."""
    texts = [message.content for message in request.messages if message.role == "user"]
    return tuple(dict.fromkeys(flag for text in texts for flag in find_flags(text)))
