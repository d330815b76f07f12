"""A half for ``runs.py``: the episodes of one author in batches, and what is true."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from pathlib import Path
from typing import Final
from uuid import NAMESPACE_URL, UUID, uuid5

from commonplace.knowledge.consolidation.prompt import KnownFact, PendingEpisode
from commonplace.knowledge.model.permanence import Permanence
from runs_truth import State, TrueFact, Truth, read_truth

BUTLER: Final = "notes"
BATCH: Final = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Half:
    """The episodes of an author in batches, and what is true."""

    name: str
    batches: tuple[tuple[PendingEpisode, ...], ...]
    said_at: Mapping[str, datetime]
    truth: Truth
    folder: Path

    def known_before(self, batch: int) -> list[KnownFact]:
        """Return the facts that hold when a batch begins, as a run without a fault would have stored them."""
        if batch == 0:
            return []
        last = self.batches[batch - 1][-1].created_at
        holding = [
            (number, fact)
            for number, fact in enumerate(self.truth.facts)
            if self.told_at(fact) <= last and self._seems_current(fact, last)
        ]
        alike = Counter(fact.group for _, fact in holding)
        known: list[KnownFact] = []
        for number, fact in holding:
            began_at = datetime.combine(fact.begins, time(), UTC) if fact.begins else self.told_at(fact)
            predicate = fact.relation if alike[fact.group] == 1 else f"{fact.relation} {fact.value}"
            known.append(
                KnownFact(
                    id=self.fact_id(number),
                    scope=BUTLER,
                    subject=fact.subject,
                    predicate=predicate.replace(" ", "_"),
                    content=f"{fact.subject}, {fact.relation}: {fact.value}",
                    permanence=Permanence.STANDARD,
                    importance=5.0,
                    tags=(),
                    entity_id=None,
                    began_at=began_at,
                    valid_to=None,
                    last_confirmed_at=began_at,
                    fading=False,
                )
            )
        return known

    def _seems_current(self, fact: TrueFact, moment: datetime) -> bool:
        """Return whether a fact holds as far as the episodes before a moment tell: its end may be told later."""
        if fact.state(moment.date()) is State.PAST:
            successors = [
                each for each in self.truth.facts if each.group == fact.group and each.begins == fact.ends
            ]
            return bool(successors) and all(self.told_at(each) > moment for each in successors)
        return fact.state(moment.date()) is State.CURRENT

    def told_at(self, fact: TrueFact) -> datetime:
        """Return when the first episode tells of a fact."""
        return min(self.said_at[each] for each in fact.episodes)

    def number_of(self, known: KnownFact) -> int:
        """Return the number of the fact that a prompt shows."""
        return next(number for number in range(len(self.truth.facts)) if self.fact_id(number) == known.id)

    def fact_id(self, number: int) -> UUID:
        """Return the id of a fact in the prompts."""
        return uuid5(NAMESPACE_URL, f"{self.name} fact {number}")


def read_half(folder: Path) -> Half:
    """Return the half in a folder."""
    rows = [json.loads(line) for line in (folder / "episodes.jsonl").read_text(encoding="utf-8").splitlines()]
    episodes = [
        PendingEpisode(
            id=uuid5(NAMESPACE_URL, row["id"]),
            content=row["text"],
            created_at=datetime.fromisoformat(row["at"]).astimezone(UTC),
            importance=5.0,
            source=row["source"],
        )
        for row in rows
    ]
    return Half(
        name=folder.name,
        batches=tuple(tuple(episodes[at : at + BATCH]) for at in range(0, len(episodes), BATCH)),
        said_at={row["id"]: each.created_at for row, each in zip(rows, episodes, strict=True)},
        truth=read_truth(folder / "truth.json"),
        folder=folder,
    )


def time_of_run(batch: Sequence[PendingEpisode]) -> datetime:
    """Return when the run of a batch is: an hour after its last episode."""
    return batch[-1].created_at + timedelta(hours=1)
