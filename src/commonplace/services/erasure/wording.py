"""What an erasure does, in the words of the person who asks for it. Pure."""

from collections.abc import Iterable
from typing import Final

from commonplace.core.quoting import quoted
from commonplace.core.text import plural
from commonplace.language.importance_cues import FUNCTION_WORDS
from commonplace.language.words import STOPWORDS
from commonplace.services.erasure.parts import ErasedPart

NOUNS: Final = {
    "access_tokens": ("name of a token", "names of tokens"),
    "app_digests": ("conversation that waits for its digest", "conversations that wait for their digests"),
    "app_memories": ("digest", "digests"),
    "app_memory_changes": ("earlier version of a digest", "earlier versions of digests"),
    "apps": ("name of an app", "names of apps"),
    "consolidation_actions": ("result of a consolidation", "results of consolidations"),
    "consolidation_runs": ("consolidation run", "consolidation runs"),
    "conversations": ("conversation", "conversations"),
    "cooldown_actions": ("cooldown of a service", "cooldowns of services"),
    "energy_ledger": ("entry of the energy account", "entries of the energy account"),
    "entities": ("entity", "entities"),
    "episodes": ("episode", "episodes"),
    "events": ("event", "events"),
    "fact_reviews": ("question about two facts", "questions about two facts"),
    "fact_states": ("recorded state of a fact", "recorded states of facts"),
    "facts": ("fact", "facts"),
    "health_checks": ("health check", "health checks"),
    "job_outcomes": ("outcome of background work", "outcomes of background work"),
    "kept_answers": ("stored answer to a request", "stored answers to requests"),
    "memories": ("lesson", "lessons"),
    "memory_changes": ("earlier version of a lesson", "earlier versions of lessons"),
    "memory_events": ("entry of the audit trail", "entries of the audit trail"),
    "memory_links": ("link between memories", "links between memories"),
    "messages": ("message of a conversation", "messages of conversations"),
    "procrastinate_jobs": ("job of background work", "jobs of background work"),
    "request_answers": ("stored answer to a request", "stored answers to requests"),
    "reviews": ("question about two lessons", "questions about two lessons"),
    "rule_applications": ("report on the use of a rule", "reports on the use of rules"),
    "rules": ("rule", "rules"),
    "session_output": ("line of a session's output", "lines of sessions' output"),
    "sessions": ("session", "sessions"),
    "told_apart": ("decision that two memories differ", "decisions that two memories differ"),
}
"""The rows of each table, one and many."""

MEMORY_TABLES: Final = frozenset({"app_memories", "entities", "episodes", "facts", "memories", "rules"})
"""The tables whose rows are memories; the others hold their histories and surroundings."""


def lines_of(parts: Iterable[ErasedPart], *, is_done: bool) -> list[str]:
    """Return what is erased, memory by memory: in the future tense, or in the past tense if it is done."""
    lines: list[str] = []
    memory = ""
    for part in sorted(parts, key=lambda each: (each.memory, each.place)):
        lines += [f"{part.memory[:1].upper()}{part.memory[1:]}"] if part.memory != memory else []
        memory = part.memory
        derived = f", {part.derived} of them derived from others" if part.derived else ""
        lines.append(f"  {_subject(part)} {_verb(part, is_done=is_done)}{derived}")
        lines += [f"    {' '.join(sample.split())}" for sample in part.samples]
    return lines


def _subject(part: ErasedPart) -> str:
    if part.place in NOUNS:
        return plural(part.count, *NOUNS[part.place])
    if part.memory == "workspace memory":
        return f"{plural(part.count, 'note')} in {part.place}"
    return f"{plural(part.count, 'line or record', 'lines or records')} in {part.place}"


def _verb(part: ErasedPart, *, is_done: bool) -> str:
    if part.action == "redacted":
        text = "its text" if part.count == 1 else "their texts"
        return f"lost {text}" if is_done else f"will lose {text}"
    if not is_done:
        return "will be deleted"
    return "was deleted" if part.count == 1 else "were deleted"


def cautions(subject: str) -> list[str]:
    """Return why a subject may match more than is meant."""
    words = subject.casefold().split()
    if len(words) == 1 and len(words[0]) == 1 and words[0].isalnum():
        return [
            f"{quoted(subject)} is one character. It matches every text that has it as a word, whatever it is about."
        ]
    if words and all(is_common(word) for word in words):
        return [f"{quoted(subject)} is a common word. It matches texts that are about something else."]
    return []


def is_common(word: str) -> bool:
    """Return whether a word says nothing by itself."""
    return word in STOPWORDS or word in FUNCTION_WORDS


def other_names(subject: str, names: Iterable[str], aliases: Iterable[str]) -> list[str]:
    """Return questions about names that may or may not mean the subject.

    Args:
        subject: The words to erase.
        names: Names of the memories that the subject matches.
        aliases: Other names of the entities that it matches.
    """
    own = " ".join(subject.casefold().split())
    longer = sorted({name for name in names if " ".join(name.casefold().split()) != own})
    questions: list[str] = []
    if longer:
        questions.append(
            f"{quoted(subject)} is also a part of {_listed(longer)}. Do you mean all of them? To erase one, give its "
            "whole name."
        )
    if others := sorted(set(aliases)):
        questions.append(
            f"{_listed(others)} {'is another name' if len(others) == 1 else 'are other names'} of the same entity. "
            "Texts with that name alone are not matched: run the command once for each name."
        )
    return questions


def shorter_name(subject: str, word: str, count: int) -> str:
    """Return the question about memories that hold only one word of a subject."""
    memories = plural(count, "more memory holds", "more memories hold")
    return (
        f"{memories} {quoted(word)} without the rest of {quoted(subject)}. Is it the same? Then also erase the subject "
        f"{quoted(word)}."
    )


def _listed(names: list[str]) -> str:
    shown = [quoted(name) for name in names[:_MOST_NAMES]]
    more = len(names) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")


_MOST_NAMES: Final = 5
