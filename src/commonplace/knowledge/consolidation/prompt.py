"""What a model is given to consolidate a butler's episodes. Pure.

One prompt, no system prompt apart: SKILL.md, which is the same in every run, then the data, then what to do. A
spawner takes a single text, as the specification has it, and a constant beginning is what models cache.

What others wrote is fenced, so that it cannot close its own tag; ids and times of episodes stand outside. The size is
bounded whatever is in the database. Source: KNW-12.1, KNW-12.4, R-KNW-11.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from importlib.resources import files
from typing import Final, TypeVar
from uuid import UUID

from commonplace.core.clock import format_timestamp
from commonplace.core.errors import InvalidInputError
from commonplace.core.text import clean_text, collapse_whitespace, trim_to
from commonplace.knowledge.inputs import MAX_SCOPE_CHARS
from commonplace.llm.fence import data_notice, fence

EPISODE_TAG: Final = "episode_content"
"""Source: KNW-12.4."""

BUTLER_TAG: Final = "butler"
FACTS_TAG: Final = "known_facts"
RULES_TAG: Final = "known_rules"
EXAMPLE_TAG: Final = "example"
"""Stands around the JSON in SKILL.md, so that a model that repeats the prompt has not answered."""

QUOTED_TAGS: Final = (EPISODE_TAG, BUTLER_TAG, FACTS_TAG, RULES_TAG, EXAMPLE_TAG)
"""What stands inside these in an answer is quoted from the prompt."""

EXAMPLE_IDS: Final = "00000000-0000-4000-8000-"
"""What the ids in SKILL.md begin with, and no others: an answer that holds one was copied from there."""

MAX_PROMPT_CHARS: Final = 100_000
"""About 25,000 tokens: an eighth of the window of a hosted model, and what a local one with 32,000 can take."""

MAX_EPISODES_CHARS: Final = 48_000
MAX_FACTS_CHARS: Final = 30_000
"""100 facts of 300 characters, ids and keys included; longer contents are shortened until all are in."""

MAX_RULES_CHARS: Final = 12_000
MAX_EPISODE_CHARS: Final = 12_000
"""Of one episode as it stands in the prompt: four long ones fit into a run."""

MAX_EPISODES: Final = 50
"""More would ask for a longer answer than models write well."""

_CONTENT_CHARS: Final = (600, 300, 150, 75, 40)
"""How far contents of known facts and rules are shortened, step by step, until all of them fit."""

_HEADING_CHARS: Final = 160
"""Room for the heading, the tags and the blank lines of an episode."""

_KEPT_OF_HEAD: Final = 0.6
"""Of an episode that is too long: what was wanted stands first, what came of it last."""

_TASK: Final = (
    "Consolidate the episodes above: answer with one fenced `json` block in the form of the skill, "
    "and with nothing after it."
)

_Known = TypeVar("_Known", "KnownFact", "KnownRule")


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingEpisode:
    """An episode that waits for consolidation: ``created_at`` aware, ``importance`` from 0.0 to 10.0."""

    id: UUID
    content: str
    created_at: datetime
    importance: float


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownFact:
    """An active fact, which a model may update or confirm."""

    id: UUID
    scope: str
    subject: str
    predicate: str
    content: str


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownRule:
    """A rule that is not forgotten, which a model may confirm; ``maturity`` as the database names it."""

    id: UUID
    scope: str
    content: str
    maturity: str


@cache
def skill() -> str:
    """Return SKILL.md: what consolidation is, that episodes are data, and the form of the answer."""
    return (files("commonplace.knowledge.consolidation") / "SKILL.md").read_text(encoding="utf-8").strip()


def build_prompt(
    *, butler: str, episodes: Sequence[PendingEpisode], facts: Sequence[KnownFact], rules: Sequence[KnownRule]
) -> str:
    """Return the whole prompt for a run, at most :data:`MAX_PROMPT_CHARS` characters; the same input, the same text.

    Args:
        butler: Whose episodes they are.
        episodes: The oldest first, at most as many as :func:`fit` allows. A longer one than
            :data:`MAX_EPISODE_CHARS` loses its middle, and its heading says so.
        facts: What is known, the most important first. Contents are shortened, all alike, until all facts fit;
            where not even that is enough, the last are left out, and the prompt says how many.
        rules: Likewise.

    Raises:
        InvalidInputError: There are no episodes, or more than fit into one run.

    Source: KNW-12.1, KNW-12.4.
    """
    count, most = len(episodes), fit(episodes)
    if not 1 <= count <= most:
        expected = f"1 to {most} of these episodes, as fit() says" if episodes else "at least one episode"
        raise InvalidInputError("episodes", expected, f"{count} episodes")
    return "\n\n".join(
        (
            skill(),
            "---",
            data_notice(EPISODE_TAG, BUTLER_TAG, FACTS_TAG, RULES_TAG),
            f"The butler:\n{fence(_name(butler), BUTLER_TAG)}",
            _known("facts", facts, _fact_line, tag=FACTS_TAG, room=MAX_FACTS_CHARS),
            _known("rules", rules, _rule_line, tag=RULES_TAG, room=MAX_RULES_CHARS),
            *(_episode(episode, f"{place} of {count}") for place, episode in enumerate(episodes, 1)),
            "---",
            _TASK,
        )
    )


def fit(episodes: Sequence[PendingEpisode], budget_chars: int = MAX_EPISODES_CHARS) -> int:
    """Return how many of the oldest episodes fit into one run.

    Looks at no more episodes than that, so that a long queue costs nothing.

    Args:
        episodes: The oldest first.
        budget_chars: What they may take in the prompt together, headings and tags included.

    Returns:
        From 1, however small the budget is, to :data:`MAX_EPISODES`; 0 only where there are none.
    """
    room = budget_chars
    for count, episode in enumerate(episodes[:MAX_EPISODES]):
        room -= len(_fenced_content(episode)[0]) + _HEADING_CHARS
        if room < 0:
            return max(count, 1)
    return min(len(episodes), MAX_EPISODES)


def _episode(episode: PendingEpisode, place: str) -> str:
    fenced, left_out = _fenced_content(episode)
    when = format_timestamp(episode.created_at, precision="seconds")
    shortened = f", {left_out} characters left out at the …" if left_out else ""
    return f"Episode {place}: id {episode.id}, {when}, importance {episode.importance:g}{shortened}\n{fenced}"


def _fenced_content(episode: PendingEpisode) -> tuple[str, int]:
    """Return an episode's content in its fence, and how many characters of it were left out."""
    content = clean_text(episode.content)
    room = MAX_EPISODE_CHARS
    while True:
        kept, left_out = _ends(content, room)
        fenced = fence(kept, EPISODE_TAG)
        # The fence makes hostile text longer, four times at most.
        if len(fenced) <= MAX_EPISODE_CHARS:
            return fenced, left_out
        room = room * 9 // 10


def _ends(text: str, room: int) -> tuple[str, int]:
    """Return a text without its middle where it is longer than the room, and how many characters went."""
    if len(text) <= room:
        return text, 0
    head = int(room * _KEPT_OF_HEAD)
    tail = room - head - 1
    return f"{text[:head]}…{text[-tail:]}", len(text) - head - tail


def _known(
    what: str, known: Sequence[_Known], line: Callable[[_Known, int], str], *, tag: str, room: int
) -> str:
    """Return known facts or rules as fenced lines of JSON, all of them if that can be."""
    fenced = ""
    for chars in _CONTENT_CHARS:
        fenced = fence("\n".join(line(one, chars) for one in known), tag)
        if len(fenced) <= room:
            return f"Known {what} ({len(known)}):\n{fenced}"
    lines = [line(one, _CONTENT_CHARS[-1]) for one in known]
    while len(fenced) > room:
        lines = lines[: len(lines) * 9 // 10]
        fenced = fence("\n".join(lines), tag)
    return f"Known {what} ({len(lines)} of {len(known)}):\n{fenced}"


def _fact_line(fact: KnownFact, chars: int) -> str:
    return _json_line(
        {
            "id": str(fact.id),
            "scope": _name(fact.scope),
            "subject": _one_line(fact.subject),
            "predicate": _one_line(fact.predicate),
            "content": trim_to(_one_line(fact.content), chars),
        }
    )


def _rule_line(rule: KnownRule, chars: int) -> str:
    return _json_line(
        {
            "id": str(rule.id),
            "scope": _name(rule.scope),
            "maturity": rule.maturity,
            "content": trim_to(_one_line(rule.content), chars),
        }
    )


def _json_line(values: dict[str, str]) -> str:
    return json.dumps(values, ensure_ascii=False)


def _name(text: str) -> str:
    return trim_to(_one_line(text), MAX_SCOPE_CHARS)


def _one_line(text: str) -> str:
    return collapse_whitespace(clean_text(text))
