"""The rules of health: a reading in, warnings out. Pure; the reading holds the current time.

Source: ONE-06.
"""

import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path
from typing import Final

from commonplace.core.text import plural
from commonplace.services.health.warnings import HealthWarning, Severity, WarningCode

URGENT_BEFORE: Final = timedelta(days=2)
"""Memories that are lost within this time make a warning urgent."""
STUCK_AFTER: Final = timedelta(days=1)
"""Episodes that wait longer are stuck: consolidation runs every six hours unless a setting says otherwise."""
REVIEW_MANY: Final = 50
"""Items that wait for a decision from which the review queue is full."""
REVIEW_AFTER: Final = timedelta(days=14)
"""The age from which an item waits too long for a decision."""
SYNC_FAILED_AFTER: Final = timedelta(days=1)
"""The time from which syncs that fail are more than a laptop without a network."""
DISK_LOW_BYTES: Final = 1_000_000_000
DISK_FULL_BYTES: Final = 200_000_000
"""Below this, PostgreSQL and a compaction of the database may fail at any moment."""

ALLOW: Final = "commonplace consolidation allow MODEL"
SHOW: Final = "commonplace consolidation show"
CONSOLIDATE: Final = "commonplace knowledge consolidate"
WORK: Final = "commonplace worker"
DEAD_LETTERS: Final = "commonplace admin dead-letters"
RETRY_DIGESTS: Final = "commonplace apps digests retry --all"
REVIEW: Final = "commonplace review"
BACK_UP: Final = "commonplace backup DIRECTORY"
CONFIRM_CLOCK: Final = "commonplace admin clock --confirm"
SETTINGS: Final = "commonplace config show"
DOCTOR: Final = "commonplace doctor"
SYNC: Final = "commonplace sync"
COMMANDS: Final = (
    *(f"{ALLOW} --daily-tokens NUMBER", SHOW, CONSOLIDATE, WORK, DEAD_LETTERS, RETRY_DIGESTS),
    *(REVIEW, BACK_UP, CONFIRM_CLOCK, SETTINGS, DOCTOR, SYNC),
)
"""The commands of this package that warnings name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodeBacklog:
    """The episodes of a tenant that are not consolidated yet.

    Attributes:
        waiting: Pending and failed episodes.
        oldest_at: When the oldest of them was stored.
        first_lost_at: When the first of them expires; ``None`` if none expires.
        dead_letters: Episodes with no retries left.
        dead_lost_at: When the first of these expires.
        last_error: Why the last attempt failed; empty if it did not fail.
    """

    waiting: int = 0
    oldest_at: datetime | None = None
    first_lost_at: datetime | None = None
    dead_letters: int = 0
    dead_lost_at: datetime | None = None
    last_error: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsolidationState:
    """What consolidation needs.

    Attributes:
        has_model: Whether the settings name a language model for it.
        model_fault: Why that model cannot be used; empty if it can.
        is_scheduled: Whether the schedule is on.
        last_run_at: When the last run began that was applied; ``None`` if there is none.
        budget_spent: Whether the tokens of today are used up.
    """

    has_model: bool = True
    model_fault: str = ""
    is_scheduled: bool = True
    last_run_at: datetime | None = None
    budget_spent: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class BackupState:
    """The last backup.

    Attributes:
        last_at: When the last successful backup was made; ``None`` if none is known.
        has_memories: Whether the home has memories of its own, samples apart.
        after_days: The age in days from which a backup is old; 0: no warning.
    """

    last_at: datetime | None = None
    has_memories: bool = False
    after_days: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncHealth:
    """Sync of the home; a home that does not sync is healthy.

    Attributes:
        failed_since: Since when syncs fail; ``None`` if the last one worked.
        error: Why they fail.
        conflicts: The number of facts that wait because two devices changed them.
    """

    failed_since: datetime | None = None
    error: str = ""
    conflicts: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthReading:
    """What the rules look at; the defaults are those of a healthy home.

    Attributes:
        zone: The zone of the dates in texts.
        unreadable: Why each memory that could not be read could not, by its name.
        has_worker: Whether a worker is alive.
        failed_digests: Conversations of the last week whose digest failed for good.
        reviews: Items that wait for a decision.
        reviews_since: When the oldest of them began to wait, if known.
        sync: Sync of the home.
        free_bytes: Free space on the disk of the home; ``None`` if unknown.
        clock_fault: Why the time is implausible; empty if it is not.
        embedding_fault: Why vectors cannot be computed or compared; empty if they can.
    """

    now: datetime
    zone: tzinfo = UTC
    home: Path = Path()
    unreadable: Mapping[str, str] = field(default_factory=dict[str, str])
    episodes: EpisodeBacklog = field(default_factory=EpisodeBacklog)
    has_worker: bool = True
    consolidation: ConsolidationState = field(default_factory=ConsolidationState)
    backup: BackupState = field(default_factory=BackupState)
    failed_digests: int = 0
    reviews: int = 0
    reviews_since: datetime | None = None
    sync: SyncHealth = field(default_factory=SyncHealth)
    free_bytes: int | None = None
    clock_fault: str = ""
    embedding_fault: str = ""

    def day(self, moment: datetime) -> str:
        """Return the day of a moment in words, with the time if the moment is less than a day away."""
        local, now = moment.astimezone(self.zone), self.now.astimezone(self.zone)
        year = "" if local.year == now.year else f" {local.year}"
        clock = f" at {local:%H:%M}" if abs(moment - self.now) < timedelta(days=1) else ""
        return f"{local.day} {local:%B}{year}{clock}"

    def losing(self, count: int, first_at: datetime | None) -> str:
        """Return that episodes will be lost and when, as a clause; empty if none of them expires."""
        if first_at is None:
            return ""
        first = "" if count == 1 else "the first "
        episodes = plural(count, "episode")
        separator = "," if first else ""
        return f"{episodes} will be lost without becoming knowledge{separator} {first}on {self.day(first_at)}"

    def severity_at(self, lost_at: datetime | None) -> Severity:
        """Return the severity of a loss at a moment."""
        is_soon = lost_at is not None and lost_at - self.now <= URGENT_BEFORE
        return Severity.URGENT if is_soon else Severity.WARNING


def warnings_of(reading: HealthReading) -> list[HealthWarning]:
    """Return the warnings of a reading, the most severe first."""
    order = list(Severity)
    found = [warning for rule in RULES for warning in rule(reading)]
    return sorted(found, key=lambda warning: order.index(warning.severity))


def notice_of(warnings: Iterable[HealthWarning]) -> str:
    """Return one line for the head of a briefing about the first urgent warning; empty if none is urgent.

    A memory that cannot be read has no section in a briefing, and its log says why.
    """
    for warning in warnings:
        if warning.severity is Severity.URGENT and warning.code is not WarningCode.MEMORY_UNREADABLE:
            return f"Tell the user: {warning.text} The command `{warning.command}` helps."
    return ""


def _unreadable(reading: HealthReading) -> Iterator[HealthWarning]:
    for part, reason in reading.unreadable.items():
        yield HealthWarning(
            code=WarningCode.MEMORY_UNREADABLE,
            severity=Severity.URGENT,
            text=f"{part[:1].upper()}{part[1:]} cannot be read.",
            command=DOCTOR,
            detail=reason,
        )


def _no_model(reading: HealthReading) -> Iterator[HealthWarning]:
    episodes = reading.episodes
    if reading.consolidation.has_model or not episodes.waiting:
        return
    lost = reading.losing(episodes.waiting, episodes.first_lost_at)
    waiting = f"{plural(episodes.waiting, 'episode')} {_waits(episodes.waiting)}"
    yield HealthWarning(
        code=WarningCode.NO_MODEL,
        severity=reading.severity_at(episodes.first_lost_at),
        text=f"No language model is set, so {lost or waiting}.",
        command=ALLOW,
        at=episodes.first_lost_at,
    )


def _model_fault(reading: HealthReading) -> Iterator[HealthWarning]:
    if fault := reading.consolidation.model_fault:
        lost = reading.losing(reading.episodes.waiting, reading.episodes.first_lost_at)
        yield HealthWarning(
            code=WarningCode.MODEL_UNUSABLE,
            severity=reading.severity_at(reading.episodes.first_lost_at),
            text=f"The language model cannot be used{f', so {lost}' if lost else ''}.",
            command=SETTINGS,
            detail=fault,
            at=reading.episodes.first_lost_at,
        )


def _stuck(reading: HealthReading) -> Iterator[HealthWarning]:
    episodes, state = reading.episodes, reading.consolidation
    if not state.has_model or state.model_fault or not episodes.waiting or episodes.oldest_at is None:
        return
    is_old = reading.now - episodes.oldest_at > STUCK_AFTER
    if not (is_old or state.budget_spent):
        return
    reason, command = _reason(reading)
    ran = f"since {reading.day(state.last_run_at)}" if state.last_run_at else "yet"
    lost = reading.losing(episodes.waiting, episodes.first_lost_at)
    waiting = f"{plural(episodes.waiting, 'episode')} {_waits(episodes.waiting)}"
    yield HealthWarning(
        code=WarningCode.CONSOLIDATION_STUCK,
        severity=reading.severity_at(episodes.first_lost_at) if is_old else Severity.NOTICE,
        text=f"Consolidation has not run {ran}{reason}. If it does not run, {lost}."
        if lost
        else f"Consolidation has not run {ran}{reason}, and {waiting}.",
        command=command,
        detail=episodes.last_error,
        at=state.last_run_at or episodes.oldest_at,
    )


def _reason(reading: HealthReading) -> tuple[str, str]:
    """Return why consolidation does not run, as the end of a sentence, and the command that helps."""
    episodes, state = reading.episodes, reading.consolidation
    if state.budget_spent:
        return ", because its tokens of today are used up", f"{ALLOW} --daily-tokens NUMBER"
    if episodes.last_error:
        return ", because the last attempt failed", SHOW
    if not state.is_scheduled:
        return ", because its schedule is off", CONSOLIDATE
    if not reading.has_worker:
        return ", because no worker is running", WORK
    return "", CONSOLIDATE


def _dead_letters(reading: HealthReading) -> Iterator[HealthWarning]:
    episodes = reading.episodes
    if not episodes.dead_letters:
        return
    lost = reading.losing(episodes.dead_letters, episodes.dead_lost_at)
    yield HealthWarning(
        code=WarningCode.DEAD_LETTERS,
        severity=reading.severity_at(episodes.dead_lost_at),
        text=f"{plural(episodes.dead_letters, 'episode')} failed and will not be tried again"
        f"{f'; {lost}' if lost else ''}.",
        command=DEAD_LETTERS,
        at=episodes.dead_lost_at,
    )


def _digests(reading: HealthReading) -> Iterator[HealthWarning]:
    if count := reading.failed_digests:
        has = "has" if count == 1 else "have"
        yield HealthWarning(
            code=WarningCode.DIGESTS_FAILED,
            severity=Severity.WARNING,
            text=f"{plural(count, 'conversation')} of an app {has} no digest, because the model failed.",
            command=RETRY_DIGESTS,
        )


def _clock(reading: HealthReading) -> Iterator[HealthWarning]:
    if reading.clock_fault:
        yield HealthWarning(
            code=WarningCode.CLOCK_IMPLAUSIBLE,
            severity=Severity.WARNING,
            text=f"Forgetting is paused, because {reading.clock_fault}. Set the clock, or confirm that it is right.",
            command=CONFIRM_CLOCK,
        )


def _disk(reading: HealthReading) -> Iterator[HealthWarning]:
    free = reading.free_bytes
    if free is not None and free < DISK_LOW_BYTES:
        yield HealthWarning(
            code=WarningCode.DISK_FULL,
            severity=Severity.URGENT if free < DISK_FULL_BYTES else Severity.WARNING,
            text=f"The disk of {reading.home} has {free / 1e6:,.0f} MB left. When it is full, no memory can be stored.",
            command=f"du -h -d 1 {shlex.quote(str(reading.home))}",
        )


def _embedding(reading: HealthReading) -> Iterator[HealthWarning]:
    if reading.embedding_fault:
        yield HealthWarning(
            code=WarningCode.EMBEDDING_UNUSABLE,
            severity=Severity.WARNING,
            text="Searches compare only words, and no knowledge is stored, because the embedding model does not work.",
            command=DOCTOR,
            detail=reading.embedding_fault,
        )


def _backup(reading: HealthReading) -> Iterator[HealthWarning]:
    backup = reading.backup
    if not (backup.after_days and backup.has_memories):
        return
    if backup.last_at is None:
        yield HealthWarning(
            code=WarningCode.BACKUP_MISSING,
            severity=Severity.NOTICE,
            text="No backup was made yet. If this disk fails, all memories are lost.",
            command=BACK_UP,
        )
    elif (age := reading.now - backup.last_at) > timedelta(days=backup.after_days):
        yield HealthWarning(
            code=WarningCode.BACKUP_OLD,
            severity=Severity.WARNING,
            text=f"The last backup is {plural(age.days, 'day')} old. "
            f"If this disk fails, all memories since {reading.day(backup.last_at)} are lost.",
            command=BACK_UP,
            at=backup.last_at,
        )


def _review(reading: HealthReading) -> Iterator[HealthWarning]:
    since = reading.reviews_since
    is_old = since is not None and reading.now - since > REVIEW_AFTER
    if reading.reviews and (is_old or reading.reviews >= REVIEW_MANY):
        oldest = f", the oldest since {reading.day(since)}" if since else ""
        yield HealthWarning(
            code=WarningCode.REVIEW_WAITING,
            severity=Severity.NOTICE,
            text=f"{plural(reading.reviews, 'item')} {_waits(reading.reviews)} for your decision{oldest}. "
            "Until you decide, memories that are held or flagged are not used.",
            command=REVIEW,
            at=since,
        )


def _sync(reading: HealthReading) -> Iterator[HealthWarning]:
    sync = reading.sync
    if sync.failed_since is not None and reading.now - sync.failed_since > SYNC_FAILED_AFTER:
        yield HealthWarning(
            code=WarningCode.SYNC_FAILED,
            severity=Severity.WARNING,
            text=f"Every sync has failed since {reading.day(sync.failed_since)}. "
            "Your other devices do not get the memories of this one, and this one does not get theirs.",
            command=SYNC,
            detail=sync.error,
            at=sync.failed_since,
        )
    if sync.conflicts:
        yield HealthWarning(
            code=WarningCode.SYNC_CONFLICTS,
            severity=Severity.NOTICE,
            text=f"{plural(sync.conflicts, 'fact')} that two devices changed {_waits(sync.conflicts)} for your "
            "decision.",
            command=REVIEW,
        )


RULES: Final[tuple[Callable[[HealthReading], Iterator[HealthWarning]], ...]] = (
    *(_unreadable, _no_model, _model_fault, _stuck, _dead_letters, _digests),
    *(_disk, _clock, _embedding, _backup, _sync, _review),
)
"""In the order of warnings of one severity."""


def _waits(count: int) -> str:
    return "waits" if count == 1 else "wait"
