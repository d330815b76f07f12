"""Answers for ``runs.py`` recorded in order: each prompt shows what the memory had made of the answers before.

The ids of a run are new each time, so recorded prompts and answers have ids that follow from what they name: the words
of a fact or rule, or the episode of the author.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final
from uuid import NAMESPACE_URL, UUID, uuid5

from commonplace.knowledge.consolidation.prompt import PendingEpisode

KNOWN: Final = re.compile(r'^\{"id": .*\}$', re.MULTILINE)
"""A line of a prompt about a fact or rule."""

_ID: Final = re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b")


class NoAnswerError(Exception):
    """No answer to a batch was recorded yet."""


class InOrder:
    """A spawner that plays the answers to the prompts of this run itself.

    Args:
        folder: The answers of a model, ``1.txt`` for the first batch.
        batches: The episodes of each batch, the oldest first.
        prompts: Where the first prompt without an answer is written, as ``1.txt`` for the first batch.
    """

    name = "recorded"

    def __init__(
        self, folder: Path, batches: Sequence[Sequence[PendingEpisode]], prompts: Path | None = None
    ) -> None:
        self._folder = folder
        self._batches = batches
        self._prompts = prompts
        self._batch = 0
        self._episodes: dict[str, str] = {}
        self.is_waiting = False
        """Whether a batch had no answer, so that what follows has none either."""

    def begin(self, batch: int, stored: Sequence[UUID]) -> None:
        """Begin the run of a batch whose episodes were stored under some ids."""
        self._batch = batch
        pairs = zip(self._batches[batch], stored, strict=True)
        self._episodes = {str(id_): str(episode.id) for episode, id_ in pairs}

    def answer(self, batch: int) -> str:
        """Return the answer to a batch as it was recorded.

        Raises:
            NoAnswerError: None was recorded yet.
        """
        path = self._folder / f"{batch + 1}.txt"
        if not path.exists():
            raise NoAnswerError(f"{path} is missing")
        return path.read_text(encoding="utf-8")

    async def __call__(self, prompt: str, *, trigger_source: str) -> str:
        """Return the answer of the batch, with the ids of this run."""
        del trigger_source
        recorded_ids = {**_lasting_ids(prompt), **self._episodes}
        try:
            answer = self.answer(self._batch)
        except NoAnswerError:
            is_first = not self.is_waiting  # The second attempt asks for a half of the episodes.
            self.is_waiting = True
            if self._prompts is not None and is_first:
                self._prompts.mkdir(parents=True, exist_ok=True)
                path = self._prompts / f"{self._batch + 1}.txt"
                path.write_text(_renamed(prompt, recorded_ids), encoding="utf-8")
            raise
        missing = set(_ID.findall(answer)) - set(recorded_ids.values())
        answer = _renamed(answer, {recorded: own for own, recorded in recorded_ids.items()})
        return without_targets(answer, missing) if missing else answer


def without_targets(answer: str, missing: Iterable[str]) -> str:
    """Return an answer whose updates of memories that a run does not have are new facts."""
    missing = set(missing)
    start, end = answer.find("{"), answer.rfind("}")
    try:
        values: dict[str, Any] = json.loads(answer[start : end + 1])
    except ValueError:
        return answer
    updates = [each for each in values.get("updated_facts") or [] if isinstance(each, dict)]
    moved = [each for each in updates if each.get("target_id") in missing]
    values["updated_facts"] = [each for each in updates if each not in moved]
    values["new_facts"] = [*(values.get("new_facts") or []), *moved]
    for each in moved:
        del each["target_id"]
    for key in ("confirmations", "retractions"):
        entries = values.get(key) or []
        values[key] = [each for each in entries if not any(id_ in json.dumps(each) for id_ in missing)]
    return f"```json\n{json.dumps(values)}\n```"


def _lasting_ids(prompt: str) -> dict[str, str]:
    """Return the ids that a prompt shows, each with one that follows from the words of its memory."""
    ids: dict[str, str] = {}
    seen: Counter[str] = Counter()
    for known in map(json.loads, KNOWN.findall(prompt)):
        key = json.dumps([known.get(name) for name in ("subject", "predicate", "content")])
        ids[known["id"]] = str(uuid5(NAMESPACE_URL, f"{key} {seen[key]}"))
        seen[key] += 1
    return ids


def _renamed(text: str, ids: Mapping[str, str]) -> str:
    return _ID.sub(lambda match: ids.get(match[0], match[0]), text)
