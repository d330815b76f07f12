"""Answers that were recorded in order, in ``benchmarks/runs_in_order.py``."""

import json
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID, uuid4

import pytest

from commonplace.knowledge.consolidation.prompt import PendingEpisode
from runs_in_order import InOrder, NoAnswerError, without_targets

EPISODE = PendingEpisode(
    id=UUID(int=7), content="The port is 9090.", created_at=datetime(2026, 6, 1, tzinfo=UTC), importance=5.0
)


def line(fact_id: UUID, content: str = "The port is 8080.") -> str:
    """Return the line of a known fact in a prompt."""
    return json.dumps({"id": str(fact_id), "subject": "kiosk", "predicate": "port", "content": content})


def spawner(folder: Path, stored: UUID, prompts: Path | None = None) -> InOrder:
    """Return a spawner in the run of its first batch, whose episode was stored under an id."""
    answers = InOrder(folder, [[EPISODE]], prompts)
    answers.begin(0, [stored])
    return answers


async def test_an_answer_is_played_with_the_ids_of_another_run(tmp_path: Path) -> None:
    """Ids follow from the words of a memory, and from the author's episode."""
    with pytest.raises(NoAnswerError):
        await spawner(tmp_path, uuid4(), tmp_path / "prompts")(line(uuid4()), trigger_source="test")
    (known,) = map(json.loads, (tmp_path / "prompts" / "1.txt").read_text(encoding="utf-8").splitlines())
    update = {"target_id": known["id"], "content": "The port is 9090.", "evidence": [str(EPISODE.id)]}
    (tmp_path / "1.txt").write_text(json.dumps({"updated_facts": [update]}), encoding="utf-8")
    fact, episode = uuid4(), uuid4()
    answer = json.loads(await spawner(tmp_path, episode)(line(fact), trigger_source="test"))
    assert answer == {"updated_facts": [{**update, "target_id": str(fact), "evidence": [str(episode)]}]}


async def test_an_update_of_what_a_run_does_not_show_is_a_new_fact(tmp_path: Path) -> None:
    """A later version may have made something else of the answers before; what names only that id is dropped."""
    missing = str(uuid4())
    update = {"target_id": missing, "content": "The port is 9090."}
    (tmp_path / "1.txt").write_text(
        json.dumps({"updated_facts": [update], "confirmations": [missing]}), encoding="utf-8"
    )
    answer = await spawner(tmp_path, uuid4())(line(uuid4()), trigger_source="test")
    values = json.loads(answer.removeprefix("```json\n").removesuffix("\n```"))
    assert (values["new_facts"], values["updated_facts"]) == ([{"content": "The port is 9090."}], [])
    assert values["confirmations"] == []
    assert without_targets("no object", [missing]) == "no object"


async def test_only_the_prompt_of_the_first_attempt_is_written(tmp_path: Path) -> None:
    """The second attempt asks for a part of the episodes."""
    answers = spawner(tmp_path, uuid4(), tmp_path / "prompts")
    for prompt in ("all episodes", "half of them"):
        with pytest.raises(NoAnswerError):
            await answers(prompt, trigger_source="test")
    assert (tmp_path / "prompts" / "1.txt").read_text(encoding="utf-8") == "all episodes"
    assert answers.is_waiting
