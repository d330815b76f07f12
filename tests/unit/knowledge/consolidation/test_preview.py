"""A plan as people see it before it is applied; that it is what is applied is shown on a real database."""

from uuid import UUID

from commonplace.knowledge.consolidation.executor import MemoryText, Rehearsal, RehearsedAction
from commonplace.knowledge.consolidation.preview import PlannedChange, plan_rows
from commonplace.knowledge.consolidation.runs import ActionKind, RunAction

OLD = MemoryText(id=UUID(int=10), subject="db", predicate="runs_on", content="db-1")
OTHER = MemoryText(id=UUID(int=11), subject="database", predicate="host", content="db-9")


def shown(
    action: ActionKind,
    content: str,
    *replaced: MemoryText,
    subject: str | None = "db",
    evidence_count: int = 1,
    state: str = "active",
) -> PlannedChange:
    """Return how an action on ``runs_on`` is shown."""
    rehearsed = RunAction(
        position=0,
        action=action,
        memory_id=UUID(int=1),
        superseded_ids=tuple(each.id for each in replaced),
        confirmed_before=None,
        confirmed_at=None,
        subject=subject,
        predicate=None if subject is None else "runs_on",
        content=content,
        state=state,
    )
    each = RehearsedAction(action=rehearsed, replaced=replaced, evidence_count=evidence_count)
    (row,) = plan_rows(Rehearsal(actions=(each,), notes=(), errors=()))
    return row


def test_each_kind_of_action_has_its_sign() -> None:
    """With what is known now and what will be."""
    changes = [
        shown(ActionKind.FACT_CREATED, "db-2"),
        shown(ActionKind.FACT_CREATED, "db-2", OLD),
        shown(ActionKind.FACT_UPDATED, "db-2", OLD, evidence_count=3),
        shown(ActionKind.FACT_CONFIRMED, "db-1"),
        shown(ActionKind.RULE_CREATED, "Ask first.", subject=None),
        shown(ActionKind.RULE_CONFIRMED, "Ask first.", subject=None),
    ]
    assert [(one.sign, one.what, one.before, one.after, one.evidence_count) for one in changes] == [
        ("+", "fact [db] runs_on", None, "db-2", 1),
        ("~", "fact [db] runs_on", "db-1", "db-2", 1),
        ("~", "fact [db] runs_on", "db-1", "db-2", 3),
        ("=", "fact [db] runs_on", "db-1", "db-1", 1),
        ("+", "rule", None, "Ask first.", 1),
        ("=", "rule", "Ask first.", "Ask first.", 1),
    ]


def test_what_is_replaced_under_another_key_is_named() -> None:
    """Beside what has the key already, where there is both."""
    assert (
        shown(ActionKind.FACT_UPDATED, "db-2", OTHER).what == "fact [db] runs_on (was fact [database] host)"
    )
    both = shown(ActionKind.FACT_UPDATED, "db-2", OLD, OTHER)
    assert (both.what, both.before) == ("fact [db] runs_on (was fact [database] host)", "db-1 | db-9")


def test_a_held_fact_is_marked() -> None:
    """It is stored, but does not count until a person decides."""
    assert shown(ActionKind.FACT_CREATED, "db-2", state="held").what == "fact [db] runs_on (held)"


def test_texts_are_safe_for_a_terminal() -> None:
    """One line, and no sequences that move the cursor."""
    change = shown(ActionKind.FACT_CREATED, "a\n\x1b[2Jb", subject="s\nt")
    assert change.after == "a \\x1b[2Jb"
    assert change.what == "fact [s t] runs_on"


def test_an_empty_plan_has_no_rows() -> None:
    """Nothing was worth keeping."""
    assert plan_rows(Rehearsal(actions=(), notes=(), errors=())) == []
