# Made by scripts/statements.py from the headers of the .sql files.
from datetime import date, datetime
from typing import TypedDict
from uuid import UUID

from commonplace.storage.database import Row, Statements

class _LatestEventRow(TypedDict):
    id: UUID

class _DeleteExpiredEpisodesRow(TypedDict):
    deleted: int
    unconsolidated: int

class _DeleteSurplusEpisodesRow(TypedDict):
    deleted: int
    total: int

class _RunningRunRow(TypedDict):
    id: UUID
    worker: str
    leased_until: datetime

class _OldestEpisodesRow(TypedDict):
    retry_count: int
    next_attempt_at: datetime | None
    is_due: bool

class _NextEpisodesRow(TypedDict):
    created_at: datetime
    insertion_order: int

class _MemoryTextsRow(TypedDict):
    id: UUID
    subject: str | None
    predicate: str | None
    content: str

class _StandingFactRow(TypedDict):
    id: UUID
    entity_id: UUID | None
    subject: str
    predicate: str
    content: str

class _FactKeysRow(TypedDict):
    scope: str
    subject: str
    predicate: str
    entity_id: UUID | None

class _StoredByUndoneRunsRow(TypedDict):
    memory_id: UUID
    superseded_ids: list[UUID]

class _LeftByUndoneRunsRow(TypedDict):
    id: UUID

class _EntityNamedRow(TypedDict):
    id: UUID

class _EntitiesBetweenRow(TypedDict):
    id: UUID
    content: str

class _EntityLockRow(TypedDict):
    id: UUID

class _EntityNeighbourhoodRow(TypedDict):
    entity_id: UUID
    predicate: str
    content: str

class _EntityLinkSupersededRow(TypedDict):
    source_id: UUID
    target_id: UUID

class _EntityLastMergeRow(TypedDict):
    id: UUID
    payload: dict[str, object]

class _SomeExchangedNamesRow(TypedDict):
    kind: str
    id: UUID

class _ExchangedNamesRow(TypedDict):
    kind: str
    id: UUID

class _RivalsOfFactsRow(TypedDict):
    id: UUID
    validity: str
    trust: str
    began_at: datetime
    created_at: datetime
    scope: str
    predicate: str
    about: str

class _WaitingFactsRow(TypedDict):
    id: UUID

class _SuccessorsRow(TypedDict):
    id: UUID

class _SurvivorsRow(TypedDict):
    id: UUID
    survivor_id: UUID

class _HoldSourcesRow(TypedDict):
    id: UUID

class _PutApplicationRow(TypedDict):
    maturity: str
    effectiveness: float
    applied: int
    successes: int
    harms: int

class _DecidedApartRow(TypedDict):
    place: str

class _LockEntitiesRow(TypedDict):
    id: UUID
    merged_into: str | None

class _LockActiveFactsRow(TypedDict):
    place: int
    draft_words: str
    session_source: str
    episode_trust: str | None
    said_at: datetime | None
    role: str | None
    id: UUID | None

class _NearFactsRow(TypedDict):
    id: UUID
    is_spelling: bool
    has_own_key: bool
    ends: bool

class _RivalsOfHeldFactRow(TypedDict):
    id: UUID

class _QueueReviewsRow(TypedDict):
    id: int
    old_id: UUID
    new_id: UUID

class _FactsChangedRow(TypedDict):
    scope_after: str | None

class _RulesChangedRow(TypedDict):
    after: bool

class _FactStateRow(TypedDict):
    validity: str

class _EntityImagesRow(TypedDict):
    before: dict[str, object] | None

class _AnswerOfRow(TypedDict):
    fingerprint: str
    status: int | None
    is_lost: bool

class _CreateLinkRow(TypedDict):
    source_exists: bool
    target_exists: bool
    is_new: bool

class _GetLinksRow(TypedDict):
    source_type: str
    source_id: UUID
    target_type: str
    target_id: UUID
    relation: str
    created_at: datetime

class _GraphEntitiesRow(TypedDict):
    id: UUID

class _GraphFactsRow(TypedDict):
    id: UUID

class _GraphStepsRow(TypedDict):
    to_id: UUID

class _MemoryPartitionsRow(TypedDict):
    table_name: str
    bound: str
    rows: int
    bytes: int

class _ForeignKeysRow(TypedDict):
    validating: str
    is_valid: bool

class _PreparingStepsRow(TypedDict):
    statement: str

class _IsolatingStepsRow(TypedDict):
    statement: str

class _IndexStepsRow(TypedDict):
    statement: str

class _LeavingStepsRow(TypedDict):
    statement: str

class _AbandonedStepsRow(TypedDict):
    statement: str

class _ServerAndRightsRow(TypedDict):
    version: int
    may_create: bool

class _LinkedTextsRow(TypedDict):
    memory_type: str
    id: UUID
    text: str
    state: str | None

class _FactsOfEntitiesRow(TypedDict):
    id: UUID

class _NamesOfRow(TypedDict):
    id: UUID
    name: str

class _ScopesOfRow(TypedDict):
    id: UUID
    scope: str

class _TablesOfOthersRow(TypedDict):
    relname: str

class _LeavesRow(TypedDict):
    relname: str

class _KnownTenantsRow(TypedDict):
    tenant_id: str

class _ActiveModelRow(TypedDict):
    model: str
    version: str

class _NoteReembeddingRow(TypedDict):
    done: int
    total: int

class _InsertRulesRow(TypedDict):
    id: UUID
    flags: list[str]

class _RepeatedRulesRow(TypedDict):
    place: int
    id: UUID
    flags: list[str]
    may_confirm: bool

class _NearRulesRow(TypedDict):
    rule_id: UUID
    id: UUID
    content: str

class _ListOpposedRow(TypedDict):
    memory_type: str
    older_id: UUID
    newer_id: UUID
    older_key: str
    newer_key: str
    older_content: str
    newer_content: str
    since: datetime

class _OpposedAmongRow(TypedDict):
    older_id: UUID
    newer_id: UUID

class _RulesToInvertRow(TypedDict):
    id: UUID

class _MemoriesToMoveRow(TypedDict):
    memory_type: str
    id: UUID

class _RivalFactsRow(TypedDict):
    stays_id: UUID
    superseded_id: UUID

class _RescopeMemoriesRow(TypedDict):
    memory_type: str
    id: UUID

class _ScopeMoveRow(TypedDict):
    payload: dict[str, object]
    is_undone: bool

class _StandingScopeMovesRow(TypedDict):
    id: UUID
    payload: dict[str, object]

class _MovableBackRow(TypedDict):
    id: UUID

class _RestoreRivalsRow(TypedDict):
    id: UUID

class _TuneSearchRow(TypedDict):
    model: str | None
    version: str | None

class _BumpReferencesRow(TypedDict):
    id: UUID
    reference_count: int
    last_referenced_at: datetime

class _FactsUntilRow(TypedDict):
    later_id: UUID

class _LearnedByDayRow(TypedDict):
    day: date
    memories: int

class _SubjectEntitiesRow(TypedDict):
    name_key: str
    id: UUID
    is_canonical: bool

class _NamesAlikeRow(TypedDict):
    name: str

class _UnlinkedKeysRow(TypedDict):
    id: UUID
    scope: str
    subject: str
    predicate: str

class _ByTrustRow(TypedDict):
    id: UUID

class _LastSubjectDecisionRow(TypedDict):
    facts: list[str] | None
    superseded: list[list[str]]
    alias_added: bool

class _KeysOfFactsRow(TypedDict):
    id: UUID
    scope: str
    subject: str
    predicate: str

class _RelationsRow(TypedDict):
    created_at: datetime

class _SupersededByRow(TypedDict):
    id: UUID

class KnowledgeStatements(Statements):
    async def list_events(
        self,
        *,
        event_type: object,
        event_types: object,
        actor: object,
        since: object,
        until: object,
        limit: object,
        offset: object,
    ) -> list[Row]: ...
    async def events_about(
        self,
        *,
        about: object,
        event_type: object,
        event_types: object,
        actor: object,
        since: object,
        until: object,
        limit: object,
        offset: object,
    ) -> list[Row]: ...
    async def events_of_run(
        self,
        *,
        run_id: object,
        event_type: object,
        event_types: object,
        actor: object,
        since: object,
        until: object,
        limit: object,
        offset: object,
    ) -> list[Row]: ...
    async def get_event(self, *, id: object) -> Row | None: ...
    async def latest_event(self) -> _LatestEventRow | None: ...
    async def delete_expired_episodes(self, *, limit: object, now: object) -> _DeleteExpiredEpisodesRow: ...
    async def delete_surplus_episodes(
        self, *, max_entries: object, limit: object
    ) -> _DeleteSurplusEpisodesRow: ...
    async def pending_groups(self, *, now: object) -> list[Row]: ...
    async def expiring_episodes(self, *, now: object, before: object) -> Row: ...
    async def loses_episodes(self, *, now: object, before: object) -> bool: ...
    async def set_run(self, *, run_id: object) -> Row | None: ...
    async def running_run(self, *, butler: object) -> _RunningRunRow | None: ...
    async def oldest_episodes(
        self,
        *,
        butler: object,
        limit: object,
        max_chars: object,
        max_episode_chars: object,
        now: object,
        latest_attempt: object,
    ) -> list[_OldestEpisodesRow]: ...
    async def is_busy(self, *, butler: object, now: object, latest_lease: object) -> bool: ...
    async def next_episodes(
        self,
        *,
        butler: object,
        after_created_at: object,
        after_order: object,
        limit: object,
        max_attempts: object,
        now: object,
        latest_attempt: object,
    ) -> list[_NextEpisodesRow]: ...
    async def begin_run(
        self,
        *,
        id: object,
        butler: object,
        worker: object,
        model: object,
        episode_ids: object,
        leased_until: object,
        now: object,
    ) -> object: ...
    async def renew_lease(self, *, run_id: object, leased_until: object) -> UUID | None: ...
    async def lock_run(self, *, run_id: object) -> Row | None: ...
    async def end_run(self, *, run_id: object, state: object, errors: object, now: object) -> object: ...
    async def fail_episodes(
        self, *, run_id: object, error: object, counted: object, max_attempts: object, next_attempt_at: object
    ) -> int: ...
    async def release_episodes(self, *, run_id: object) -> object: ...
    async def dead_letters(self, *, butler: object, limit: object) -> list[Row]: ...
    async def requeue_dead_letters(self, *, butler: object, episode_id: object, now: object) -> int: ...
    async def undo_requeue(self, *, id: object) -> UUID | None: ...
    async def known_facts(self, *, run_id: object, butler: object, limit: object) -> list[Row]: ...
    async def known_rules(self, *, run_id: object, butler: object, limit: object) -> list[Row]: ...
    async def known_entities(self, *, run_id: object, limit: object) -> list[Row]: ...
    async def lock_run_episodes(self, *, run_id: object, now: object) -> list[Row]: ...
    async def lock_facts(
        self, *, ids: object, scopes: object, subjects: object, predicates: object
    ) -> list[Row]: ...
    async def inherit_source(self, *, run_id: object) -> str: ...
    async def memory_texts(self, *, ids: object) -> list[_MemoryTextsRow]: ...
    async def standing_fact(self, *, id: object) -> _StandingFactRow | None: ...
    async def standing_rule(self, *, id: object) -> str | None: ...
    async def same_fact(
        self, *, butler: object, subject: object, predicates: object, content: object
    ) -> UUID | None: ...
    async def same_rule(self, *, butler: object, content: object) -> UUID | None: ...
    async def supersede_fact(self, *, id: object, by_id: object, now: object) -> UUID | None: ...
    async def link_episodes(
        self, *, source_type: object, source_id: object, episode_ids: object, relation: object, now: object
    ) -> object: ...
    async def record_action(
        self,
        *,
        run_id: object,
        position: object,
        action: object,
        memory_id: object,
        superseded_ids: object,
        confirmed_before: object,
        confirmed_at: object,
    ) -> object: ...
    async def consolidate_episodes(self, *, run_id: object) -> int: ...
    async def finish_run(
        self,
        *,
        run_id: object,
        facts_created: object,
        facts_updated: object,
        facts_confirmed: object,
        facts_retracted: object,
        rules_created: object,
        rules_updated: object,
        rules_confirmed: object,
        rules_retracted: object,
        notes: object,
        errors: object,
        now: object,
    ) -> Row | None: ...
    async def list_runs(
        self, *, butler: object, state: object, limit: object, offset: object
    ) -> list[Row]: ...
    async def get_run(self, *, run_id: object) -> Row | None: ...
    async def run_actions(self, *, run_id: object) -> list[Row]: ...
    async def fact_keys(self, *, ids: object) -> list[_FactKeysRow]: ...
    async def stored_by_undone_runs(self, *, ids: object) -> list[_StoredByUndoneRunsRow]: ...
    async def left_by_undone_runs(self, *, ids: object) -> list[_LeftByUndoneRunsRow]: ...
    async def since_stored(self, *, id: object) -> Row | None: ...
    async def restore_fact(self, *, id: object, validity: object) -> UUID | None: ...
    async def restore_rule(self, *, id: object) -> UUID | None: ...
    async def confirmed_before_undone(
        self, *, run_id: object, memory_id: object, confirmed_at: object
    ) -> datetime | None: ...
    async def unlink_episodes(
        self, *, source_type: object, source_id: object, episode_ids: object, relation: object
    ) -> object: ...
    async def requeue_run(self, *, run_id: object, now: object) -> int: ...
    async def mark_undone(self, *, run_id: object, now: object) -> object: ...
    async def entity_insert(
        self,
        *,
        canonical_name: object,
        entity_type: object,
        aliases: object,
        metadata: object,
        name_keys: object,
    ) -> Row | None: ...
    async def entity_named(
        self, *, canonical_name: object, entity_type: object
    ) -> _EntityNamedRow | None: ...
    async def entities_between(
        self, *, first: object, last: object, most: object
    ) -> list[_EntitiesBetweenRow]: ...
    async def entity_by_id(self, *, id: object) -> Row | None: ...
    async def entity_lock(self, *, ids: object) -> list[_EntityLockRow]: ...
    async def entity_write(
        self,
        *,
        id: object,
        canonical_name: object,
        aliases: object,
        metadata: object,
        name_keys: object,
        updated_at: object,
    ) -> Row | None: ...
    async def entity_search(
        self, *, key: object, entity_type: object, preferred: object, limit: object
    ) -> list[Row]: ...
    async def entity_holding(self, *, pieces: object, least: object, entity_type: object) -> list[Row]: ...
    async def entity_neighbourhood(self, *, ids: object, limit: object) -> list[_EntityNeighbourhoodRow]: ...
    async def entity_lock_facts(self, *, entity_ids: object, fact_ids: object) -> list[Row]: ...
    async def entity_set_validity(self, *, ids: object, validities: object) -> object: ...
    async def entity_point_facts(
        self, *, ids: object, entity_ids: object, supersedes_ids: object
    ) -> object: ...
    async def entity_link_superseded(
        self, *, winners: object, losers: object
    ) -> list[_EntityLinkSupersededRow]: ...
    async def entity_unlink_superseded(self, *, winners: object, losers: object) -> object: ...
    async def entity_last_merge(
        self, *, source_entity_id: object, target_entity_id: object
    ) -> _EntityLastMergeRow | None: ...
    async def insert_episodes(
        self,
        *,
        id: object,
        butler: object,
        session_id: object,
        content: object,
        search_text: object,
        embedding: object,
        importance: object,
        metadata: object,
        created_at: object,
        expires_at: object,
        source: object,
        flags: object,
        model: object,
        version: object,
    ) -> list[Row]: ...
    async def forget_episode(self, *, id: object, now: object) -> UUID | None: ...
    async def restore_episode(self, *, id: object, now: object) -> UUID | None: ...
    async def record_event(self, *, event_type: object, payload: object) -> UUID: ...
    async def record_events(self, *, rows: object) -> object: ...
    async def newest_event_at(self) -> datetime | None: ...
    async def some_exchanged_names(self, *, ids: object) -> list[_SomeExchangedNamesRow]: ...
    async def exchanged_names(self) -> list[_ExchangedNamesRow]: ...
    async def exchanged_fingerprint(self, *, now: object) -> str: ...
    async def exchanged_vectors(self, *, ids: object) -> list[Row]: ...
    async def exchanged_facts(self) -> list[Row]: ...
    async def lock_exchanged_facts(self, *, ids: object) -> list[Row]: ...
    async def put_facts(
        self, *, rows: object, embedding: object, model: object, version: object
    ) -> object: ...
    async def point_successors(self, *, ids: object) -> object: ...
    async def rivals_of_facts(self, *, ids: object) -> list[_RivalsOfFactsRow]: ...
    async def waiting_facts(self) -> list[_WaitingFactsRow]: ...
    async def count_conflicts(self) -> int: ...
    async def hold_rivals(self, *, ids: object) -> object: ...
    async def hold_successors(self, *, ids: object) -> object: ...
    async def activate_facts(self, *, ids: object) -> object: ...
    async def successors(self, *, memory_type: object, ids: object) -> list[_SuccessorsRow]: ...
    async def survivors(self, *, ids: object) -> list[_SurvivorsRow]: ...
    async def hold_sources(self, *, ids: object) -> list[_HoldSourcesRow]: ...
    async def has_arrived_sources(self) -> bool: ...
    async def attach_sources(self) -> object: ...
    async def exchanged_rules(self) -> list[Row]: ...
    async def lock_exchanged_rules(self, *, ids: object) -> list[Row]: ...
    async def put_rules(
        self, *, rows: object, embedding: object, model: object, version: object
    ) -> object: ...
    async def exchanged_applications(self) -> list[Row]: ...
    async def some_exchanged_applications(self, *, ids: object) -> list[Row]: ...
    async def put_application(
        self,
        *,
        id: object,
        rule_id: object,
        outcome: object,
        reason: object,
        actor: object,
        applied_at: object,
        context: object,
    ) -> _PutApplicationRow | None: ...
    async def latest_outcome(self, *, rule_id: object) -> str: ...
    async def rate_rule(self, *, id: object, effectiveness: object, needs_inversion: object) -> object: ...
    async def delete_application(self, *, id: object) -> object: ...
    async def exchanged_episodes(self, *, now: object) -> list[Row]: ...
    async def lock_exchanged_episodes(self, *, ids: object, now: object) -> list[Row]: ...
    async def drop_episode(self, *, id: object) -> object: ...
    async def put_episodes(
        self, *, rows: object, embedding: object, model: object, version: object
    ) -> object: ...
    async def exchanged_entities(self) -> list[Row]: ...
    async def lock_exchanged_entities(self, *, ids: object) -> list[Row]: ...
    async def put_entity(
        self,
        *,
        id: object,
        canonical_name: object,
        entity_type: object,
        aliases: object,
        metadata: object,
        name_keys: object,
        created_at: object,
        now: object,
    ) -> object: ...
    async def delete_entity(self, *, id: object) -> object: ...
    async def exchanged_links(self) -> list[Row]: ...
    async def some_exchanged_links(self, *, ends: object) -> list[Row]: ...
    async def put_links(self, *, rows: object) -> object: ...
    async def delete_link(
        self, *, source_type: object, source_id: object, target_type: object, target_id: object
    ) -> object: ...
    async def decided_apart(
        self, *, places: object, scopes: object, subjects: object, predicates: object, contents: object
    ) -> list[_DecidedApartRow]: ...
    async def list_fact_reviews(self, *, decided: object, limit: object) -> list[Row]: ...
    async def get_fact_review(self, *, id: object) -> Row | None: ...
    async def set_decision(self, *, id: object, decision: object, now: object) -> object: ...
    async def set_predicate(self, *, id: object, predicate: object) -> object: ...
    async def stand_beside(self, *, id: object, predicate: object, old_id: object) -> object: ...
    async def reactivate_fact(self, *, id: object) -> UUID | None: ...
    async def serialise_fact_keys(self, *, keys: object) -> list[Row]: ...
    async def lock_entities(self, *, ids: object) -> list[_LockEntitiesRow]: ...
    async def lock_active_facts(
        self,
        *,
        content: object,
        scope: object,
        subject: object,
        predicate: object,
        entity_id: object,
        source_episode_id: object,
        names_entity: object,
        target_id: object,
    ) -> list[_LockActiveFactsRow]: ...
    async def insert_facts(
        self,
        *,
        id: object,
        subject: object,
        predicate: object,
        content: object,
        search_text: object,
        embedding: object,
        importance: object,
        decay_rate: object,
        permanence: object,
        source_butler: object,
        source_episode_id: object,
        entity_id: object,
        scope: object,
        tags: object,
        metadata: object,
        valid_from: object,
        valid_to: object,
        source: object,
        flags: object,
        trust: object,
        validity: object,
        created_as: object,
        supersedes_id: object,
        contradicts_id: object,
        reference_count: object,
        last_referenced_at: object,
        last_confirmed_at: object,
        ended_id: object,
        ended_by: object,
        ended_at: object,
        model: object,
        version: object,
        now: object,
    ) -> object: ...
    async def near_facts(
        self,
        *,
        scope: object,
        subject: object,
        predicate: object,
        entity_id: object,
        subject_text: object,
        key_text: object,
        embedding: object,
        version: object,
        limit: object,
    ) -> list[_NearFactsRow]: ...
    async def rivals_of_held_fact(self, *, id: object) -> list[_RivalsOfHeldFactRow]: ...
    async def accept_fact(self, *, id: object, now: object) -> UUID | None: ...
    async def retract_fact(self, *, id: object) -> UUID | None: ...
    async def queue_reviews(
        self, *, run_id: object, old_ids: object, new_ids: object, reasons: object, now: object
    ) -> list[_QueueReviewsRow]: ...
    async def facts_changed(
        self, *, since: object, until: object, scope: object, limit: object, offset: object
    ) -> list[_FactsChangedRow]: ...
    async def rules_changed(
        self, *, since: object, until: object, scope: object, limit: object, offset: object
    ) -> list[_RulesChangedRow]: ...
    async def fact_state(self, *, id: object, as_of: object) -> _FactStateRow | None: ...
    async def rule_forgotten(self, *, id: object, as_of: object) -> bool | None: ...
    async def entity_images(self, *, id: object, as_of: object) -> list[_EntityImagesRow]: ...
    async def timeline(
        self, *, subject: object, entity_id: object, limit: object, offset: object
    ) -> list[Row]: ...
    async def claim_request(
        self, *, key: object, fingerprint: object, claim: object, lease: object, keep: object
    ) -> Row | None: ...
    async def answer_of(self, *, key: object) -> _AnswerOfRow: ...
    async def mark_claim(self, *, key: object, claim: object) -> UUID | None: ...
    async def renew_claim(self, *, key: object, claim: object, lease: object) -> object: ...
    async def keep_answer(
        self,
        *,
        key: object,
        claim: object,
        status: object,
        media_type: object,
        location: object,
        body: object,
    ) -> object: ...
    async def release_claim(self, *, key: object, claim: object) -> object: ...
    async def delete_expired_answers(self) -> object: ...
    async def create_link(
        self,
        *,
        source_type: object,
        source_id: object,
        target_type: object,
        target_id: object,
        relation: object,
        now: object,
    ) -> _CreateLinkRow: ...
    async def get_links(
        self, *, memory_type: object, memory_id: object, outgoing: object, incoming: object
    ) -> list[_GetLinksRow]: ...
    async def list_facts(
        self,
        *,
        ids: object,
        validity: object,
        fading: object,
        scope: object,
        subject: object,
        predicate: object,
        entity_id: object,
        text: object,
        tags: object,
        since: object,
        until: object,
        learned_by: object,
        trusts: object,
        unused: object,
        source: object,
        max_confidence: object,
        as_of: object,
        valid_at: object,
        now: object,
        sort: object,
        reverse: object,
        limit: object,
        offset: object,
        after: object,
        after_at: object,
        after_id: object,
    ) -> list[Row]: ...
    async def fact_chain(self, *, id: object) -> list[Row]: ...
    async def list_rules(
        self,
        *,
        ids: object,
        maturity: object,
        forgotten: object,
        scope: object,
        text: object,
        tags: object,
        since: object,
        until: object,
        learned_by: object,
        trusts: object,
        unused: object,
        source: object,
        max_confidence: object,
        as_of: object,
        now: object,
        sort: object,
        reverse: object,
        limit: object,
        offset: object,
        after: object,
        after_at: object,
        after_id: object,
    ) -> list[Row]: ...
    async def list_applications(self, *, rule_id: object, limit: object) -> list[Row]: ...
    async def list_episodes(
        self,
        *,
        status: object,
        scope: object,
        learned_by: object,
        since: object,
        until: object,
        as_of: object,
        trusts: object,
        live_at: object,
        limit: object,
        offset: object,
        after_at: object,
        after_id: object,
    ) -> list[Row]: ...
    async def list_entities(
        self,
        *,
        keys: object,
        entity_type: object,
        merged: object,
        limit: object,
        offset: object,
        after_name: object,
        after_id: object,
    ) -> list[Row]: ...
    async def graph_entities(self, *, entity_id: object, limit: object) -> list[_GraphEntitiesRow]: ...
    async def graph_facts(
        self, *, entity_ids: object, per_entity: object, scope: object, since: object
    ) -> list[_GraphFactsRow]: ...
    async def graph_relations(self, *, fact_ids: object, limit: object) -> list[Row]: ...
    async def graph_links(self, *, ids: object, limit: object) -> list[Row]: ...
    async def graph_steps(self, *, ids: object, limit: object) -> list[_GraphStepsRow]: ...
    async def list_of_session(self, *, session_id: object, now: object) -> list[Row]: ...
    async def list_harmful_rules(self, *, limit: object) -> list[Row]: ...
    async def prepare_exchange(self) -> Row | None: ...
    async def memory_partitions(self) -> list[_MemoryPartitionsRow]: ...
    async def foreign_keys(self) -> list[_ForeignKeysRow]: ...
    async def preparing_steps(self, *, table_name: object, leaf: object) -> list[_PreparingStepsRow]: ...
    async def isolating_steps(
        self, *, table_name: object, shared: object, leaf: object, tenant: object
    ) -> list[_IsolatingStepsRow]: ...
    async def index_steps(self, *, shared: object, leaf: object) -> list[_IndexStepsRow]: ...
    async def leaving_steps(
        self, *, table_name: object, shared: object, leaf: object, tenant: object
    ) -> list[_LeavingStepsRow]: ...
    async def abandoned_steps(self, *, leaf: object) -> list[_AbandonedStepsRow]: ...
    async def copying_statement(
        self, *, table_name: object, shared: object, leaf: object, tenant: object
    ) -> str: ...
    async def analysing_statement(self, *, leaf: object) -> str: ...
    async def server_and_rights(self) -> _ServerAndRightsRow: ...
    async def tenant_is_known(self, *, tenant: object) -> bool: ...
    async def linked_texts(self, *, ids: object) -> list[_LinkedTextsRow]: ...
    async def facts_of_entities(self, *, entity_ids: object) -> list[_FactsOfEntitiesRow]: ...
    async def names_of(self, *, ids: object, now: object) -> list[_NamesOfRow]: ...
    async def scopes_of(self, *, ids: object) -> list[_ScopesOfRow]: ...
    async def seize_reembedding(self) -> bool: ...
    async def reembedding_is_seized(self) -> bool: ...
    async def tables_of_others(self) -> list[_TablesOfOthersRow]: ...
    async def leaves(self, *, table_name: object) -> list[_LeavesRow]: ...
    async def known_tenants(self) -> list[_KnownTenantsRow]: ...
    async def active_model(self) -> _ActiveModelRow | None: ...
    async def last_reembedding(self) -> Row | None: ...
    async def register_model(self, *, model: object, version: object, dimensions: object) -> object: ...
    async def begin_reembedding(self, *, model: object, version: object, now: object) -> Row: ...
    async def set_reembedding_total(self, *, id: object, to_do: object, now: object) -> object: ...
    async def note_reembedding(
        self, *, id: object, done: object, step: object, now: object
    ) -> _NoteReembeddingRow | None: ...
    async def abort_reembedding(self, *, now: object) -> object: ...
    async def prepare_switch(self) -> Row | None: ...
    async def hold_writers(self) -> Row | None: ...
    async def hold_everybody(self) -> object: ...
    async def drop_passages(self) -> object: ...
    async def activate_model(self, *, id: object, version: object, now: object) -> Row | None: ...
    async def activate_next(self, *, model: object, version: object, now: object) -> object: ...
    async def any_missed(self) -> bool: ...
    async def list_waiting(
        self, *, now: object, soon: object, faint: object, events: object, limit: object
    ) -> list[Row]: ...
    async def list_duplicates(
        self, *, likeness: object, latest: object, facts: object, rules: object, limit: object
    ) -> list[Row]: ...
    async def tell_apart(self, *, first_id: object, second_id: object, now: object) -> object: ...
    async def forget_distinction(self, *, first_id: object, second_id: object) -> UUID | None: ...
    async def unlink_superseded(
        self, *, memory_type: object, older_id: object, newer_id: object
    ) -> UUID | None: ...
    async def insert_rules(
        self,
        *,
        id: object,
        content: object,
        search_text: object,
        embedding: object,
        scope: object,
        source_butler: object,
        source_episode_id: object,
        tags: object,
        metadata: object,
        source: object,
        flags: object,
        last_confirmed_at: object,
        decay_rate: object,
        model: object,
        version: object,
        now: object,
    ) -> list[_InsertRulesRow]: ...
    async def repeated_rules(
        self,
        *,
        content: object,
        scope: object,
        tags: object,
        metadata: object,
        source_butler: object,
        source_episode_id: object,
    ) -> list[_RepeatedRulesRow]: ...
    async def near_rules(self, *, ids: object, limit: object) -> list[_NearRulesRow]: ...
    async def list_opposed(self, *, limit: object) -> list[_ListOpposedRow]: ...
    async def opposed_among(self, *, ids: object) -> list[_OpposedAmongRow]: ...
    async def lock_rule(self, *, id: object) -> Row | None: ...
    async def record_application(
        self, *, rule_id: object, outcome: object, reason: object, context: object, now: object
    ) -> object: ...
    async def mark_rule(
        self,
        *,
        id: object,
        maturity: object,
        effectiveness: object,
        applied: object,
        successes: object,
        harms: object,
        helpful: object,
        confirmed_at: object,
        metadata: object,
        now: object,
    ) -> Row | None: ...
    async def invert_rule(
        self,
        *,
        id: object,
        content: object,
        search_text: object,
        embedding: object,
        model: object,
        version: object,
        metadata: object,
        now: object,
    ) -> Row | None: ...
    async def rules_to_invert(self) -> list[_RulesToInvertRow]: ...
    async def forget_rule(self, *, id: object) -> UUID | None: ...
    async def memories_to_move(
        self, *, source: object, sessions: object, ids: object
    ) -> list[_MemoriesToMoveRow]: ...
    async def rival_facts(self, *, ids: object, target: object) -> list[_RivalFactsRow]: ...
    async def supersede_rivals(self, *, stays: object, superseded: object, now: object) -> list[Row]: ...
    async def rescope_memories(
        self, *, source: object, target: object, episodes: object, facts: object, rules: object
    ) -> list[_RescopeMemoriesRow]: ...
    async def scope_move(self, *, event_id: object) -> _ScopeMoveRow | None: ...
    async def standing_scope_moves(
        self, *, source: object, target: object
    ) -> list[_StandingScopeMovesRow]: ...
    async def movable_back(
        self, *, facts: object, source: object, target: object
    ) -> list[_MovableBackRow]: ...
    async def restore_rivals(self, *, stays: object, superseded: object) -> list[_RestoreRivalsRow]: ...
    async def tune_search(self) -> _TuneSearchRow: ...
    async def set_search_context(self, *, tenant_id: object, actor: object, source: object) -> Row: ...
    async def bump_references(
        self, *, fact_ids: object, rule_ids: object, now: object
    ) -> list[_BumpReferencesRow]: ...
    async def facts_until(
        self, *, ids: object, now: object, trusts: object, with_flagged: object
    ) -> list[_FactsUntilRow]: ...
    async def memory_stats(self, *, scope: object, now: object) -> Row: ...
    async def learned_by_day(self, *, since: object) -> list[_LearnedByDayRow]: ...
    async def subject_entities(self, *, keys: object) -> list[_SubjectEntitiesRow]: ...
    async def names_alike(self, *, names: object) -> list[_NamesAlikeRow]: ...
    async def unlinked_keys(self, *, subjects: object) -> list[_UnlinkedKeysRow]: ...
    async def link_facts(
        self, *, scopes: object, subjects: object, predicates: object, entity_ids: object
    ) -> list[Row]: ...
    async def by_trust(
        self, *, id: object, entity_id: object, scope: object, predicate: object
    ) -> list[_ByTrustRow]: ...
    async def subject_candidates(self, *, limit: object) -> list[Row]: ...
    async def last_subject_decision(
        self, *, fact_id: object, entity_id: object
    ) -> _LastSubjectDecisionRow | None: ...
    async def keys_of_facts(self, *, ids: object) -> list[_KeysOfFactsRow]: ...
    async def unlink_facts(self, *, ids: object, entity_id: object) -> object: ...
    async def relations(
        self,
        *,
        entity_id: object,
        scopes: object,
        as_of: object,
        valid_at: object,
        now: object,
        limit: object,
    ) -> list[_RelationsRow]: ...
    async def successor_of_fact(self, *, id: object) -> UUID | None: ...
    async def superseded_by(self, *, memory_type: object, id: object) -> list[_SupersededByRow]: ...
    async def unconfirm_last_of_fact(self, *, id: object) -> UUID | None: ...
    async def unconfirm_last_of_rule(self, *, id: object) -> UUID | None: ...
    async def restore_inactive_fact(self, *, id: object) -> UUID | None: ...
    async def set_context(self, *, tenant_id: object, actor: object, source: object) -> Row: ...
    async def set_writing_context(self, *, tenant_id: object, actor: object, source: object) -> Row: ...
    async def serialise(self, *, keys: object) -> list[Row]: ...

class _LockRow(TypedDict):
    id: UUID
    lives: bool

class _ByTrustAndAgeRow(TypedDict):
    id: UUID

class _ReadRow(TypedDict):
    trust: str

class _BetweenRow(TypedDict):
    id: UUID
    content: str

class _WithoutPassagesRow(TypedDict):
    id: UUID
    heading: str
    content: str

class _LockUnchangedRow(TypedDict):
    id: UUID

class _SweepRow(TypedDict):
    read: int
    last_id: UUID | None
    gone: int
    fading: int
    recovered: int

class KindStatements(Statements):
    async def confirm(self, *, id: object, now: object) -> UUID | None: ...
    async def tag(self, *, id: object, tag: object, tagged: object) -> UUID | None: ...
    async def unconfirm(
        self, *, id: object, confirmed_before: object, confirmed_at: object
    ) -> UUID | None: ...
    async def lock(self, *, ids: object) -> list[_LockRow]: ...
    async def by_trust_and_age(self, *, ids: object) -> list[_ByTrustAndAgeRow]: ...
    async def is_outranked(self, *, id: object) -> bool | None: ...
    async def confirmed_at(self, *, id: object) -> datetime | None: ...
    async def unlink_opposed(self, *, newer_id: object, older_id: object) -> object: ...
    async def read(self, *, id: object) -> _ReadRow | None: ...
    async def count_use(self, *, id: object, now: object) -> Row | None: ...
    async def between(self, *, first: object, last: object, most: object) -> list[_BetweenRow]: ...
    async def insert_passages(
        self, *, memory_id: object, place: object, start_char: object, end_char: object, embedding: object
    ) -> object: ...
    async def without_passages(self, *, after: object, limit: object) -> list[_WithoutPassagesRow]: ...
    async def lock_unchanged(
        self, *, ids: object, fingerprint: object, version: object
    ) -> list[_LockUnchangedRow]: ...
    async def sweep(
        self, *, after_id: object, limit: object, now: object, gone: object, faint: object
    ) -> _SweepRow: ...

class _RowsToEmbedRow(TypedDict):
    id: UUID
    text: str
    fingerprint: str

class _RowsMissedRow(TypedDict):
    id: UUID
    text: str
    fingerprint: str

class _ClearNextVectorsRow(TypedDict):
    id: UUID

class MoveStatements(Statements):
    async def count_rows_to_embed(self, *, version: object) -> int: ...
    async def rows_to_embed(
        self, *, version: object, after: object, limit: object
    ) -> list[_RowsToEmbedRow]: ...
    async def count_missed(self) -> int: ...
    async def rows_missed(self, *, after: object, limit: object) -> list[_RowsMissedRow]: ...
    async def store_next_vectors(
        self, *, id: object, fingerprint: object, embedding: object, model: object, version: object
    ) -> int: ...
    async def clear_next_vectors(
        self, *, after: object, but_of: object, limit: object
    ) -> list[_ClearNextVectorsRow]: ...
    async def any_stray(self) -> bool: ...
    async def index_missed(self) -> object: ...
    async def index_next(self) -> object: ...
    async def drop_index_missed(self) -> object: ...
    async def drop_index_next(self) -> object: ...
    async def analyse(self) -> object: ...
    async def lift_policy(self) -> object: ...
    async def restore_policy(self) -> object: ...
    async def drop_index_in_use(self) -> object: ...
    async def drop_replaced_index(self) -> object: ...
    async def switch(self) -> object: ...
    async def rename_index_next(self) -> object: ...
    async def index_of_partitions(self) -> object: ...
    async def attach_index(self) -> object: ...

class _KnownWordsRow(TypedDict):
    word: str

class _ReadMemoriesRow(TypedDict):
    memory_type: str
    is_pinned: bool
    is_stale: bool
    start_char: int | None
    end_char: int | None

class _RelatedFactsRow(TypedDict):
    told_id: UUID
    similarity: float
    is_stale: bool

class _SemanticSearchRow(TypedDict):
    is_stale: bool

class _KeywordSearchRow(TypedDict):
    is_stale: bool

class _HybridSearchRow(TypedDict):
    is_stale: bool

class SearchStatements(Statements):
    async def known_words(self, **parameters: object) -> list[_KnownWordsRow]: ...
    async def literal_search(self, **parameters: object) -> list[Row]: ...
    async def literal_entities(self, **parameters: object) -> list[Row]: ...
    async def ranked_candidates(self, **parameters: object) -> list[Row]: ...
    async def read_memories(self, **parameters: object) -> list[_ReadMemoriesRow]: ...
    async def related_facts(self, **parameters: object) -> list[_RelatedFactsRow]: ...
    async def semantic_search(self, **parameters: object) -> list[_SemanticSearchRow]: ...
    async def keyword_search(self, **parameters: object) -> list[_KeywordSearchRow]: ...
    async def hybrid_search(self, **parameters: object) -> list[_HybridSearchRow]: ...

class _ListTenantsRow(TypedDict):
    tenant_id: str

class _LastTicksRow(TypedDict):
    task_name: str
    tick: int

class _BringForwardRow(TypedDict):
    id: int
    task_name: str

class _TakeBackJobsRow(TypedDict):
    id: int
    status: str
    task_name: str

class _CountJobsRow(TypedDict):
    status: str
    jobs: int

class _CountRunRow(TypedDict):
    status: str
    jobs: int

class QueueStatements(Statements):
    async def set_queue_path(self) -> Row | None: ...
    async def list_tenants(self) -> list[_ListTenantsRow]: ...
    async def last_ticks(self, *, until: object) -> list[_LastTicksRow]: ...
    async def note_outcome(self, *, job_id: object, result: object, error: object) -> object: ...
    async def due_in(self, *, wait_s: object) -> datetime: ...
    async def bring_forward(self, *, longest_s: object) -> list[_BringForwardRow]: ...
    async def take_back_jobs(
        self, *, worker_id: object, ended: object, silent_s: object, most_attempts: object, died: object
    ) -> list[_TakeBackJobsRow]: ...
    async def has_queue(self) -> bool: ...
    async def list_workers(self) -> list[Row]: ...
    async def count_jobs(self) -> list[_CountJobsRow]: ...
    async def oldest_waiting_at(self) -> datetime | None: ...
    async def count_run(self, *, task_name: object, tick: object) -> list[_CountRunRow]: ...
    async def run_began_at(self, *, task_name: object, tick: object) -> datetime | None: ...
    async def list_failures(self, *, limit: object) -> list[Row]: ...
