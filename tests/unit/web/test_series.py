"""Series of charts, and a card that shows what a job of another day failed on."""

from datetime import UTC, datetime, timedelta

from commonplace.knowledge.workers.status import FailedJob
from commonplace.web.pages.knowledge.cards import FAILED
from commonplace.web.pages.layout.cards import ReadCard
from commonplace.web.pages.layout.rendering import ENVIRONMENT
from commonplace.web.pages.layout.series import LEAST_TOP, Series

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
DAY = timedelta(days=1)


def series(*values: float) -> Series:
    """Return a series of days."""
    moments = [NOW + DAY * place for place in range(len(values))]
    return Series(name="learned", moments=moments, values=values, span=DAY)


def test_the_last_span_is_drawn_to_its_end() -> None:
    """It would be a line without width otherwise."""
    days = series(1, 3)
    assert days.times == [(NOW + DAY * place).timestamp() for place in range(3)]
    assert days.levels == [1, 3, 3]
    assert days.total == 4


def test_small_counts_have_an_axis_of_whole_numbers() -> None:
    """The axis ends at the largest value, and never below four."""
    assert series(0, 1).top == LEAST_TOP
    assert series(0, 9).top == 9


def test_the_id_changes_with_the_values_only() -> None:
    """So that what is drawn stays until there is something else to draw."""
    assert series(1, 2).id == series(1, 2).id
    assert series(1, 2).id != series(2, 1).id
    assert series(1, 2).id.startswith("learned-")


def test_the_card_of_failures_names_a_job_and_its_error() -> None:
    """Control characters of an error are shown, not sent."""
    job = FailedJob(job_id=1, task="decay_sweep", arguments={}, error="out of disk\x1b[31m", ended_at=None)
    card = ReadCard(card=FAILED, values={"runs": [], "dead_letters": [], "jobs": [job]})
    page = ENVIRONMENT.get_template("card.html").render(layout="layouts/fragment.html", read=card, now=NOW)
    assert "decay_sweep" in page
    assert "out of disk" in page
    assert "\x1b" not in page
