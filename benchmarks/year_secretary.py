"""The models of the year: what a strong and a mediocre model write, made of the notes that the authors wrote.

``strong`` notes what the author marked, with the ids of known memories where they change, are confirmed or end.
``mediocre`` has faults that follow from the words alone: of the notes it drops three in ten; half of the changes it
stores as a fact of another key, as if it did not notice that they change one; it gives no importance and no permanence;
and of one session in ten it keeps the chatter. ``absent`` is no model: conversations get extractive digests, episodes
are not consolidated, and the ops agent, which is a model itself, notes as the strong one does.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Final

from commonplace.core.errors import ModelRefusedError
from commonplace.llm import Model, Reply, Request
from runs_in_order import KNOWN
from year_data import Learning, Truth, YearSession

MODELS: Final = ("strong", "mediocre", "absent")
MOST_DIGEST_CHARS: Final = 200
DROPPED: Final = 0.3
MISSED_CHANGES: Final = 0.5
CHATTER: Final = 0.1
LONG_LASTING: Final = re.compile(r"birthday|birth|allerg|name\b|blood", re.IGNORECASE)
_HELD_DIGEST: Final = re.compile(r"^\[id (\d+)\] \([^)]*\) (.*)$", re.MULTILINE)


def draw(*texts: str) -> float:
    """Return a number from 0 to 1 that follows from the texts alone."""
    return int.from_bytes(sha256("\n".join(texts).encode()).digest()[:8]) / 2**64


def permanence_of(truth: Truth) -> str:
    """Return the permanence that the consolidation skill asks for: by what is said, not by what will come."""
    if LONG_LASTING.search(truth.what):
        return "permanent"
    return "stable" if truth.kind in {"person", "move"} else "standard"


@dataclass(slots=True)
class Spending:
    """Calls and estimated tokens of a model."""

    calls: int = 0
    tokens: int = 0

    def add(self, prompt: str, answer: str) -> None:
        """Count a call; a token is four characters."""
        self.calls += 1
        self.tokens += (len(prompt) + len(answer)) // 4


@dataclass(slots=True)
class Secretary:
    """A model that notes what sessions say.

    Attributes:
        truths: All truths by id.
        session: The session whose digest is made.
        sessions: The sessions of the stored episodes, by the id of the episode.
    """

    model: str
    truths: Mapping[str, Truth]
    spending: Spending = field(default_factory=Spending)
    session: YearSession | None = None
    sessions: dict[str, YearSession] = field(default_factory=dict[str, YearSession])
    name: str = "year"
    _notes: dict[tuple[str, str], list[str]] = field(default_factory=dict[tuple[str, str], list[str]])
    _latest: dict[tuple[str, str], str] = field(default_factory=dict[tuple[str, str], str])
    _digests: dict[str, list[Learning]] = field(default_factory=dict[str, list[Learning]])

    def notes_of(self, session: YearSession) -> list[Learning]:
        """Return the notes that the model takes of a session."""
        if self.model != "mediocre":
            return list(session.learnings)
        return [each for each in session.learnings if draw("drop", each.truth, each.text) >= DROPPED]

    def chatter_of(self, session: YearSession) -> str:
        """Return what the model notes though it is not worth it; empty for nothing."""
        is_careless = self.model == "mediocre" and draw("chatter", session.chatter) < CHATTER
        return session.chatter if is_careless else ""

    def misses(self, learning: Learning) -> bool:
        """Return whether the model does not notice that a note changes a known fact."""
        return (
            self.model == "mediocre"
            and learning.how == "change"
            and draw("miss", learning.truth, learning.text) < MISSED_CHANGES
        )

    async def __call__(self, prompt: str, *, trigger_source: str) -> str:
        """Consolidate the episodes of a prompt."""
        del trigger_source
        known = [json.loads(line) for line in KNOWN.findall(prompt)]
        answer = _Consolidation(self, known)
        for episode_id, session in self.sessions.items():
            if episode_id in prompt:
                answer.take(episode_id, session)
        text = f"```json\n{json.dumps(answer.lists)}\n```"
        self.spending.add(prompt, text)
        return text

    def remember(self, learning: Learning) -> None:
        """Keep the words of a note, by which the model finds the rule that it changes later."""
        self._notes.setdefault(self.truths[learning.truth].key, []).append(learning.text)

    def earlier(self, learning: Learning) -> Sequence[str]:
        """Return the earlier notes of the thing that a note is about."""
        return self._notes.get(self.truths[learning.truth].key, ())

    def as_model(self) -> Model:
        """Return the model that writes digests and decides about the eleventh."""
        return Model(name="year", connect=self._connect)

    async def _connect(self) -> "Secretary":
        return self

    address: str = ""

    async def send(self, request: Request) -> Reply:
        """Write a digest, or decide which digest goes."""
        if self.session is None:
            raise ModelRefusedError("no session has ended yet")
        is_digest = request.output is None
        text = self._digest(self.session) if is_digest else self._decision(request.prompt)
        self.spending.add(request.prompt, text)
        return Reply(text=text, model="year")

    async def aclose(self) -> None:
        """Close nothing."""

    def _digest(self, session: YearSession) -> str:
        notes = sorted(self.notes_of(session), key=lambda each: -self.truths[each.truth].importance)
        self._latest |= {self.truths[each.truth].key: each.text for each in notes}
        digest, held = "", list[Learning]()
        for note in notes:
            if len(digest) + len(note.text) < MOST_DIGEST_CHARS:
                digest = f"{digest} {note.text}".strip()
                held.append(note)
        digest = digest or self.chatter_of(session)
        self._digests[digest] = held
        return digest or "NONE"

    def _decision(self, prompt: str) -> str:
        """Return that the digest of least worth goes: what is outdated first; for a mediocre model the oldest one."""
        digests = [(int(number), text) for number, text in _HELD_DIGEST.findall(prompt)]
        oldest = min(digests)
        least = min(digests, key=lambda each: (self._worth(each[1]), each[0]))
        target = oldest if self.model == "mediocre" else least
        return json.dumps({"action": "delete", "targetMemoryId": target[0], "reason": "worth the least"})

    def _worth(self, digest: str) -> float:
        """Return the greatest importance of what a digest holds and nothing has changed since."""
        notes = self._digests.get(digest, ())
        current = [each for each in notes if self._latest.get(self.truths[each.truth].key) == each.text]
        return max((self.truths[each.truth].importance for each in current), default=0.0)


class _Consolidation:
    """The lists of one answer."""

    def __init__(self, secretary: Secretary, known: Sequence[Mapping[str, Any]]) -> None:
        self._secretary = secretary
        self._known = known
        self.lists: dict[str, list[Any]] = {
            name: []
            for name in (
                *("new_facts", "updated_facts", "retractions"),
                *("new_rules", "updated_rules", "confirmations"),
            )
        }

    def take(self, episode_id: str, session: YearSession) -> None:
        """Add the notes of a session."""
        for learning in self._secretary.notes_of(session):
            truth = self._secretary.truths[learning.truth]
            is_rule = truth.kind == "rule"
            target = self._rule(learning) if is_rule else self._fact(truth)
            add = self._add_rule if is_rule else self._add_fact
            if learning.how == "end":
                if target is not None:
                    self.lists["retractions"].append({"target_id": target["id"], "evidence": [episode_id]})
            elif learning.how == "confirm" and target is not None:
                self.lists["confirmations"].append(target["id"])
            else:
                add(learning, truth, target, episode_id)
            self._secretary.remember(learning)
        if chatter := self._secretary.chatter_of(session):
            entry = {"subject": "Jonna", "predicate": f"note_{episode_id[:8]}", "content": chatter}
            self.lists["new_facts"].append({**entry, "evidence": [episode_id]})

    def _fact(self, truth: Truth) -> Mapping[str, Any] | None:
        for each in self._known:
            if (
                "predicate" in each
                and (each["subject"].casefold(), each["predicate"].casefold()) == truth.key
            ):
                return each
        return None

    def _rule(self, learning: Learning) -> Mapping[str, Any] | None:
        beginnings = {text[:40].casefold() for text in self._secretary.earlier(learning)}
        for each in self._known:
            if "predicate" not in each and each["content"][:40].casefold() in beginnings:
                return each
        return None

    def _add_fact(
        self, learning: Learning, truth: Truth, target: Mapping[str, Any] | None, episode_id: str
    ) -> None:
        missed = self._secretary.misses(learning)
        entry: dict[str, Any] = {
            "subject": truth.about,
            "predicate": f"{truth.what} lately" if missed else truth.what,
            "content": learning.text,
            "evidence": [episode_id],
        }
        if self._secretary.model != "mediocre":
            entry |= {"permanence": permanence_of(truth), "importance": truth.importance}
        if (
            target is None
            or missed
            or any(each["target_id"] == target["id"] for each in self.lists["updated_facts"])
        ):
            self.lists["new_facts"].append(entry)
        else:
            self.lists["updated_facts"].append({**entry, "target_id": target["id"]})

    def _add_rule(
        self, learning: Learning, truth: Truth, target: Mapping[str, Any] | None, episode_id: str
    ) -> None:
        del truth
        entry = {"content": learning.text, "evidence": [episode_id]}
        taken = [each["target_id"] for each in self.lists["updated_rules"]]
        if target is None or target["id"] in taken or self._secretary.misses(learning):
            self.lists["new_rules"].append(entry)
        else:
            self.lists["updated_rules"].append({**entry, "target_id": target["id"]})
