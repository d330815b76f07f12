"""Periods that sentences name."""

from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.knowledge.rules.periods import Period, read_period

NOW = datetime(2026, 11, 22, 15, 30, tzinfo=UTC)
"""A Sunday."""

PERIODS = [
    ("Anna has worked at Acme since May.", "2026-05-01", None),
    ("Anna has worked at Acme since May 2024", "2024-05-01", None),
    ("Since December, the office has been in Graz.", "2025-12-01", None),
    ("Ben is on holiday until Friday", None, "2026-11-28"),
    ("Until 31 December, the gateway runs in read-only mode.", None, "2027-01-01"),
    ("The licence is valid until 2027-03-01.", None, "2027-03-02"),
    ("From 1 October, Carla leads the search team.", "2026-10-01", None),
    ("From 10 January 2027 on, the API requires tokens.", "2027-01-10", None),
    ("The deploy freeze lasts from 20 December to 6 January.", "2026-12-20", "2027-01-07"),
    ("The team uses PostgreSQL since 2019.", "2019-01-01", None),
    ("The staging server has been down since yesterday.", "2026-11-21", None),
    ("Dora is the release manager until the end of March.", None, "2027-04-01"),
    ("The mirror is read-only until the end of 2026.", None, "2027-01-01"),
    ("Starting March 3, 2027, invoices go to Erik.", "2027-03-03", None),
    ("Anna wohnt seit Mai in Porto.", "2026-05-01", None),
    ("Seit dem 3. Mai 2024 leitet Anna das Team.", "2024-05-03", None),
    ("Ben ist bis Freitag im Urlaub.", None, "2026-11-28"),
    ("Der Server läuft bis zum 31. Dezember im Notbetrieb.", None, "2027-01-01"),
    ("Ab 1. Januar 2027 gilt der neue Tarif.", "2027-01-01", None),
    ("Die Stelle ist bis Ende März unbesetzt.", None, "2027-04-01"),
    ("Ana trabaja en Acme desde mayo.", "2026-05-01", None),
    ("Ana vive en Oporto desde el 3 de mayo de 2024.", "2024-05-03", None),
    ("Luis está de vacaciones hasta el viernes.", None, "2026-11-28"),
    ("A partir del 1 de enero de 2027 la oficina está en Madrid.", "2027-01-01", None),
    ("Anne travaille chez Acme depuis mai.", "2026-05-01", None),
    ("Luc est en congé jusqu'à vendredi.", None, "2026-11-28"),
    ("Le serveur est arrêté jusqu'au 31 décembre.", None, "2027-01-01"),
    ("À partir du 1er janvier 2027, le bureau est à Lyon.", "2027-01-01", None),
    ("Eva has lived in Linz since 2015 and teaches there.", "2015-01-01", None),
    ("Each door is checked every month, starting January 15th", "2027-01-15", None),
    ("Starting Tuesday, Ben works from Graz.", "2026-11-24", None),
    ("Der Chef ist bis Ende Dezember 2026 im Ausland.", None, "2027-01-01"),
    ("Eva est éducatrice à Lyon depuis janvier 2020.", "2020-01-01", None),
    ("Since March the office is in Berlin.", "2026-03-01", None),
    ("Until Friday the office is closed.", None, "2026-11-28"),
    ("The lease runs until May 2027.", None, "2027-06-01"),
    ("El contrato vale hasta mayo de 2027.", None, "2027-06-01"),
    ("Anna works from Graz from next week.", "2026-11-23", None),
    ("From next month, the price is 12 euros.", "2026-12-01", None),
    ("Starting next year, Ben leads the team.", "2027-01-01", None),
    ("Ab nächster Woche arbeitet Anna in Graz.", "2026-11-23", None),
    ("A partir de la próxima semana, la oficina está en Madrid.", "2026-11-23", None),
    ("À partir de la semaine prochaine, le bureau est à Lyon.", "2026-11-23", None),
    ("Ben is on holiday until next Friday.", None, "2026-11-28"),
    ("Luc est en congé jusqu'à vendredi prochain.", None, "2026-11-28"),
    ("Ben works from Graz from next Friday.", "2026-11-27", None),
]

OVER = [
    ("Paul lived in Madrid from 2010 to 2015", "2010-01-01", "2016-01-01"),
    ("Paul vivió en Madrid de 2010 a 2015.", "2010-01-01", "2016-01-01"),
    ("Paul a vécu à Madrid de 2010 à 2015.", "2010-01-01", "2016-01-01"),
    ("Paul lived in Madrid until 2015.", None, "2016-01-01"),
    ("The shop was closed from May 2020 to June 2021.", "2020-05-01", "2021-07-01"),
    ("Anna worked at Acme from 1 May 2020 to 3 June 2021.", "2020-05-01", "2021-06-04"),
    ("Anna lived in Porto until 3 May 2024.", None, "2024-05-04"),
]

WITHOUT = [
    "Anna lives in Porto.",
    "The port has been 5433 since the migration.",
    "Since Friday deploys fail often, we deploy on Tuesdays.",
    "Since May left, Tom leads the team.",
    "The office is open from Monday to Friday.",
    "Die Hotline ist von Montag bis Freitag besetzt.",
    "The backup from 3 May 2026 is damaged.",
    "The changelog lists all changes since 3 May.",
    "The port changed from 2010 to 2015.",
    "The limit was from 2010 to 2015.",
    "The sensor was moved from 1990 to 2010 mm.",
    "The lease runs until 2027.",
    "Ben is on holiday until next week.",
    "Until Friday the 13th comes, nobody worries.",
    "Is Ben on holiday until Friday?",
    "The shop does not open until Friday.",
    "If Ben stays until Friday, Carla covers the weekend.",
    "Anna wants to stay until Friday.",
    "The report is due by Friday.",
    "Requests time out after 30 s, until then they wait.",
    "The house was built in 1998.",
    "The meeting takes from 9 to 11.",
    "The cache is valid until the next deploy.",
    "The build uses Python since version 3.11.",
    "Ben joined in May.",
    "It may run since May be long.",
    "The promotion lasts until May.",
    "Anna is on leave until 03/04/2027.",
    "Maybe Ben stays in Graz until Friday.",
    "Wenn Anna bis Freitag bleibt, hilft sie beim Umzug.",
    "Der Laden öffnet nicht vor Freitag.",
    "La tienda abre de lunes a viernes.",
    "Le magasin n'ouvre pas jusqu'à vendredi.",
    "Anna has been here since May. Ben left on Friday.",
    "This number counts the minutes since 1 January 1601.",
    "Days off can be taken until 31 March of the following year.",
    "The file covers every day until 31 December 2026.",
    "Die Erklärung ist bis Ende März fällig.",
    "Die Vorlage ist bis Ende 2026 angekündigt.",
    "The office has been closed since Sunday.",
]


def midnight(day: str | None) -> datetime | None:
    """Return the beginning of a day."""
    return None if day is None else datetime.fromisoformat(day).replace(tzinfo=UTC)


@pytest.mark.parametrize(("text", "begins", "ends"), PERIODS)
def test_a_sentence_says_when_it_holds(text: str, begins: str | None, ends: str | None) -> None:
    """In four languages; a day belongs to the period that it ends."""
    period = read_period(text, NOW)
    assert period is not None
    assert (period.valid_from, period.valid_to) == (midnight(begins), midnight(ends))
    assert period.words in text


@pytest.mark.parametrize(("text", "begins", "ends"), OVER)
def test_a_period_may_be_over(text: str, begins: str | None, ends: str | None) -> None:
    """The caller decides what that means."""
    period = read_period(text, NOW)
    assert period is not None
    assert (period.valid_from, period.valid_to) == (midnight(begins), midnight(ends))
    assert period.is_over(NOW)


@pytest.mark.parametrize("text", WITHOUT)
def test_in_doubt_there_is_no_period(text: str) -> None:
    """A wrong period hides a memory, a missing one does not."""
    assert read_period(text, NOW) is None


@pytest.mark.parametrize("day", range(7))
def test_the_next_friday_is_that_of_the_next_week(day: int) -> None:
    """The later of two readings hides nothing that still holds."""
    now = NOW + timedelta(days=day + 1)
    period = read_period("Ben is away until next Friday.", now)
    assert period is not None
    assert period.valid_to == midnight("2026-12-05")


@pytest.mark.parametrize("day", range(7))
def test_a_weekday_is_the_next_one(day: int) -> None:
    """It is never today."""
    now = NOW + timedelta(days=day)
    period = read_period("Ben is away until Wednesday.", now)
    assert period is not None
    assert period.valid_to is not None
    last = (period.valid_to - timedelta(days=1)).date()
    assert last.weekday() == 2
    assert now.date() < last <= now.date() + timedelta(days=7)


def test_a_long_text_names_no_period() -> None:
    """A fact is a sentence."""
    assert read_period("Anna has lived here since 2019." + " Yes" * 200, NOW) is None


def test_a_period_is_a_value() -> None:
    """With the words that name it."""
    assert read_period("Anna has lived here since 2019.", NOW) == Period(
        words="since 2019",
        valid_from=datetime.combine(date(2019, 1, 1), datetime.min.time(), UTC),
        valid_to=None,
    )


PIECES = [
    *(
        "since",
        "until",
        "from",
        "to",
        "starting",
        "bis",
        "seit dem",
        "jusqu'au",
        "hasta el",
        "the end of",
        "vom",
        "von",
        "next",
        "was",
    ),
    *(
        "May",
        "31",
        "February",
        "30.",
        "2026-13-45",
        "2026-02-30",
        "31.02.2027",
        "Friday",
        "2026",
        "tomorrow",
        ",",
        ".",
    ),
]


@given(st.lists(st.sampled_from(PIECES), max_size=9))
def test_no_words_raise_and_a_period_ends_after_it_begins(pieces: list[str]) -> None:
    """Also dates that no calendar has."""
    period = read_period(" ".join(pieces), NOW)
    if period is not None:
        assert period.valid_from or period.valid_to
        assert not (period.valid_from and period.valid_to) or period.valid_from < period.valid_to
