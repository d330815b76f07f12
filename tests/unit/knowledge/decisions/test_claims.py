"""What a batch says of one subject and relation: changes, and values that hold at once."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from commonplace.knowledge.rules.claims import (
    Claim,
    KnownClaim,
    in_time,
    settle,
)
from commonplace.knowledge.rules.relation_names import undated
from commonplace.knowledge.rules.restatements import restates, say_the_same, says_no_more

pytestmark = pytest.mark.requirement("TRU-04.1")

START = datetime(2026, 3, 1, 9, tzinfo=UTC)


def day(number: int) -> datetime:
    """Return a moment of a day in March."""
    return START + timedelta(days=number - 1)


def claim(content: str, *said: int, predicate: str = "runs_on", **changed: Any) -> Claim:  # noqa: ANN401 - of any field
    """Return a claim about staging that episodes of some days say."""
    values: dict[str, Any] = {
        "scope": "ops",
        "subject": "staging",
        "predicate": predicate,
        "content": content,
    }
    values |= {"said_at": tuple(map(day, said)), **changed}
    return Claim(**values)


def known(content: str, predicate: str = "runs_on", **changed: Any) -> KnownClaim:  # noqa: ANN401 - of any field
    """Return an active fact about staging."""
    values: dict[str, Any] = {"id": UUID(int=1), "scope": "ops", "subject": "staging", "predicate": predicate}
    values |= {"content": content, **changed}
    return KnownClaim(**values)


def test_evidence_later_in_time_wins() -> None:
    """Whatever the order of the answer; the earlier is stored first and the later follows it."""
    first, second = settle([claim("db-4", 20), claim("db-2", 3, 5)])
    assert (first.place, first.follows, first.valid_from) == (1, None, day(3))
    assert (second.place, second.follows, second.valid_from) == (0, 1, day(20))
    assert not first.is_sibling
    assert not second.is_sibling


def test_evidence_of_both_values_dates_the_later_one_by_its_own() -> None:
    """A model names the episodes of the old value as well."""
    *_, later = settle([claim("db-2", 3), claim("db-4", 3, 20, 25)])
    assert (later.follows, later.valid_from) == (0, day(20))


@pytest.mark.parametrize(
    ("early", "late"),
    [
        ("version", "version_2"),
        ("version", "new_version"),
        ("version", "currentVersion"),
        ("Version", "is_version"),
        ("previous_version", "version"),
        ("version", "version_updated"),
    ],
)
def test_invented_predicates_are_joined(early: str, late: str) -> None:
    """With the plainest of them as the key."""
    first, second = settle([claim("Go 1.22", 3, predicate=early), claim("Go 1.23", 9, predicate=late)])
    assert second.follows == first.place
    assert first.predicate == second.predicate
    assert first.predicate.casefold() == "version"


def test_a_predicate_of_the_past_is_history_though_it_was_said_later() -> None:
    """The later episode tells of the old host."""
    first, second = settle([claim("db-4", 3), claim("db-2", 9, predicate="old_runs_on")])
    assert (first.place, second.place, second.follows) == (1, 0, 1)


@pytest.mark.parametrize("predicate", ["phase_2", "old_town", "new_hire", "md5", "next_release"])
def test_a_number_or_age_without_the_bare_predicate_is_part_of_the_name(predicate: str) -> None:
    """Nothing is joined that does not occur."""
    (settled,) = settle([claim("x", 3, predicate=predicate)])
    assert settled.predicate == predicate


def test_predicates_with_dates_are_one_relation() -> None:
    """If each claim has a period; the next one takes the place of what memory has under its date."""
    dates = [
        claim("Ann", 20, predicate="on_call_13_july", valid_from=day(13), valid_to=day(19)),
        claim("Ben", 20, predicate="on_call_week_of_20_july", valid_from=day(20), valid_to=day(26)),
    ]
    first, second = settle(dates, [known("Cem", "on_call_6_july")])
    assert (first.predicate, first.target_id, second.follows) == ("on_call", UUID(int=1), 0)
    assert second.predicate == "on_call"
    without = [replace(each, valid_from=None) for each in dates]
    assert [each.predicate for each in settle(without)] == ["on_call_13_july", "on_call_week_of_20_july"]


def test_what_it_was_names_the_relation() -> None:
    """Memory says the old value under another predicate that shares a word."""
    fact = known("Staging keeps data for 30 days", "retention")
    new = claim("Retention is 45 days", 9, predicate="data_retention", was=("Retention was 30 days",))
    (settled,) = settle([new], [fact])
    assert settled.predicate == "retention"
    (other,) = settle([replace(new, was=("Retention was 15 days",))], [fact])
    assert other.predicate == "data_retention"


@pytest.mark.parametrize(
    ("predicate", "bare"),
    [
        ("on_call_6_july", "on_call"),
        ("primary_week_of_june_1", "primary"),
        ("visit_2026-07-06", "visit"),
        ("ip_10_0_0_1", "ip_10_0_0_1"),
        ("budget_2026", "budget_2026"),
        ("born_in_may", "born_in_may"),
        ("6_july", "6_july"),
    ],
)
def test_a_date_at_the_end_of_a_predicate(predicate: str, bare: str) -> None:
    """A day of a month, or a date with its year; nothing else is a date."""
    assert undated(predicate) == bare


@pytest.mark.parametrize("subject", ["Staging DB", "the staging database", "staging_db"])
def test_spellings_of_a_subject_are_joined(subject: str) -> None:
    """With what memory has, or with each other."""
    fact = known("db-2", subject="staging database", predicate="runs on")
    (settled,) = settle([claim("db-4", 9, subject=subject)], [fact])
    assert (settled.subject, settled.predicate) == ("staging database", "runs on")
    first, second = settle([claim("db-2", 3, subject="staging database"), claim("db-4", 9, subject=subject)])
    assert (first.subject, second.subject, second.follows) == ("staging database", "staging database", 0)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (claim("Anna", 3, predicate="contact"), claim("Ben", 3, predicate="contact")),
        (claim("Anna", predicate="contact"), claim("Ben", predicate="contact")),
        (claim("Anna", 3, predicate="contact"), claim("Ben is a contact as well", 9, predicate="contact")),
        (
            claim("The port for metrics is 9090", 3, predicate="port"),
            claim("The port for HTTP is 8080", 9, predicate="port"),
        ),
        (
            claim("The metrics port is 9090", 3, predicate="port"),
            claim("The admin port is 8080", 9, predicate="port"),
        ),
        (claim("peanuts", 3, predicate="allergic_to"), claim("kiwi", 9, predicate="allergic_to")),
        (
            claim("Releases on Tuesday", 3),
            claim("Only this week on Friday", 9, valid_from=day(9), valid_to=day(15)),
        ),
    ],
)
def test_values_that_may_hold_at_once_stay(first: Claim, second: Claim) -> None:
    """Said together or at an unknown time, as well as another, for another use, or for some days only."""
    settled = settle([first, second])
    assert [each.place for each in settled] == [0, 1]
    assert all(each.is_sibling and each.follows is None for each in settled)


def test_a_change_for_a_use_is_a_change() -> None:
    """What has moved says so."""
    *_, later = settle(
        [
            claim("The port for metrics is 9090", 3, predicate="port"),
            claim("The port moved to 8080 for security", 9, predicate="port"),
        ]
    )
    assert later.follows == 0


def test_periods_decide_if_one_episode_tells_of_both() -> None:
    """The earlier ends before the later begins."""
    settled = settle(
        [claim("db-4", 9, valid_from=day(5)), claim("db-2", 9, valid_to=day(4)), claim("db-2", 9)],
    )
    assert next(each for each in settled if each.place == 0).follows == 1


def test_what_is_announced_follows_what_is_said_later_of_today() -> None:
    """The evidence of 9 March reaches to the 20th."""
    first, second = settle([claim("db-4", 9, valid_from=day(20)), claim("db-2", 3, 12)])
    assert (first.place, second.place, second.valid_from) == (1, 0, day(20))


def test_a_target_is_replaced_once() -> None:
    """By the first of its successors; those after it follow each other under the key of the target."""
    target = UUID(int=1)
    for predicate in ("runs_on", "host"):
        update = claim("db-4", 9, target_id=target, predicate=predicate)
        first, second = settle([update, claim("db-3", 5)], [known("db-2")])
        assert (first.place, first.target_id, first.follows) == (1, target, None)
        assert (second.place, second.target_id, second.follows) == (0, None, 1)
        assert (first.predicate, second.predicate) == ("runs_on", "runs_on")


def test_an_addition_to_what_is_known_stays_beside_it() -> None:
    """A change of it does not."""
    (beside,) = settle([claim("Ben is a second contact", 9, predicate="contact")], [known("Anna", "contact")])
    (instead,) = settle([claim("Ben", 9, predicate="contact")], [known("Anna", "contact")])
    assert (beside.is_sibling, instead.is_sibling) == (True, False)
    assert instead.valid_from == day(9)


def test_what_is_said_first_begins_with_its_first_episode() -> None:
    """A stated beginning stays, and an unknown one is none."""
    assert settle([claim("db-2", 5, 3)])[0].valid_from == day(3)
    assert settle([claim("db-2", 5, valid_from=day(1))])[0].valid_from == day(1)
    assert settle([claim("db-2")])[0].valid_from is None


def test_dated_claims_of_one_key_are_stored_in_time() -> None:
    """Others stay where they are: undated ones, ended ones, and those of other keys."""
    late, early = claim("b", valid_from=day(9)), claim("a", valid_from=day(3))
    assert in_time([late, early]) == [1, 0]
    assert in_time([late, claim("c"), early]) == [2, 1, 0]
    assert in_time([late, claim("a", valid_from=day(3), valid_to=day(5))]) == [0, 1]
    assert in_time([late, claim("a", valid_from=day(3), predicate="other")]) == [0, 1]


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("Staging runs on db-1.", "It was on db-1 before.", True),
        ("Staging runs on db-1.", "Staging ran on db-2.", False),
        ("The contact is Anna Berg.", "Anna Berg was the contact.", True),
        ("The contact is Anna Berg.", "Ben Stone was the contact.", False),
        ("Standup is at 9:30.", "Standup was at 9:45.", False),
    ],
)
def test_texts_name_the_same_value(one: str, other: str, *, same: bool) -> None:
    """By their numbers, codes and times, else by most of their words."""
    assert say_the_same(one, other, about="staging contact") is same


ABOUT = "Thing kind"


@pytest.mark.parametrize(
    ("short", "long"),
    [
        ("The choir rehearses in the library.", "The choir rehearses in the community room of the library."),
        ("The shop database runs MariaDB 10.11.8.", "The shop database runs MariaDB 10.11."),
        ("The kiln runs firmware 4.2.1.", "The kiln runs firmware 4.2."),
        ("The depot is in Bremen.", "The depot is in Bremen, at the old harbour."),
        ("Dr Quirke is the vet.", "The vet is Dr Quirke of the Salthill practice."),
        ("The oven is set to 220.", "The oven is set to 220 for the sourdough."),
    ],
)
def test_fewer_words_of_the_same_value_are_no_change(short: str, long: str) -> None:
    """Nor is a version in full: the fact began when it was said first."""
    assert restates(short, long, about=ABOUT)
    (settled,) = settle([claim(short, 20, target_id=UUID(int=1))], [known(long, began_at=day(3))])
    assert settled.valid_from == day(3)


@pytest.mark.parametrize(
    ("later", "earlier"),
    [
        (
            "The choir rehearses in the town hall.",
            "The choir rehearses in the community room of the library.",
        ),
        ("The shop database runs MariaDB 11.4.", "The shop database runs MariaDB 10.11."),
        ("The kiln runs firmware 4.2.", "The kiln runs firmware 4.2.1."),
        ("The folder costs 24.50 euro.", "The folder costs 24 euro."),
        ("The gate is 10.0.0.1.", "The gate is 10.1."),
        ("The team is Ana, Ben and Tim.", "The team is Ana and Ben."),
        ("Lena is not allergic to nuts.", "Lena is allergic to nuts."),
        ("The pickup on Wednesday never opens.", "The pickup on Wednesday opens."),
        ("La clínica no abre los lunes.", "La clínica abre los lunes."),
        ("Die Werkstatt öffnet nicht am Montag.", "Die Werkstatt öffnet am Montag."),
    ],
)
def test_another_value_or_a_denial_is_a_change(later: str, earlier: str) -> None:
    """It began when it was said."""
    assert not restates(later, earlier, about=ABOUT)
    (settled,) = settle([claim(later, 20, target_id=UUID(int=1))], [known(earlier, began_at=day(3))])
    assert settled.valid_from == day(20)


@pytest.mark.parametrize(
    ("content", "was", "is_held"),
    [
        ("Dumps go to /mnt/vault. The old path /srv/dumps was deleted.", "Dumps go to /srv/dumps.", False),
        ("We rehearse on Thursdays, because Tuesday went to yoga.", "We rehearse on Tuesdays.", False),
        ("The build uses Bazel 8, upgraded from Bazel 7.", "The build uses Bazel 7.", False),
        ("Flour comes from Mills & Sons; Hartmann closed.", "Flour comes from Hartmann.", False),
        ("The dose is 10 mg instead of 5 mg.", "The dose is 5 mg.", False),
        ("The build uses Bazel 7.", "The build used Bazel 7.", True),
        ("The dose is 5 mg.", "The dose was 5 mg at night.", True),
    ],
)
def test_a_text_that_names_an_earlier_value_beside_its_own_says_more(
    content: str, was: str, *, is_held: bool
) -> None:
    """So the earlier value becomes history and is not dropped."""
    assert says_no_more(content, was, about=ABOUT) is is_held


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (("shop database", "backup_target"), ("shop DB backup", "current_target")),
        (("Bakery", "oven_model"), ("bakery oven", "model")),
        (("van", "insurance_company"), ("the van insurance", "company")),
        (("clinic", "front_desk_phone"), ("Clinic front desk", "phone")),
        (("depot gate", "code"), ("depot", "gate_code")),
    ],
)
def test_it_does_not_matter_where_the_subject_ends(first: tuple[str, str], second: tuple[str, str]) -> None:
    """The later value replaces the earlier, in one answer and in memory."""
    early = claim("alpha", 3, subject=first[0], predicate=first[1])
    late = claim("beta", 9, subject=second[0], predicate=second[1])
    one, two = settle([early, late])
    assert (two.follows, two.subject, two.predicate) == (one.place, *first)
    (later,) = settle([late], [known("alpha", first[1], subject=first[0])])
    assert (later.subject, later.predicate, later.is_sibling) == (*first, False)


def test_other_words_are_other_relations() -> None:
    """A code of the depot is none of its gate."""
    one, two = settle(
        [
            claim("a", 3, subject="depot", predicate="gate_code"),
            claim("b", 9, subject="depot", predicate="code"),
        ]
    )
    assert (one.follows, two.follows) == (None, None)
    assert two.predicate == "code"


@pytest.mark.parametrize(
    ("predicate", "bare"),
    [
        ("fee_from_september", "fee"),
        ("rent_since_2027", "rent"),
        ("rate_from_april_2027", "rate"),
        ("sales_in_september", "sales_in_september"),
        ("born_in_2027", "born_in_2027"),
        ("from_september", "from_september"),
    ],
)
def test_a_beginning_in_a_predicate_is_no_part_of_the_relation(predicate: str, bare: str) -> None:
    """A month alone is one only after a word of beginning."""
    assert undated(predicate) == bare


def test_a_value_announced_under_a_predicate_with_its_month_takes_the_place_of_todays() -> None:
    """From its beginning on; until then today's value holds."""
    today = claim("60 euro", 3, predicate="fee")
    coming = claim("70 euro", 3, predicate="fee_from_september", valid_from=datetime(2026, 9, 1, tzinfo=UTC))
    first, second = settle([today, coming])
    assert (second.follows, second.predicate) == (first.place, "fee")
