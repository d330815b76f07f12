"""The consolidation prompt. Pure.

The prompt has no separate system prompt: SKILL.md, which is the same in every run, then the data, then the task. The
specified spawner takes a single text, and models cache a constant prefix.

Data is fenced, so that it cannot close its own tag; ids and times of episodes are outside the fence. The size of the
prompt is bounded. Source: KNW-12.1, KNW-12.4, R-KNW-11.
"""

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, tzinfo
from functools import cache, partial
from importlib.resources import files
from typing import Final, TypeVar
from uuid import UUID

from commonplace.core.errors import InvalidInputError
from commonplace.core.text import clean_text, collapse_whitespace, trim_to
from commonplace.core.zones import local_minute, zone_name
from commonplace.knowledge.model.bounds import DEFAULT_IMPORTANCE, MAX_SCOPE_CHARS
from commonplace.knowledge.model.permanence import Permanence
from commonplace.prompts.fence import data_notice, fence
from commonplace.storage.rows import Noun

EPISODE_TAG: Final = "episode_content"
"""Source: KNW-12.4."""

BUTLER_TAG: Final = "butler"
FACTS_TAG: Final = "known_facts"
RULES_TAG: Final = "known_rules"
ENTITIES_TAG: Final = "known_entities"
EXAMPLE_TAG: Final = "example"
"""The tag around the JSON in SKILL.md, so that a repeated prompt does not count as an answer."""

QUOTED_TAGS: Final = (
    *(EPISODE_TAG, BUTLER_TAG, FACTS_TAG, RULES_TAG, ENTITIES_TAG, EXAMPLE_TAG),
    *("previous_answer", "fault"),
)
"""Tags whose text in an answer is quoted from the prompt, or from the prompt of a second attempt."""

_EXAMPLE: Final = re.compile(rf"<{EXAMPLE_TAG}>\n```json\n(.*?)\n```", re.DOTALL)

EXAMPLE_IDS: Final = "00000000-0000-4000-8000-"
"""The prefix of the ids in SKILL.md; an entry with such an id names no memory or episode of the run."""

MAX_PROMPT_CHARS: Final = 100_000
"""About 25,000 tokens: an eighth of a hosted model's window, and within a local model's 32,000."""

MAX_EPISODES_CHARS: Final = 48_000
MAX_FACTS_CHARS: Final = 26_000
"""100 facts of 260 characters, including ids and keys; longer contents are shortened until all facts fit."""

MAX_RULES_CHARS: Final = 9_000
MAX_ENTITIES_CHARS: Final = 2_500
MAX_EPISODE_CHARS: Final = 12_000
"""Maximum number of characters of one episode in the prompt; four long episodes fit into a run."""

MAX_EPISODES: Final = 50
"""More episodes would need longer answers than models write well."""

_CONTENT_CHARS: Final = (600, 300, 200, 150, 120, 100, 80, 60, 40)
"""The lengths to which contents of known facts and rules are shortened, step by step, until all fit. The last ones lose
values: "Pages for the on-call person come via …"."""

_USUAL_STANDING: Final = f"{Permanence.STANDARD}, importance {DEFAULT_IMPORTANCE:g}"

MAX_PURPOSE_CHARS: Final = 500
_SOURCE: Final = re.compile(r"[\w.:-]{1,24}")
"""The source is outside the fence, so it must be a plain name."""

_HEADING_CHARS: Final = 200
"""Room for the heading, the tags and the blank lines of an episode."""

_KEPT_OF_HEAD: Final = 0.6
"""The share of a long episode that its start gets; episodes begin with the request and end with the result."""

_TASK: Final = "Consolidate the episodes above: answer with one object in the form of the skill."

_TASK_IN_BLOCK: Final = (
    "Consolidate the episodes above: answer with one fenced `json` block in the form of the skill, "
    "and with nothing after it."
)

_Known = TypeVar("_Known", "KnownFact", "KnownRule", "KnownEntity")


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingEpisode(Noun):
    """An episode that waits for consolidation: ``created_at`` aware, ``importance`` from 0.0 to 10.0.

    ``source`` is the program that stored it, ``purpose`` the purpose of its butler; both may be empty.
    """

    id: UUID
    content: str
    created_at: datetime
    importance: float
    source: str = ""
    purpose: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownFact(Noun):
    """An active fact that a model may update, withdraw or confirm; it ends at ``valid_to``, if an end is known."""

    id: UUID
    scope: str
    subject: str
    predicate: str
    content: str
    permanence: Permanence
    importance: float
    tags: tuple[str, ...]
    entity_id: UUID | None
    began_at: datetime
    valid_to: datetime | None
    last_confirmed_at: datetime
    fading: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownRule(Noun):
    """A rule that is not forgotten and that a model may update, withdraw or confirm."""

    id: UUID
    scope: str
    content: str
    maturity: str
    tags: tuple[str, ...]
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownEntity(Noun):
    """A person or thing that the episodes mention, with its other names."""

    canonical_name: str
    entity_type: str
    aliases: tuple[str, ...]


@cache
def skill() -> str:
    """Return SKILL.md, which explains consolidation and the form of the answer."""
    return (files("commonplace.knowledge.consolidation") / "SKILL.md").read_text(encoding="utf-8").strip()


@cache
def examples() -> tuple[object, ...]:
    """Return the objects in SKILL.md that show the form of an answer."""
    return tuple(json.loads(each) for each in _EXAMPLE.findall(skill()))


def is_example_text(content: str) -> bool:
    """Return whether a content is that of an entry in the worked example of SKILL.md."""
    return f'"content": {json.dumps(content, ensure_ascii=False)}' in skill()


def build_prompt(
    *,
    butler: str,
    episodes: Sequence[PendingEpisode],
    facts: Sequence[KnownFact],
    rules: Sequence[KnownRule],
    entities: Sequence[KnownEntity] = (),
    now: datetime,
    zone: tzinfo = UTC,
    in_block: bool = True,
) -> str:
    """Return the prompt for a run, at most :data:`MAX_PROMPT_CHARS` characters; equal inputs give equal texts.

    Args:
        butler: The owner of the episodes.
        episodes: The oldest first, at most as many as :func:`fit` allows. An episode over
            :data:`MAX_EPISODE_CHARS` loses its middle, and its heading says so.
        facts: Known facts, most important first. All contents are shortened equally until all facts fit; if that is not
            enough, the last facts are left out, and the prompt says how many.
        rules: Known rules, shortened in the same way.
        entities: The entities that the episodes mention, shortened in the same way.
        now: The present.
        zone: The zone of all dates and times in the prompt.
        in_block: Whether the prompt asks for a fenced block; if not, the caller says how the answer is sent, for
            example as the arguments of a tool.

    Raises:
        InvalidInputError: ``episodes`` is empty, or has more episodes than fit into one run.

    Source: KNW-12.1, KNW-12.4, CNS-03.
    """
    count, most = len(episodes), fit(episodes)
    if not 1 <= count <= most:
        expected = f"1 to {most} of these episodes, as fit() says" if episodes else "at least one episode"
        raise InvalidInputError("episodes", expected, f"{count} episodes")
    return "\n\n".join(
        (
            skill(),
            "---",
            data_notice(EPISODE_TAG, BUTLER_TAG, FACTS_TAG, RULES_TAG, ENTITIES_TAG),
            f"Now: {local_minute(now, zone)}, {zone_name(zone)}. All dates and times below are in this time zone.",
            f"The butler:\n{fence(_butler(butler, episodes), BUTLER_TAG)}",
            _known("facts", facts, partial(_fact_line, butler, zone), tag=FACTS_TAG, room=MAX_FACTS_CHARS),
            _known("rules", rules, partial(_rule_line, butler, zone), tag=RULES_TAG, room=MAX_RULES_CHARS),
            _known("entities", entities, _entity_line, tag=ENTITIES_TAG, room=MAX_ENTITIES_CHARS),
            *(_episode(episode, f"{place} of {count}", zone) for place, episode in enumerate(episodes, 1)),
            "---",
            _TASK_IN_BLOCK if in_block else _TASK,
        )
    )


def fit(episodes: Sequence[PendingEpisode], budget_chars: int = MAX_EPISODES_CHARS) -> int:
    """Return how many of the oldest episodes fit into one run.

    Args:
        episodes: The oldest first; only as many as fit are read.
        budget_chars: The room in the prompt, headings and tags included.

    Returns:
        At least 1, even for a small budget, and at most :data:`MAX_EPISODES`; 0 if ``episodes`` is empty.
    """
    room = budget_chars
    for count, episode in enumerate(episodes[:MAX_EPISODES]):
        room -= len(_fenced_content(episode)[0]) + _HEADING_CHARS
        if room < 0:
            return max(count, 1)
    return min(len(episodes), MAX_EPISODES)


def _butler(name: str, episodes: Sequence[PendingEpisode]) -> str:
    """Return the name of a butler and its purpose, taken from the latest episode."""
    purpose = next((each.purpose for each in reversed(episodes) if each.purpose), "")
    if not purpose:
        return _name(name)
    return f"{_name(name)}\nPurpose: {trim_to(_one_line(purpose), MAX_PURPOSE_CHARS)}"


def _episode(episode: PendingEpisode, place: str, zone: tzinfo) -> str:
    fenced, left_out = _fenced_content(episode)
    when = local_minute(episode.created_at, zone)
    source = f", stored by {_name(episode.source)}" if _SOURCE.fullmatch(episode.source) else ""
    shortened = f", {left_out} characters left out at the …" if left_out else ""
    return f"Episode {place}: id {episode.id}, {when}, importance {episode.importance:g}{source}{shortened}\n{fenced}"


def _fenced_content(episode: PendingEpisode) -> tuple[str, int]:
    """Return an episode's fenced content, and the number of omitted characters."""
    content = clean_text(episode.content)
    room = MAX_EPISODE_CHARS
    while True:
        kept, left_out = _ends(content, room)
        fenced = fence(kept, EPISODE_TAG)
        # Fencing makes hostile text longer, by a factor of at most four.
        if len(fenced) <= MAX_EPISODE_CHARS:
            return fenced, left_out
        room = room * 9 // 10


def _ends(text: str, room: int) -> tuple[str, int]:
    """Return a text, without its middle if it is too long, and the number of omitted characters."""
    if len(text) <= room:
        return text, 0
    head = int(room * _KEPT_OF_HEAD)
    tail = room - head - 1
    return f"{text[:head]}…{text[-tail:]}", len(text) - head - tail


def _known(
    what: str, known: Sequence[_Known], line: Callable[[_Known, int], str], *, tag: str, room: int
) -> str:
    """Return known facts or rules as fenced lines of JSON; leave out the last ones only if they do not fit."""
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


def _fact_line(butler: str, zone: tzinfo, fact: KnownFact, chars: int) -> str:
    """Return a known fact; what goes without saying is left out, because a hundred facts share the room."""
    standing = f"{fact.permanence}, importance {fact.importance:g}{', fading' if fact.fading else ''}"
    since, confirmed = _day(fact.began_at, zone), _day(fact.last_confirmed_at, zone)
    until = None if fact.valid_to is None else _day(fact.valid_to, zone)
    return _json_line(
        {
            "id": str(fact.id),
            **({} if fact.scope == butler else {"scope": _name(fact.scope)}),
            "subject": _one_line(fact.subject),
            "predicate": _one_line(fact.predicate),
            "content": trim_to(_one_line(fact.content), chars),
            **({} if standing == _USUAL_STANDING else {"standing": standing}),
            "since": str(since),
        }
        | ({} if until is None else {"until": str(until)})
        | ({} if confirmed <= since else {"confirmed": str(confirmed)})
    )


def _rule_line(butler: str, zone: tzinfo, rule: KnownRule, chars: int) -> str:
    return _json_line(
        {
            "id": str(rule.id),
            **({} if rule.scope == butler else {"scope": _name(rule.scope)}),
            "maturity": rule.maturity,
            "content": trim_to(_one_line(rule.content), chars),
            "since": str(_day(rule.created_at, zone)),
        }
    )


def _entity_line(entity: KnownEntity, chars: int) -> str:
    return _json_line(
        {
            "name": trim_to(_one_line(entity.canonical_name), chars),
            "type": entity.entity_type,
            "aliases": trim_to(", ".join(map(_one_line, entity.aliases)), chars),
        }
    )


def _day(moment: datetime, zone: tzinfo) -> date:
    return moment.astimezone(zone).date()


def _json_line(values: dict[str, str]) -> str:
    return json.dumps(values, ensure_ascii=False)


def _name(text: str) -> str:
    return trim_to(_one_line(text), MAX_SCOPE_CHARS)


def _one_line(text: str) -> str:
    return collapse_whitespace(clean_text(text))
