"""``commonplace review``: memories and pairs of memories that wait for a decision."""

from dataclasses import dataclass, field
from typing import Annotated, Final, Literal

import typer
from rich.console import Console

from commonplace.cli.frame.command import Answer, commands
from commonplace.cli.frame.output import console, shown
from commonplace.cli.frame.run import settings, source
from commonplace.core.errors import InvalidInputError, NotFoundError, SettingsError, StorageError
from commonplace.core.instructions import in_words
from commonplace.core.sources import Source
from commonplace.core.text import trim_to
from commonplace.knowledge import (
    DeadLetter,
    DuplicatePair,
    FactReview,
    KnowledgeMemory,
    MemoryType,
    SubjectCandidate,
    WaitingMemory,
    short_id,
)
from commonplace.llm import Script, names_language_model
from commonplace.operational import (
    GENERAL,
    Memory,
    OperationalMemory,
    Review,
    decide_after_session,
    format_confidence,
)
from commonplace.services import waiting
from commonplace.services.opening import Memories
from commonplace.services.quarantined import Quarantined, decide, list_quarantined
from commonplace.services.waiting import OF_FACTS

UNDO: Final = "undo"
MOST: Final = 1_000
SHOWN_CHARS: Final = 600
"""Longer observations are cut in the list; the commands and pages of a memory show them whole."""

ID_FORMS: Final = (
    "a number, k and a number, a short id such as f:3k7q2, two short ids such as f:3k7q2+f:9x2vd, f:3k7q2+UUID, or "
    "the id of a flagged memory such as o:12"
)
Word = Literal["same", "refines", "corrects", "distinct", "undo", "confirm", "forget", "retry"]

app = typer.Typer(add_completion=False)


@dataclass(slots=True, kw_only=True)
class _Found:
    """Pairs and memories that wait or were decided."""

    reviews: list[Review] = field(default_factory=list[Review])
    fact_reviews: list[FactReview] = field(default_factory=list[FactReview])
    duplicates: list[DuplicatePair] = field(default_factory=list[DuplicatePair])
    subjects: list[SubjectCandidate] = field(default_factory=list[SubjectCandidate])
    waiting: list[WaitingMemory] = field(default_factory=list[WaitingMemory])
    quarantined: list[Quarantined] = field(default_factory=list[Quarantined])
    dead_letters: list[DeadLetter] = field(default_factory=list[DeadLetter])

    def lines(self) -> list[str]:
        """Return the lines of console markup."""
        return [
            *map(review_text, self.reviews),
            *map(fact_text, self.fact_reviews),
            *map(pair_text, self.duplicates),
            *map(subject_text, self.subjects),
            *map(waiting_text, self.waiting),
            *map(quarantined_text, self.quarantined),
            *map(failure_text, self.dead_letters),
        ]

    def verdicts(self) -> list[str]:
        """Return the verdicts of each kind of line."""
        kinds = {
            "a pair": (self.reviews or self.fact_reviews, waiting.PAIR),
            "a pair with +": (self.duplicates or self.subjects, waiting.TWINS),
            "a memory": (self.waiting or self.quarantined, waiting.ONE),
            "an episode": (self.dead_letters, waiting.FAILURE),
        }
        return [
            f"{kind}: {', '.join(verdicts[:-1])} or {verdicts[-1]}"
            for kind, (lines, verdicts) in kinds.items()
            if lines
        ]


@commands(app)()
async def review(
    review_id: Annotated[
        str | None,
        typer.Argument(
            metavar="ID",
            help="The ID from the list, such as 7, k7, f:3k7q2, f:3k7q2+f:9x2vd, f:3k7q2+UUID or o:12.",
        ),
    ] = None,
    verdict: Annotated[
        Word | None,
        typer.Argument(
            metavar="VERDICT",
            help="Relation of the new memory to the old one; confirm or forget a memory; retry an episode; undo takes "
            "a decision back.",
        ),
    ] = None,
    *,
    decided: Annotated[bool, typer.Option("--decided", help="List the decided pairs instead.")] = False,
    by_model: Annotated[
        bool, typer.Option("--model", help="Let the model decide the waiting pairs of observations.")
    ] = False,
) -> Answer:
    """List the memories that wait for a decision, or decide about one.

    A pair of memories waits if it is unclear how they relate: two observations, two facts or rules that may say the
    same, a fact and the fact that a consolidation replaced it with, or a fact and the entity that its subject may
    refer to. The decision is applied to both memories and remembered.

    A single memory waits if it contradicts a more trusted fact (held), looks like an instruction (flagged), is in use
    but will fade soon, was derived from a memory that no longer holds, or is a rule that did harm. Confirm or forget
    it. An episode waits if its consolidation failed. Retry or forget it.
    """
    if review_id is not None:
        _check_use(review_id, verdict, by_model=by_model)
    if review_id is not None and ":" in review_id and verdict is not None:
        return await _decide_memory(review_id, verdict)
    found, changed = _Found(), list[Memory]()
    if by_model:
        found.reviews = await _by_model()
    elif review_id is None or verdict is None:
        found = await _listed(decided=decided)
    elif review_id.startswith(OF_FACTS):
        found.fact_reviews = [await _decide_fact(review_id, verdict)]
    else:
        decision, changed = await _decide(int(review_id), verdict)
        found.reviews = [decision]

    def text(out: Console) -> None:
        lines = [*found.lines(), *map(state_text, changed)]
        for line in lines:
            out.print(line)
        if review_id is None and not lines:
            out.print("No decisions yet." if decided else "No memory waits for a decision.")
        elif review_id is None and not decided and not by_model:
            out.print(f"Decide with: commonplace review ID VERDICT ({'; '.join(found.verdicts())})")

    return Answer(found, text)


def _check_use(review_id: str, verdict: Word | None, *, by_model: bool) -> None:
    """Refuse an ID with ``--model``, a malformed ID, and a verdict that does not fit the ID."""
    if by_model:
        raise typer.BadParameter(
            "expected no ID with --model, which decides all waiting pairs", param_hint="ID"
        )
    verdicts = _verdicts_of(review_id)
    if verdict not in verdicts:
        got = "nothing" if verdict is None else verdict
        raise typer.BadParameter(
            f"expected {', '.join(verdicts[:-1])} or {verdicts[-1]} for {review_id}, got {got}",
            param_hint="VERDICT",
        )


def _verdicts_of(review_id: str) -> tuple[str, ...]:
    """Return the valid verdicts for an ID."""
    try:
        answers = waiting.answers_of(review_id)
    except InvalidInputError:
        raise typer.BadParameter(f"expected {ID_FORMS}, got {review_id!r}", param_hint="ID") from None
    return answers if waiting.is_quarantined(review_id) else (*answers, UNDO)


async def _listed(*, decided: bool) -> _Found:
    """Return the waiting items of both memories; knowledge memory is not created if it does not exist."""
    loaded = settings()
    found = _Found()
    async with OperationalMemory.open(loaded) as memory:
        found.reviews = await memory.reviews.list(decided=decided, limit=MOST)
    if not decided:
        async with Memories.open(loaded, model=Script().model()) as memories:
            found.quarantined = await list_quarantined(memories)
    if loaded.postgres_url is None and not loaded.postgres_directory.exists():
        return found
    try:
        async with KnowledgeMemory.open(loaded, source=source()) as knowledge:
            found.fact_reviews = await knowledge.reviews.list(decided=decided, limit=MOST)
            if not decided:
                found.duplicates = await knowledge.reviews.duplicates.list()
                found.subjects = await knowledge.reviews.subjects.list()
                found.waiting = await knowledge.reviews.waiting()
                found.dead_letters = await knowledge.dead_letters.list()
    except StorageError as error:
        console(stderr=True).print(f"Facts and rules are left out: {shown(str(error))}")
    return found


async def _decide_memory(review_id: str, verdict: Word) -> Answer:
    """Decide about a memory, or about a pair of memories, by their short ids."""
    if waiting.is_quarantined(review_id):
        if source() is not Source.PERSON:
            raise InvalidInputError("id", "a memory that an agent may decide about; ask the user", review_id)
        async with Memories.open(settings(), model=Script().model()) as memories:
            await decide(memories, review_id, confirm=verdict == "confirm")
        return Answer({"id": review_id, "decision": verdict}, f"{review_id}: {verdict}")
    async with KnowledgeMemory.open(settings(), source=source()) as memory:
        if verdict == UNDO:
            await waiting.undo(memory, review_id)
        else:
            await waiting.decide(memory, review_id, waiting.Answer(verdict))
    return Answer({"id": review_id, "decision": verdict}, f"{review_id}: {verdict}")


async def _decide(review_id: int, verdict: Word) -> tuple[Review, list[Memory]]:
    """Return the pair, and both memories after the decision or after it was undone."""
    async with OperationalMemory.open(settings()) as memory:
        if verdict == UNDO:
            review = await memory.reviews.undo(review_id)
        else:
            review = await memory.reviews.decide(review_id, verdict)
        return review, [await memory.get(review.old_id), await memory.get(review.new_id)]


async def _decide_fact(review_id: str, verdict: Word) -> FactReview:
    number = int(review_id.removeprefix(OF_FACTS))
    async with KnowledgeMemory.open(settings(), source=source()) as memory:
        try:
            if verdict == UNDO:
                return await memory.reviews.undo(number)
            return await memory.reviews.decide(number, verdict)
        except NotFoundError as error:
            raise NotFoundError(error.kind, review_id) from None


async def _by_model() -> list[Review]:
    loaded = settings()
    if not names_language_model(loaded):
        raise SettingsError("No language model is set. Set COMMONPLACE_MODEL.")
    async with OperationalMemory.open(loaded) as memory:
        return await decide_after_session(memory.reviews, loaded.model_copy(update={"judge": "model"}))


def review_text(found: Review) -> str:
    """Return a pair as lines of console markup."""
    about = shown(f"[{found.category}:{found.service or GENERAL}]")
    lines = [
        f"[bold]{found.id}[/] {about} {shown(found.reason)}",
        f"   old #{found.old_id}: {shown(trim_to(found.old_observation, SHOWN_CHARS))}",
        f"   new #{found.new_id}: {shown(trim_to(found.new_observation, SHOWN_CHARS))}",
    ]
    if found.decision is not None:
        why = f": {shown(found.explanation)}" if found.explanation else ""
        lines.append(f"   [green]{found.decision}[/], decided by {shown(found.decided_by or '')}{why}")
    return "\n".join(lines)


def state_text(memory: Memory) -> str:
    """Return the state of a memory after a decision as a line of console markup."""
    state = "active" if memory.active else "inactive: no prompt shows it"
    return f"   #{memory.id}: confidence {format_confidence(memory.confidence)}, {state}"


def waiting_text(found: WaitingMemory) -> str:
    """Return a memory to confirm or forget as console markup, with the fact that it contradicts on a second line."""
    line = f"[bold]{short_id(found.memory_type, found.id)}[/] {found.reason}: {shown(found.text)}"
    return line if found.contradicts is None else f"{line}\n   contradicts: {shown(found.contradicts)}"


def quarantined_text(found: Quarantined) -> str:
    """Return a memory in quarantine as a line of console markup."""
    return f"[bold]{found.id}[/] flagged ({in_words(found.flags)}): {shown(found.text)}"


def failure_text(found: DeadLetter) -> str:
    """Return an episode whose consolidation failed as a line of console markup."""
    why = shown(found.last_error or "no reason was recorded")
    return f"[bold]{short_id(MemoryType.EPISODE, found.id)}[/] failed: {why}"


def pair_text(found: DuplicatePair) -> str:
    """Return a pair of memories that may say the same as lines of console markup."""
    older, newer = (short_id(found.memory_type, each) for each in (found.older_id, found.newer_id))
    return (
        f"[bold]{older}+{newer}[/] alike in {found.reason}\n"
        f"   old: {shown(found.older_text)}\n   new: {shown(found.newer_text)}"
    )


def subject_text(found: SubjectCandidate) -> str:
    """Return a subject and the entity that it may refer to as lines of console markup."""
    entity = f"{found.canonical_name} ({found.entity_type})"
    return (
        f"[bold]{short_id(MemoryType.FACT, found.fact_id)}+{found.entity_id}[/] same subject?\n"
        f"   fact: {shown(found.text)}\n   entity: {shown(entity)}"
    )


def fact_text(found: FactReview) -> str:
    """Return a pair of facts as lines of console markup."""
    about = shown(f"[{found.subject}] {found.predicate}")
    lines = [
        f"[bold]{OF_FACTS}{found.id}[/] {about}: {shown(found.reason)}",
        f"   old {found.old_id}: {shown(found.old_content)}",
        f"   new {found.new_id}: {shown(found.new_content)}",
    ]
    if found.decision is not None:
        lines.append(f"   [green]{found.decision}[/], decided by {shown(found.decided_by or '')}")
    return "\n".join(lines)
