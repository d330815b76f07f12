"""The memories of the sample home: a small team that runs a shop."""

from dataclasses import dataclass
from typing import Final

MARK: Final = "sample"
"""The butler, scope, app, actor and tag of everything in the sample home."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleFact:
    """A fact; a later fact of the same subject and predicate supersedes it."""

    subject: str
    predicate: str
    content: str
    permanence: str = "standard"
    importance: float = 5.0


LESSONS: Final = (
    ("timing", "checkout", "Takes 60 seconds to accept requests after a restart"),
    ("dependency", "checkout", "Needs the payment gateway before its health check passes"),
    ("behavior", "search", "Returns old results until the nightly index has finished at 03:00"),
    ("remediation", "search", "A restart of the indexer clears a stuck queue"),
    ("maintenance", "backup", "Fills its disk when more than 14 snapshots are kept"),
)
"""Category, service and text of each operational memory."""

APP: Final = (MARK, "Sample calendar")
APP_MEMORIES: Final = (
    "Anna prefers meetings before noon and never on Fridays.",
    "The weekly planning takes place on Tuesday at 10:00 in the room Lisbon.",
    "Ben travels to Porto every second month and joins by video then.",
)

NOTES: Final = (
    ("The staging database listens on port 5433, not on 5432", "infra"),
    ("Integration tests need docker compose up first", "testing"),
    ("Deploys of checkout happen on Tuesday from the branch release/next", "deploy"),
)
"""Text and further tag of each memory of the workspace."""

EPISODES: Final = (
    "Anna asked why the deploy of checkout took 40 minutes; a migration had locked the orders table",
    "Ben and Anna moved the orders table to the new database server",
    "The nightly backup failed because the disk of the backup host was full",
)

ENTITIES: Final = (
    ("Anna", "person", ("Anna Lind",)),
    ("Ben", "person", ()),
    ("checkout", "other", ("checkout service",)),
    ("orders database", "other", ("orders db",)),
)
"""Name, type and further names of each entity."""

FACTS: Final = (
    SampleFact(subject="Anna", predicate="team", content="Anna is on the checkout team"),
    SampleFact(subject="Anna", predicate="team", content="Anna is on the search team", importance=7),
    SampleFact(subject="Anna", predicate="works with", content="Anna works with Ben on the orders database"),
    SampleFact(subject="Anna", predicate="language", content="Anna reads reports in English", importance=3),
    SampleFact(subject="Ben", predicate="role", content="Ben owns the orders database", importance=8),
    SampleFact(subject="Ben", predicate="pager", content="Ben is on call", permanence="ephemeral"),
    SampleFact(
        subject="checkout",
        predicate="slow deploys",
        content="Deploys of checkout take 40 minutes when a migration locks the orders table",
        permanence="stable",
        importance=8,
    ),
    SampleFact(subject="checkout", predicate="owner", content="Ben is the owner of checkout"),
    SampleFact(
        subject="orders database",
        predicate="backup",
        content="The orders database is copied to the backup host every night at 02:00",
        permanence="stable",
    ),
)

HELPFUL_RULE: Final = "Run migrations of the orders table in small batches, outside of office hours"
HARMFUL_RULE: Final = "Restart the queue whenever a deploy is slow"
HARM: Final = "The restart lost two orders"
