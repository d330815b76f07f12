# Made by scripts/statements.py from the headers of the .sql files.
from typing import TypedDict

from commonplace.storage.database import Row, Statements

class _ExchangedMemoriesRow(TypedDict):
    id: int
    service: str | None
    category: str
    observation: str
    confidence: float
    active: int
    created_at: str
    updated_at: str
    tier: int
    lost: float
    created_as: str | None
    reinforced: int
    contradicted: int
    reinforced_elsewhere: int
    contradicted_elsewhere: int
    corrected_by_elsewhere: str | None
    corrected_by: int | None
    last_change: int

class _PointCorrectionsRow(TypedDict):
    id: int

class _LockStaleRow(TypedDict):
    updated_at: str
    weeks_charged: int
    lost: float

class _DecidedPairsRow(TypedDict):
    pair: str
    verdict: str

class _RunningSessionsRow(TypedDict):
    id: int
    recorder_host: str
    recorder_pid: int
    recorder_started_at: str
    seen_at: str

class _CountMemoriesRow(TypedDict):
    active: int
    count: int

class _ServicesOfMemoriesRow(TypedDict):
    service: str | None
    count: int

class _LearnedByDayRow(TypedDict):
    day: str
    memories: int

class OperationalStatements(Statements):
    async def exchanged_memories(
        self, *, category: object, service: object
    ) -> list[_ExchangedMemoriesRow]: ...
    async def put_counts(
        self,
        *,
        memory_id: object,
        reinforced: object,
        contradicted: object,
        corrected_by: object,
        known_until: object,
    ) -> int: ...
    async def point_corrections(self, *, name: object, related_id: object) -> list[_PointCorrectionsRow]: ...
    async def set_created(self, *, memory_id: object, created_at: object) -> int: ...
    async def insert_memory(
        self,
        *,
        service: object,
        category: object,
        observation: object,
        confidence: object,
        active: object,
        moment: object,
        session_id: object,
        tier: object,
    ) -> Row: ...
    async def get_memory(self, *, id: object) -> Row | None: ...
    async def lock_memory(self, *, id: object) -> Row | None: ...
    async def lock_candidates(self, *, service: object, category: object) -> list[Row]: ...
    async def update_memory(
        self, *, id: object, observation: object, confidence: object, active: object, updated_at: object
    ) -> Row | None: ...
    async def delete_memory(self, *, id: object) -> Row | None: ...
    async def memories_by_service(
        self, *, category: object, active: object, limit: object, offset: object
    ) -> list[Row]: ...
    async def memories_by_confidence(
        self, *, category: object, active: object, limit: object, offset: object
    ) -> list[Row]: ...
    async def memories_by_recency(
        self, *, category: object, active: object, limit: object, offset: object
    ) -> list[Row]: ...
    async def narrowed_memories(
        self,
        *,
        service: object,
        general: object,
        category: object,
        active: object,
        search: object,
        sort: object,
        limit: object,
        offset: object,
    ) -> list[Row]: ...
    async def count_eligible(self, *, threshold: object) -> int: ...
    async def eligible(
        self,
        *,
        threshold: object,
        max_chars: object,
        services: object,
        after_confidence: object,
        after_updated_at: object,
        after_id: object,
        limit: object,
    ) -> list[Row]: ...
    async def lock_stale(self, *, updated_before: object) -> list[_LockStaleRow]: ...
    async def charge_decay(
        self, *, memory_id: object, counted_from: object, weeks_charged: object, lost: object
    ) -> int: ...
    async def record_change(
        self,
        *,
        memory_id: object,
        kind: object,
        actor: object,
        session_id: object,
        before: object,
        after: object,
        reason: object,
        wording: object,
        related_id: object,
        moment: object,
    ) -> int: ...
    async def session_changed(
        self, *, memory_id: object, kind: object, other_kind: object, session_id: object
    ) -> int | None: ...
    async def seen_since(self, *, memory_id: object, moment: object) -> int | None: ...
    async def changes_of(self, *, memory_id: object) -> list[Row]: ...
    async def forget_texts(self, *, memory_id: object) -> list[Row]: ...
    async def newest_update(self) -> str | None: ...
    async def insert_output(
        self, *, session_id: object, kind: object, text: object, fingerprint: object, moment: object
    ) -> int | None: ...
    async def list_output(self, *, session_id: object, after: object, limit: object) -> list[Row]: ...
    async def place_in_output(self, *, session_id: object, pattern: object) -> int | None: ...
    async def trim_output(self, *, session_id: object, up_to: object) -> int | None: ...
    async def forget_output(self, *, up_to_session: object) -> int | None: ...
    async def insert_review(
        self, *, kind: object, old_id: object, new_id: object, pair: object, reason: object, moment: object
    ) -> int | None: ...
    async def decided_pairs(self, *, service: object, category: object) -> list[_DecidedPairsRow]: ...
    async def reviews_of_status(self, *, decided: object, limit: object, offset: object) -> list[Row]: ...
    async def count_reviews(self, *, decided: object) -> int: ...
    async def get_review(self, *, id: object) -> Row | None: ...
    async def decide_review(
        self,
        *,
        id: object,
        verdict: object,
        decided_by: object,
        explanation: object,
        before: object,
        moment: object,
    ) -> int | None: ...
    async def reopen_review(self, *, id: object) -> str | None: ...
    async def pairs_for_opinion(self, *, most_calls: object, limit: object) -> list[Row]: ...
    async def count_undecided_call(self, *, id: object) -> int | None: ...
    async def begin_opinion(self, *, model: object, pairs: object, moment: object) -> int: ...
    async def end_opinion(
        self, *, id: object, decided: object, tokens: object, took_ms: object
    ) -> int | None: ...
    async def opinion_figures(self, *, after: object, before: object) -> Row: ...
    async def insert_session(
        self,
        *,
        agent_session_id: object,
        tier: object,
        model: object,
        trigger: object,
        prompt_text: object,
        moment: object,
        host: object,
        pid: object,
        process_started_at: object,
    ) -> Row: ...
    async def announce_session(
        self, *, id: object, agent_session_id: object, model: object
    ) -> Row | None: ...
    async def last_session(self, *, tier: object, trigger: object) -> Row | None: ...
    async def see_session(self, *, id: object, moment: object) -> int | None: ...
    async def running_sessions(self) -> list[_RunningSessionsRow]: ...
    async def interrupt_session(self, *, id: object, seen_at: object) -> Row | None: ...
    async def finish_session(
        self,
        *,
        id: object,
        status: object,
        moment: object,
        response: object,
        cost_usd: object,
        num_turns: object,
        duration_ms: object,
        exit_code: object,
    ) -> Row | None: ...
    async def get_session(self, *, id: object) -> Row | None: ...
    async def note_marker(self, *, session_id: object, fingerprint: object) -> int | None: ...
    async def insert_event(
        self, *, session_id: object, level: object, service: object, message: object, moment: object
    ) -> int: ...
    async def insert_cooldown(
        self,
        *,
        session_id: object,
        service: object,
        action: object,
        reason: object,
        tier: object,
        moment: object,
    ) -> int: ...
    async def count_memories(
        self, *, service: object, general: object, category: object, search: object
    ) -> list[_CountMemoriesRow]: ...
    async def services_of_memories(self) -> list[_ServicesOfMemoriesRow]: ...
    async def recent_memories(self, *, limit: object) -> list[Row]: ...
    async def fading_memories(self, *, updated_before: object, limit: object) -> list[Row]: ...
    async def memories_of_session(self, *, session_id: object, limit: object) -> list[Row]: ...
    async def changes_of_session(self, *, session_id: object, since: object, limit: object) -> list[Row]: ...
    async def page_of_sessions(
        self, *, status: object, tier: object, limit: object, offset: object
    ) -> list[Row]: ...
    async def count_sessions(self, *, status: object, tier: object) -> int: ...
    async def page_of_events(
        self, *, service: object, session_id: object, limit: object, offset: object
    ) -> list[Row]: ...
    async def count_events(self, *, service: object, session_id: object) -> int: ...
    async def page_of_events_of_level(
        self, *, level: object, service: object, session_id: object, limit: object, offset: object
    ) -> list[Row]: ...
    async def count_events_of_level(self, *, level: object, service: object, session_id: object) -> int: ...
    async def page_of_cooldowns(
        self, *, service: object, session_id: object, limit: object, offset: object
    ) -> list[Row]: ...
    async def count_cooldowns(self, *, service: object, session_id: object) -> int: ...
    async def figures(self, *, week_ago: object, updated_before: object) -> Row: ...
    async def change_stamp(self) -> Row: ...
    async def learned_by_day(self, *, since: object) -> list[_LearnedByDayRow]: ...
    async def changes_since(self, *, since: object, limit: object) -> list[Row]: ...
