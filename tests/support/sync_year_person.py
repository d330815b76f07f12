"""What a person does on a device in a session: memories of all kinds are learned, edited, confirmed and forgotten."""

import random
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from commonplace.services.sync.changes import Fields
from commonplace.services.sync.erasures import Key
from commonplace.services.sync.kinds import SyncKind
from support.sync_year_memories import YearMemories

ENTITIES: Final = 150
LESSONS: Final = 400
APPS: Final = 8
DIGESTS: Final = 12

Note = Callable[[Key, Fields | None, Fields | None], None]
"""Called with a memory, what it showed, and what it shows now."""


class Person:
    """A person at a device.

    Args:
        chance: Decides what happens.
        memories: The memories of the device.
        note: Called with each act.
    """

    def __init__(self, chance: random.Random, memories: YearMemories, note: Note) -> None:
        self._chance = chance
        self._memories = memories
        self._note = note
        self._forgotten_rows: dict[Key, Fields] = {}

    def session(self) -> None:
        """Do what a session does: an episode, and a few memories."""
        chance = self._chance
        self._learn_episode()
        for _ in range(chance.choice((0, 1, 1, 2))):
            self._learn_fact()
        for act, share in (
            (self._edit_fact, 0.3),
            (self._confirm, 0.3),
            (self._pin, 0.05),
            (self._forget_fact, 0.08),
            (self._learn_rule, 0.1),
            (self._edit_rule, 0.03),
            (self._apply_rule, 0.4),
            (self._lesson, 0.7),
            (self._forget_lesson, 0.03),
            (self._digest, 0.25),
            (self._entity, 0.2),
            (self._merge_entities, 0.03),
            (self._forget_other, 0.05),
            (self._project, 0.02),
        ):
            if chance.random() < share:
                act()

    def touch(self, key: Key) -> None:
        """Change a memory, as a session does beside a sync."""
        fields = self._memories.shown(key)
        if fields is not None and "text" in fields and key[0] in {SyncKind.LESSON, SyncKind.DIGEST}:
            self.put(key, {**fields, "text": self._text("changed during a sync")})

    def put(self, key: Key, fields: Fields) -> None:
        """Store what a memory shows."""
        before = self._memories.shown(key)
        self._memories.rows[key] = fields
        self._note(key, before, fields)

    def forget(self, key: Key) -> None:
        """Forget a memory."""
        before = self._memories.shown(key)
        self._memories.rows.pop(key, None)
        self._note(key, before, None)

    def _now(self) -> datetime:
        return self._memories.clock()

    def _at(self) -> str:
        return self._now().isoformat(timespec="microseconds")

    def _text(self, about: str) -> str:
        """Return a text of the usual length that no other act says."""
        words = " ".join(
            self._chance.choices(("port", "nightly", "restarts", "Anna", "prefers", "NAS", "slow"), k=9)
        )
        return f"{about} {words} #{self._chance.randrange(1 << 48):012x};"

    def _id(self) -> str:
        digits = f"{self._chance.getrandbits(128):032x}"
        return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))

    def _any(self, kind: SyncKind) -> Key | None:
        keys = self._memories.of(kind)
        return self._chance.choice(keys) if keys else None

    def _learn_episode(self) -> None:
        days = self._chance.choice((7, 30, 30, 90, None))
        expires_at = (
            None if days is None else (self._now() + timedelta(days=days)).isoformat(timespec="microseconds")
        )
        fields: dict[str, Any] = {
            "butler": "home",
            "session_id": self._id(),
            "text": self._text("We worked on"),
            "importance": 5.0,
            "created_at": self._at(),
            "expires_at": expires_at,
            "trust": "agent",
            "flags": [],
        }
        self.put((SyncKind.EPISODE, self._id()), fields)

    def _fact(self, about: Mapping[str, Any]) -> dict[str, Any]:
        return {
            "subject": f"host {self._chance.randrange(ENTITIES)}",
            "predicate": self._chance.choice(("port", "city", "owner", "version")),
            "text": self._text("The value is"),
            "entity_id": None,
            "importance": 5.0,
            "scope": "global",
            "state": "current",
            "trust": "agent",
            "flags": [],
            "pinned": False,
            "tags": [],
            "valid_from": None,
            "valid_to": None,
            "created_at": self._at(),
            "last_confirmed_at": None,
            **about,
        }

    def _learn_fact(self) -> Key:
        entity = self._any(SyncKind.ENTITY)
        key = (SyncKind.FACT, self._id())
        self.put(key, self._fact({"entity_id": entity[1] if entity else None}))
        return key

    def _edit_fact(self) -> None:
        """Replace a fact by a new one, as an edit does."""
        old = self._any(SyncKind.FACT)
        if old is None or self._memories.rows[old]["state"] != "current":
            return
        new = self._learn_fact()
        self.put(old, {**self._memories.rows[old], "state": "replaced", "valid_to": self._at()})
        link = {"relation": "supersedes", "created_at": self._at()}
        self.put((SyncKind.LINK, f"fact:{new[1]}>fact:{old[1]}"), link)

    def _confirm(self) -> None:
        key = self._any(self._chance.choice((SyncKind.FACT, SyncKind.RULE)))
        if key is not None:
            self.put(key, {**self._memories.rows[key], "last_confirmed_at": self._at()})

    def _pin(self) -> None:
        key = self._any(SyncKind.FACT)
        if key is not None:
            fields = self._memories.rows[key]
            tag = self._chance.choice(("media", "work", "family"))
            self.put(key, {**fields, "pinned": not fields["pinned"], "tags": sorted({*fields["tags"], tag})})

    def _forget_fact(self) -> None:
        """Forget a fact; now and then take one back, at once or after others have heard of it."""
        key = self._any(SyncKind.FACT)
        if key is None:
            return
        self._forgotten_rows[key] = self._memories.rows[key]
        self.forget(key)
        if self._chance.random() < 0.1:
            back = self._chance.choice(sorted(self._forgotten_rows))
            fields = self._forgotten_rows.pop(back)
            if back not in self._memories.rows and back not in self._memories.erased_keys:
                self.put(back, fields)

    def _learn_rule(self) -> None:
        fields = {
            "text": self._text("Always"),
            "scope": "global",
            "state": "current",
            "maturity": "candidate",
            "trust": "agent",
            "flags": [],
            "pinned": False,
            "tags": [],
            "created_at": self._at(),
            "last_confirmed_at": None,
        }
        self.put((SyncKind.RULE, self._id()), fields)

    def _edit_rule(self) -> None:
        key = self._any(SyncKind.RULE)
        if key is not None:
            self._learn_rule()
            self.put(key, {**self._memories.rows[key], "state": "replaced"})

    def _apply_rule(self) -> None:
        rule = self._any(SyncKind.RULE)
        if rule is None:
            return
        fields = {
            "rule_id": rule[1],
            "outcome": self._chance.choice(("helpful", "helpful", "harmful")),
            "reason": None,
            "actor": "agent",
            "applied_at": self._at(),
        }
        self.put((SyncKind.APPLICATION, self._id()), fields)

    def _lesson(self) -> None:
        """Learn a lesson, or reinforce, contradict or edit the one of this name."""
        key = (SyncKind.LESSON, f"{self._chance.randrange(LESSONS):016x}")
        before = self._memories.shown(key)
        if before is None:
            fields: dict[str, Any] = {
                "category": "timing",
                "service": f"service {self._chance.randrange(40)}",
                "text": self._text("Takes"),
                "tier": 1,
                "base": 0.5,
                "reinforced": 1,
                "contradicted": 0,
                "corrected_by": None,
                "is_retired": False,
                "created_at": self._at(),
                "reinforced_at": self._at(),
            }
            self.put(key, fields)
            return
        match self._chance.randrange(6):
            case 0:
                self.put(
                    key, {**before, "contradicted": before["contradicted"] + 1, "reinforced_at": self._at()}
                )
            case 1:
                self.put(key, {**before, "text": self._text("Takes"), "reinforced_at": self._at()})
            case _:
                self.put(key, {**before, "reinforced": before["reinforced"] + 1, "reinforced_at": self._at()})

    def _forget_lesson(self) -> None:
        key = self._any(SyncKind.LESSON)
        if key is not None:
            self.forget(key)

    def _digest(self) -> None:
        app = self._chance.randrange(APPS)
        key = (SyncKind.DIGEST, f"app{app}:conversation{self._chance.randrange(DIGESTS)}")
        before = self._memories.shown(key)
        fields = {
            "app": f"app{app}",
            "created_at": self._at(),
            **(before or {}),
            "text": self._text("They talked about"),
            "updated_at": self._at(),
            "metadata": {"importance": 7.0},
        }
        self.put(key, fields)
        of_app = [each for each in self._memories.of(SyncKind.DIGEST) if each[1].startswith(f"app{app}:")]
        if len(of_app) > 10:
            self.forget(min(of_app, key=lambda each: (self._memories.rows[each]["updated_at"], each)))

    def _entity(self) -> None:
        """Learn an entity, rename one, or add an alias."""
        key = self._any(SyncKind.ENTITY)
        name = f"host {self._chance.randrange(1 << 32):x}"
        if key is None or (
            len(self._memories.of(SyncKind.ENTITY)) < ENTITIES and self._chance.random() < 0.7
        ):
            fields = {
                "canonical_name": name,
                "entity_type": "host",
                "aliases": [],
                "metadata": {},
                "merged_into": None,
                "created_at": self._at(),
            }
            self.put((SyncKind.ENTITY, self._id()), fields)
            return
        fields = self._memories.rows[key]
        if self._chance.random() < 0.5:
            self.put(key, {**fields, "canonical_name": name})
        else:
            self.put(key, {**fields, "aliases": sorted({*fields["aliases"], name})})

    def _merge_entities(self) -> None:
        one, other = self._any(SyncKind.ENTITY), self._any(SyncKind.ENTITY)
        if one is None or other is None or one == other:
            return
        rows = self._memories.rows
        if rows[one]["merged_into"] is None and rows[other]["merged_into"] is None:
            names = {*rows[other]["aliases"], rows[one]["canonical_name"], *rows[one]["aliases"]}
            self.put(other, {**rows[other], "aliases": sorted(names)})
            self.put(one, {**rows[one], "merged_into": other[1]})

    def _forget_other(self) -> None:
        key = self._any(
            self._chance.choice((SyncKind.EPISODE, SyncKind.RULE, SyncKind.ENTITY, SyncKind.LINK))
        )
        if key is not None:
            self.forget(key)

    def _project(self) -> None:
        key = self._any(SyncKind.PROJECT)
        name = f"project {self._chance.randrange(1 << 32):x}"
        if key is None or self._chance.random() < 0.5:
            self.put((SyncKind.PROJECT, self._id()), {"name": name, "remote": None, "root_commit": None})
        else:
            self.put(key, {**self._memories.rows[key], "name": name})
