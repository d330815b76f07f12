"""Transcripts of hosts: the messages of a session, and a digest of them. Pure.

A transcript is a file of JSON lines; :mod:`commonplace.hosts.hooks.formats` has a parser for each host. Hook output
is never read; an answer that quotes it loses the quotation.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, cast

from commonplace.core.budgets import share_budget
from commonplace.core.secrets import mask_secrets
from commonplace.core.text import trim_to
from commonplace.hosts.hooks.formats import TranscriptMessage, parse

MAX_DIGEST_CHARS: Final = 6_000
MAX_EXCHANGES: Final = 12
"""The number of latest exchanges of a long session that are kept besides its first exchange."""

MAX_LINE_CHARS: Final = 4_000_000
"""Longer lines are pasted files or pictures and are skipped."""


def read_messages(lines: Iterable[str]) -> Iterator[TranscriptMessage]:
    """Yield the messages of user and assistant in order; skip other lines and damaged ones."""
    for place, line in enumerate(lines):
        if len(line) > MAX_LINE_CHARS:
            continue
        try:
            record: object = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(record, dict) and (message := parse(cast("dict[str, Any]", record), place)):
            yield message


def digest(messages: Sequence[TranscriptMessage]) -> str:
    """Return the text of an episode: prompts, and the last text of the answer to each.

    Secrets are masked. A digest that would be too long keeps the first exchange and the latest exchanges, and cuts long
    texts to equal lengths.

    Returns:
        At most 6,000 characters; empty if there is no prompt.
    """
    exchanges = _exchanges(messages)
    if not exchanges:
        return ""
    left_out = len(exchanges) - MAX_EXCHANGES
    if left_out > 0:
        exchanges = [exchanges[0], *exchanges[1 - MAX_EXCHANGES :]]
    labelled = [
        (label, mask_secrets(text))
        for exchange in exchanges
        for label, text in zip(("User: ", "Assistant: "), exchange, strict=True)
        if text
    ]
    note = f"[{left_out} exchanges left out]" if left_out > 0 else ""
    overhead = len(note) + sum(len(label) + 2 for label, _ in labelled)
    shares = share_budget([len(text) for _, text in labelled], MAX_DIGEST_CHARS - overhead)
    paragraphs = [
        f"{label}{trim_to(text, share)}" for (label, text), share in zip(labelled, shares, strict=True)
    ]
    if note:
        paragraphs.insert(1 + bool(exchanges[0][1]), note)
    # Together, the end of one text and the label of the next can look like a secret.
    return trim_to(mask_secrets("\n\n".join(paragraphs)), MAX_DIGEST_CHARS)


def _exchanges(messages: Sequence[TranscriptMessage]) -> list[tuple[str, str]]:
    """Return each prompt with the last text of the answer to it."""
    found: list[tuple[str, str]] = []
    for message in messages:
        if message.role == "user":
            found.append((message.text, ""))
        elif found:
            found[-1] = (found[-1][0], message.text)
    return found
