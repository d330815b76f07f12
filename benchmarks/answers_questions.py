"""The questions of ``answers.py``: some of LoCoMo, and some prompts of worlds, always the same.

Every choice and every order follows from a hash of names and a seed, so no choice depends on the process.
"""

import hashlib
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

sys.path.insert(0, str(Path(__file__).parents[1] / "training" / "reranker"))

import locomo
from recall_worlds import Record, current
from worlds import SET_ASIDE, read_worlds

SEED: Final = "answers-1"
LOCOMO_QUESTIONS: Final = 200
WORLD_PROMPTS: Final = 100

QuestionSet = Literal["locomo", "worlds"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question about a conversation, or a task in a world.

    Args:
        set: The data of the question.
        name: Its name, such as ``conv-26:17`` or ``en-bakery:p3``.
        text: The text of the question or task.
        gold: The answer; for a task, the texts of the memories that help, the decisive one first.
    """

    set: QuestionSet
    name: str
    text: str
    gold: tuple[str, ...]


def digest(*parts: object) -> str:
    """Return the seeded hash of some values, 64 hex digits."""
    return hashlib.sha256("\0".join([SEED, *map(str, parts)]).encode()).hexdigest()


def shares(sizes: Mapping[int, int], total: int) -> dict[int, int]:
    """Return the number to pick from each group, in proportion to the sizes of the groups; the sum is ``total``.

    The largest remainders are rounded up; of equal remainders, that of the first group.

    Raises:
        ValueError: The groups have fewer members than ``total``.
    """
    whole = sum(sizes.values())
    if whole < total:
        raise ValueError(f"cannot pick {total} questions: there are {whole}")
    counts = {group: total * size // whole for group, size in sizes.items()}
    by_remainder = sorted(sizes, key=lambda group: -(total * sizes[group] % whole))
    for group in by_remainder[: total - sum(counts.values())]:
        counts[group] += 1
    return counts


def pick_questions(conversation: locomo.Conversation, count: int) -> list[locomo.Question]:
    """Return some questions of a conversation, in proportion to its categories.

    Raises:
        ValueError: The conversation has fewer questions.
    """
    counts = shares(Counter(each.category for each in conversation.questions), count)
    ordered = sorted(conversation.questions, key=lambda each: digest("pick", each.name))
    return [
        question
        for category in sorted(counts)
        for question in [each for each in ordered if each.category == category][: counts[category]]
    ]


def pick_prompts(world: Record, count: int) -> list[Record]:
    """Return some prompts of a world whose first wanted memory is a fact or a rule.

    Raises:
        ValueError: The world has fewer such prompts.
    """
    types = {memory["id"]: memory["type"] for memory in world["memories"]}
    prompts = [each for each in world["prompts"] if each["wanted"] and types[each["wanted"][0]] != "episode"]
    if len(prompts) < count:
        raise ValueError(f"cannot pick {count} prompts of {world['id']}: there are {len(prompts)}")
    return sorted(prompts, key=lambda each: digest("pick", world["id"], each["id"]))[:count]


def spread(total: int, groups: int) -> list[int]:
    """Return the number to pick from each group, as equal as possible; the first groups get the rest."""
    return [total // groups + (place < total % groups) for place in range(groups)]


def picked_conversations(path: Path) -> list[tuple[locomo.Conversation, list[locomo.Question]]]:
    """Return the conversations of LoCoMo's data, each with the questions that are asked."""
    conversations = locomo.read_conversations(path)
    counts = spread(LOCOMO_QUESTIONS, len(conversations))
    return [(each, pick_questions(each, count)) for each, count in zip(conversations, counts, strict=True)]


def picked_worlds() -> list[tuple[Record, list[Record]]]:
    """Return the worlds that are set aside, each with the prompts that are asked."""
    worlds = [current(each) for each in read_worlds(SET_ASIDE)]
    counts = spread(WORLD_PROMPTS, len(worlds))
    return [(each, pick_prompts(each, count)) for each, count in zip(worlds, counts, strict=True)]


def question_of(question: locomo.Question) -> Question:
    """Return a question of LoCoMo."""
    return Question(set="locomo", name=question.name, text=question.text, gold=(question.answer,))


def task_of(world: Record, prompt: Record) -> Question:
    """Return the task of a prompt."""
    texts = {memory["id"]: text_of(memory) for memory in world["memories"]}
    return Question(
        set="worlds",
        name=f"{world['id']}:{prompt['id']}",
        text=prompt["text"],
        gold=tuple(texts[name] for name in prompt["wanted"]),
    )


def text_of(memory: Record) -> str:
    """Return the text of a memory as a reader sees it, without its date."""
    if memory["type"] == "fact":
        return f"[{memory['subject']}] [{memory['predicate']}]: {memory['content']}"
    return memory["content"]


def all_questions(path: Path) -> dict[str, Question]:
    """Return the questions of both sets by their names; ``path`` is LoCoMo's data."""
    result: Iterable[Question] = (
        *(question_of(each) for _, questions in picked_conversations(path) for each in questions),
        *(task_of(world, prompt) for world, prompts in picked_worlds() for prompt in prompts),
    )
    return {each.name: each for each in result}


def in_order(names: Iterable[str], *parts: object) -> Sequence[str]:
    """Return names in a random order that is always the same for the same names and parts."""
    return sorted(names, key=lambda name: digest(*parts, name))
