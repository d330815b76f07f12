"""A plan as people see it before it is applied."""

from uuid import UUID

from commonplace.knowledge.consolidation.preview import PlannedChange, plan_rows
from commonplace.knowledge.consolidation.prompt import KnownFact, KnownRule
from commonplace.knowledge.consolidation.results import ConsolidationResult, NewFact, NewRule, UpdatedFact

E1, E2, E3 = (UUID(int=number) for number in (1, 2, 3))
KNOWN = KnownFact(id=UUID(int=10), scope="ops", subject="db", predicate="runs_on", content="db-1")
ELSEWHERE = KnownFact(id=UUID(int=11), scope="global", subject="db", predicate="owner", content="Anna")
RULE = KnownRule(id=UUID(int=20), scope="ops", content="Ask first.", maturity="candidate")
UNKNOWN = UUID(int=99)


def rows(**actions: object) -> list[PlannedChange]:
    """Return the changes of a plan for three episodes of the butler ops."""
    return plan_rows(
        ConsolidationResult(**actions),  # pyright: ignore[reportArgumentType]
        facts={KNOWN.id: KNOWN, ELSEWHERE.id: ELSEWHERE},
        rules={RULE.id: RULE},
        episode_ids=[E1, E2, E3],
        scope="ops",
    )


def new(content: str, *evidence: UUID, subject: str = "db", predicate: str = "runs_on") -> NewFact:
    """Return a proposed fact."""
    return NewFact(subject=subject, predicate=predicate, content=content, evidence=evidence)


def test_a_plan_is_shown_in_the_order_in_which_it_is_applied() -> None:
    """Each action once, with what is known now and what will be."""
    update = UpdatedFact(
        target_id=KNOWN.id, subject="db", predicate="runs_on", content="db-3", evidence=(E1, E2)
    )
    changes = rows(
        new_facts=[new("16", subject="db", predicate="version")],
        updated_facts=[update],
        new_rules=[NewRule(content="Restart at night.", evidence=(E3,))],
        confirmations=[RULE.id, ELSEWHERE.id],
    )
    assert [(one.sign, one.what, one.before, one.after, one.evidence_count) for one in changes] == [
        ("+", "fact [db] version", None, "16", 3),
        ("~", "fact [db] runs_on", "db-1", "db-3", 2),
        ("+", "rule", None, "Restart at night.", 1),
        ("=", "rule", "Ask first.", "Ask first.", 3),
        ("=", "fact [db] owner", "Anna", "Anna", 3),
    ]


def test_a_new_fact_of_a_known_key_takes_its_place_or_confirms_it() -> None:
    """In its scope only; and of two new ones the later takes the earlier's place."""
    changed, same, later = rows(new_facts=[new("db-2"), new("db-2"), new("db-4")])
    assert (changed.sign, changed.before, changed.after) == ("~", "db-1", "db-2")
    assert same.sign == "="
    assert (later.sign, later.before) == ("~", "db-2")
    (other_scope,) = rows(new_facts=[new("Bert", predicate="owner")])
    assert (other_scope.sign, other_scope.before) == ("+", None)


def test_what_will_be_refused_says_so() -> None:
    """Ids that a model made up."""
    update, confirmation = rows(
        updated_facts=[UpdatedFact(target_id=UNKNOWN, subject="a", predicate="b", content="c")],
        confirmations=[UNKNOWN],
    )
    assert "refused: no known fact " in update.what
    assert "refused: no known fact or rule " in confirmation.what
    assert (update.after, confirmation.after) == (None, None)


def test_an_update_under_another_key_names_both() -> None:
    """It takes the target's place all the same."""
    (change,) = rows(
        updated_facts=[UpdatedFact(target_id=KNOWN.id, subject="database", predicate="host", content="db-2")]
    )
    assert change.what == "fact [database] host (was fact [db] runs_on)"
    assert change.before == "db-1"


def test_evidence_outside_of_the_group_does_not_count() -> None:
    """Where nothing is left of it, all of the group are evidence."""
    some, none = rows(new_facts=[new("x", E1, UNKNOWN), new("y", UNKNOWN)])
    assert (some.evidence_count, none.evidence_count) == (1, 3)


def test_texts_are_safe_for_a_terminal() -> None:
    """One line, and no sequences that move the cursor."""
    (change,) = rows(new_facts=[new("a\n\x1b[2Jb", subject="s\nt")])
    assert change.after == "a \\x1b[2Jb"
    assert change.what == "fact [s t] runs_on"


def test_an_empty_plan_has_no_rows() -> None:
    """Nothing was worth keeping."""
    assert rows() == []
