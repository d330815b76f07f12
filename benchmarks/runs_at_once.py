"""Answers for ``runs.py`` recorded at once: each prompt shows what its author says was known before its batch.

When the answers are played, an update of such a fact updates the memory that the run shows of it or of its relation,
and new facts with its subject and predicate get those of that memory. An update with the same content has that of the
memory. If the run shows none, the update is a new fact; so it is if the memory tells of further facts, which the update
would end.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from uuid import UUID

from commonplace.knowledge.consolidation.prompt import KnownFact, build_prompt
from runs_half import BUTLER, Half, time_of_run
from runs_in_order import KNOWN, without_targets
from runs_truth import Memory, TrueFact, tells_of
from runs_words import words


def write_prompts(half: Half, folder: Path) -> None:
    """Write the prompt of each batch into a file that is named by its number from 1."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, batch in enumerate(half.batches):
        prompt = build_prompt(
            butler=BUTLER,
            episodes=batch,
            facts=half.known_before(number),
            rules=[],
            now=time_of_run(batch),
        )
        (folder / f"{number + 1}.txt").write_text(prompt, encoding="utf-8")


class AtOnce:
    """A spawner that plays the answers to the prompts of a half, with the ids of this run."""

    name = "recorded"

    def __init__(self, half: Half, model: str) -> None:
        self._half = half
        self._folder = half.folder / "answers" / model
        self._batch = 0
        self._ids: dict[str, str] = {}

    def begin(self, batch: int, stored: Sequence[UUID]) -> None:
        """Begin the run of a batch whose episodes were stored under some ids."""
        self._batch = batch
        episodes = self._half.batches[batch]
        self._ids = {str(episode.id): str(id_) for episode, id_ in zip(episodes, stored, strict=True)}

    def answer(self, batch: int) -> str:
        """Return the answer to a batch as it was recorded."""
        return (self._folder / f"{batch + 1}.txt").read_text(encoding="utf-8")

    async def __call__(self, prompt: str, *, trigger_source: str) -> str:
        """Return the answer of the batch, with the ids of the memories that this run shows."""
        del trigger_source
        answer = self.answer(self._batch)
        memories = {
            each["id"]: Memory(**{name: each[name] for name in ("subject", "predicate", "content")})
            for each in map(json.loads, KNOWN.findall(prompt))
            if "predicate" in each
        }
        for own, stored in self._ids.items():
            answer = answer.replace(own, stored)
        for fact, stored in self._stored(memories).items():
            memory = memories[stored]
            answer = answer.replace(str(fact.id), stored)
            answer = answer.replace(json.dumps(fact.content), json.dumps(memory.content))
            if not words(self._half.truth.facts[self._half.number_of(fact)].value) <= words(memory.subject):
                answer = _with_key(answer, fact, memory)
        missing = [str(each.id) for each in self._half.known_before(self._batch) if str(each.id) in answer]
        return without_targets(answer, missing) if missing else answer

    def _stored(self, memories: Mapping[str, Memory]) -> dict[KnownFact, str]:
        """Return the facts of the recorded prompt with the ids of the memories of them, or of their relation.

        A memory that tells of further known facts is of none: an update of one of them would end the others.
        """
        stored: dict[KnownFact, str] = {}
        known = {
            each: self._half.truth.facts[self._half.number_of(each)]
            for each in self._half.known_before(self._batch)
        }
        for each, fact in known.items():
            alike = [
                other
                for other in self._half.truth.facts
                if other.group == fact.group and is_apart(fact, other)
            ]
            others = [other for other in known.values() if other.group != fact.group]
            own = {id_: memory for id_, memory in memories.items() if not _is_of_others(memory, fact, others)}
            ids = _telling(own, [fact]) or _telling(own, alike)
            if ids:
                stored[each] = ids[0]
        return stored


def is_apart(fact: TrueFact, other: TrueFact) -> bool:
    """Return whether two facts hold at different times."""
    return any(
        first.ends is not None and last.begins is not None and first.ends <= last.begins
        for first, last in ((fact, other), (other, fact))
    )


def _telling(memories: Mapping[str, Memory], facts: Sequence[TrueFact]) -> list[str]:
    """Return the ids of the memories that tell of a fact: those that name its relation first."""
    ranks = {
        id_: max(
            (
                memory.shares_relation(fact),
                memory.is_about(fact),
                len(words(" ".join((*fact.subjects, fact.relation, *fact.values))) & words(memory.text)),
            )
            for fact in facts
            if tells_of(memory, fact)
        )
        for id_, memory in memories.items()
        if any(tells_of(memory, fact) for fact in facts)
    }
    return sorted(ranks, key=lambda each: ranks[each], reverse=True)


def _is_of_others(memory: Memory, fact: TrueFact, others: Sequence[TrueFact]) -> bool:
    """Return whether a memory tells of other facts whose relation it names, beside or in place of that of a fact.

    A memory that names the relation of none of several facts is of none of them.
    """
    named = words(memory.predicate)
    is_plain = memory.shares_relation(fact) > 0 or memory.names_no_relation() or memory.says_little_but(fact)
    for other in others:
        if not tells_of(memory, other):
            continue
        relation = " ".join(words(other.relation) - words(fact.relation))
        is_others = words(other.relation) <= named and not words(fact.relation) <= named
        if not is_plain or is_others or memory.shares_relation(replace(other, relation=relation)):
            return True
    return False


def _with_key(answer: str, fact: KnownFact, memory: Memory) -> str:
    """Return an answer with the key of a memory where it has the key that the recorded prompt shows of the fact."""
    subject, predicate = re.escape(fact.subject), re.escape(fact.predicate)
    key = rf'"subject": "{subject}",(\s*)"predicate": "([a-z]+_)?{predicate}(_[a-z0-9]+)?"'

    def renamed(match: re.Match[str]) -> str:
        before, after = match[2] or "", match[3] or ""
        predicate = f"{before}{memory.predicate.removeprefix(before).removesuffix(after)}{after}"
        return f'"subject": {json.dumps(memory.subject)},{match[1]}"predicate": {json.dumps(predicate)}'

    return re.sub(key, renamed, answer)
