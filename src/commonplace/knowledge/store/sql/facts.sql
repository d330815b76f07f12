-- Order of locks in every statement: keys by their numbers, then entities by id, then facts by id.

-- name: serialise_fact_keys(keys)
-- Let transactions that store facts of the same key run one after the other. All keys share 1,024 locks, because a
-- server has room for a few thousand locks. The ascending order prevents deadlocks.
SELECT pg_advisory_xact_lock(hashtext('commonplace facts'), stripe)
FROM (
  SELECT DISTINCT
    CAST(hashtextextended(current_setting('commonplace.tenant_id') || key, 0) & 1023 AS integer) AS stripe
  FROM unnest(CAST(:keys AS text[])) AS key
  ORDER BY stripe
) AS ordered;

-- name: lock_entities(ids)
-- columns: id UUID, merged_into str | None
-- Lock entities against merges and deletion until the transaction ends, and return the entities that exist.
SELECT id, metadata ->> 'merged_into' AS merged_into FROM entities
WHERE id = ANY(CAST(:ids AS uuid[]))
ORDER BY id
FOR KEY SHARE;

-- name: insert_facts(id, subject, predicate, content, search_text, embedding, importance, decay_rate, permanence, source_butler, source_episode_id, entity_id, scope, tags, metadata, valid_from, valid_to, source, flags, model, version, default_importance, default_permanence, now)
-- columns: id UUID, supersedes_id UUID | None, contradicts_id UUID | None, flags list[str]
-- columns: superseded_text str | None, superseded_until datetime | None, current_id UUID | None
-- columns: current_text str | None
-- Insert facts in their order. Each fact supersedes the active fact of its key, in the table or earlier in the input,
-- with links and events, and ends it where the new fact begins. A fact with the words of the fact before it inherits
-- that fact's references, beginning and trust, its importance, permanence and tags where it has the defaults, and, if
-- that fact is more trusted, its permanence and its end in any case: words that are repeated cannot end a trusted fact.
-- A fact that is less trusted than the active fact of its key, or that has flags where that fact has none, is held with
-- a link to it, unless it has the same words. A fact with other words whose period ended before the active fact of its
-- key ends is history: it is stored as superseded, and the active fact does not change. A caller inserts such a fact
-- alone if others have its key. Return the ids of the new facts and of the facts that they supersede, contradict or
-- leave current, with texts, in the order of the input.
WITH input AS MATERIALIZED (
  SELECT * FROM unnest(
    CAST(:id AS uuid[]), CAST(:subject AS text[]), CAST(:predicate AS text[]), CAST(:content AS text[]),
    CAST(:search_text AS text[]), CAST(:embedding AS vector[]), CAST(:importance AS float8[]),
    CAST(:decay_rate AS float8[]), CAST(:permanence AS text[]), CAST(:source_butler AS text[]),
    CAST(:source_episode_id AS uuid[]), CAST(:entity_id AS uuid[]), CAST(:scope AS text[]),
    CAST(:tags AS text[]), CAST(:metadata AS text[]), CAST(:valid_from AS timestamptz[]),
    CAST(:valid_to AS timestamptz[]), CAST(:source AS text[]), CAST(:flags AS text[])
  ) WITH ORDINALITY AS given (
    id, subject, predicate, content, search_text, embedding, importance, decay_rate, permanence, source_butler,
    source_episode_id, entity_id, scope, tags, metadata, valid_from, valid_to, source, flags, place
  )
),
known AS MATERIALIZED (
  SELECT
    input.id AS by_id, facts.id, facts.trust, facts.flags, facts.content, facts.valid_to,
    commonplace_plain(facts.content) AS words
  FROM input JOIN facts
    ON facts.tenant_id = current_setting('commonplace.tenant_id') AND facts.scope = input.scope
    AND facts.subject = input.subject AND facts.predicate = input.predicate
  WHERE input.entity_id IS NULL AND facts.entity_id IS NULL AND facts.validity = 'active'
  UNION ALL
  SELECT
    input.id, facts.id, facts.trust, facts.flags, facts.content, facts.valid_to, commonplace_plain(facts.content)
  FROM input JOIN facts
    ON facts.tenant_id = current_setting('commonplace.tenant_id') AND facts.entity_id = input.entity_id
    AND facts.scope = input.scope AND facts.predicate = input.predicate
  WHERE facts.entity_id IS NOT NULL AND facts.validity = 'active'
),
rated AS MATERIALIZED (
  SELECT
    input.id, known.id AS known_id, known.trust AS known_trust, told.source,
    past.is_history,
    known.id IS NOT NULL AND known.words <> commonplace_plain(input.content) AND NOT past.is_history AND (
      commonplace_trust(known.trust) > commonplace_trust(told.source)
      OR input.flags <> '[]' AND known.flags = '[]' AND told.source <> 'person'
    ) AS held
  FROM input
  LEFT JOIN known ON known.by_id = input.id
  LEFT JOIN episodes AS origin
    ON origin.tenant_id = current_setting('commonplace.tenant_id') AND origin.id = input.source_episode_id,
  LATERAL (
    SELECT commonplace_weaker(commonplace_weaker(commonplace_source(), input.source), origin.trust) AS source
  ) AS told,
  LATERAL (
    SELECT coalesce(
      known.words <> commonplace_plain(input.content) AND input.valid_to <= :now
        AND input.valid_to < coalesce(known.valid_to, 'infinity'),
      false
    ) AS is_history
  ) AS past
),
chained AS (
  SELECT
    id, subject, predicate, scope, entity_id, place, coalesce(valid_from, :now) AS begins_at,
    lag(id) OVER key AS previous_id, lead(id) OVER key AS next_id, first_value(id) OVER key AS first_id,
    lead(coalesce(valid_from, :now)) OVER key AS next_begins_at
  FROM input JOIN rated USING (id)
  WHERE NOT rated.held AND NOT rated.is_history
  WINDOW key AS (
    PARTITION BY scope, predicate, entity_id, CASE WHEN entity_id IS NULL THEN subject END ORDER BY place
  )
),
standing AS (
  SELECT known.id, chained.id AS by_id, chained.begins_at
  FROM chained JOIN known ON known.by_id = chained.id
  WHERE chained.previous_id IS NULL
),
locked AS (
  SELECT facts.id, standing.by_id, standing.begins_at, facts.valid_to AS ends_at FROM facts JOIN standing ON facts.id = standing.id
  ORDER BY facts.id
  FOR UPDATE OF facts
),
superseded AS (
  UPDATE facts SET
    validity = 'superseded',
    valid_to = least(facts.valid_to, greatest(locked.begins_at, coalesce(facts.valid_from, facts.created_at)))
  FROM locked
  WHERE facts.id = locked.id AND facts.validity = 'active'
  RETURNING
    facts.id, locked.by_id, facts.tags @> '["pinned"]' AS pinned, commonplace_plain(facts.content) AS words,
    facts.reference_count, facts.last_referenced_at, facts.last_confirmed_at, facts.importance, facts.trust,
    facts.permanence, facts.decay_rate, facts.tags, locked.ends_at, facts.valid_to,
    coalesce(facts.valid_from, facts.created_at) AS valid_from
),
${known_model},
stored AS (
  INSERT INTO facts (
    tenant_id, id, subject, predicate, content, search_vector, embedding, embedding_model, embedding_version,
    importance, decay_rate, permanence, source_butler, source_episode_id, entity_id, scope, tags, metadata,
    validity, supersedes_id, valid_from, valid_to, reference_count, last_referenced_at, created_at, last_confirmed_at,
    source, trust, flags
  )
  SELECT
    current_setting('commonplace.tenant_id'), input.id, input.subject, input.predicate, content,
    commonplace_search_vector(search_text), embedding, :model, :version,
    CASE WHEN repeats.trusted OR input.importance = :default_importance THEN coalesce(same.importance, input.importance)
      ELSE input.importance END,
    CASE WHEN repeats.trusted OR input.permanence = :default_permanence THEN coalesce(same.decay_rate, input.decay_rate)
      ELSE input.decay_rate END,
    CASE WHEN repeats.trusted OR input.permanence = :default_permanence THEN coalesce(same.permanence, input.permanence)
      ELSE input.permanence END, source_butler, source_episode_id, input.entity_id, input.scope,
    -- The new value of a pinned fact is as important as the old one.
    told.tags || CASE
      WHEN superseded.pinned AND NOT told.tags @> '["pinned"]' THEN CAST('["pinned"]' AS jsonb) ELSE '[]'
    END,
    CAST(metadata AS jsonb),
    CASE WHEN rated.held THEN 'held' WHEN rated.is_history OR chained.next_id IS NOT NULL THEN 'superseded'
      ELSE 'active' END,
    coalesce(chained.previous_id, superseded.id), CASE WHEN repeats.trusted THEN same.valid_from WHEN input.valid_to <= same.valid_from THEN input.valid_from
      ELSE coalesce(input.valid_from, same.valid_from) END,
    CASE WHEN repeats.trusted THEN same.ends_at WHEN chained.next_id IS NULL THEN input.valid_to
      ELSE least(input.valid_to, greatest(chained.next_begins_at, input.valid_from)) END,
    coalesce(same.reference_count, 0), same.last_referenced_at, :now, greatest(same.last_confirmed_at, :now),
    rated.source,
    CASE WHEN repeats.trusted THEN same.trust ELSE rated.source END,
    CAST(input.flags AS jsonb)
  FROM input
  JOIN rated USING (id)
  LEFT JOIN chained USING (id)
  LEFT JOIN superseded ON superseded.by_id = input.id
  LEFT JOIN superseded AS same
    ON same.by_id = chained.first_id AND same.words = commonplace_plain(input.content),
  LATERAL (SELECT commonplace_trust(same.trust) > commonplace_trust(rated.source) AS trusted) AS repeats,
  LATERAL (
    SELECT CASE WHEN input.tags = '[]' THEN coalesce(same.tags, '[]') ELSE CAST(input.tags AS jsonb) END AS tags
  ) AS told
  ORDER BY input.place
  RETURNING
    id, entity_id, scope, permanence, importance, confidence, validity, supersedes_id, source_episode_id, valid_from,
    valid_to, source, trust, flags
),
links AS (
  INSERT INTO memory_links (tenant_id, source_type, source_id, target_type, target_id, relation, created_at)
  SELECT current_setting('commonplace.tenant_id'), 'fact', id, 'fact', supersedes_id, 'supersedes', :now
  FROM stored WHERE supersedes_id IS NOT NULL
  UNION ALL
  SELECT current_setting('commonplace.tenant_id'), 'fact', id, 'fact', known_id, 'contradicts', :now
  FROM rated WHERE held
),
creations AS (
  INSERT INTO memory_events (tenant_id, event_type, payload)
  SELECT
    current_setting('commonplace.tenant_id'), 'fact_created',
    jsonb_build_object(
      'memory_type', 'fact', 'memory_id', id, 'before', NULL,
      'after', to_jsonb(stored) - 'id' || jsonb_build_object(
        'validity', CASE WHEN validity = 'held' OR rated.is_history THEN validity ELSE 'active' END
      )
    )
  FROM stored JOIN rated USING (id)
),
supersessions AS (
  INSERT INTO memory_events (tenant_id, event_type, payload)
  SELECT
    current_setting('commonplace.tenant_id'), 'fact_superseded',
    jsonb_build_object(
      'memory_type', 'fact', 'memory_id', supersedes_id, 'superseded_by', id,
      'before', jsonb_build_object('validity', 'active'), 'after', jsonb_build_object('validity', 'superseded')
    )
  FROM stored WHERE supersedes_id IS NOT NULL
)
SELECT
  stored.id, stored.supersedes_id, CASE WHEN rated.held THEN rated.known_id END AS contradicts_id, stored.flags,
  CASE WHEN rated.is_history THEN rated.known_id END AS current_id,
  CASE WHEN stored.supersedes_id IS NOT NULL THEN coalesce(previous.content, known.content) END AS superseded_text,
  CASE WHEN superseded.valid_from <= :now AND superseded.valid_to > :now THEN superseded.valid_to END AS superseded_until,
  CASE WHEN rated.is_history THEN known.content END AS current_text
FROM stored
JOIN rated USING (id)
JOIN input USING (id)
LEFT JOIN known ON known.by_id = stored.id
LEFT JOIN superseded ON superseded.by_id = stored.id
LEFT JOIN input AS previous ON previous.id = stored.supersedes_id
ORDER BY input.place;

-- name: near_fact(id, search_text)^
-- The latest active fact of a scope whose key is another spelling of the key of an active fact that was just stored. Of
-- the facts with the rarest word of the key that another fact has, and of those about the entity, 1,000 each are compared.
WITH new AS MATERIALIZED (
  SELECT id, scope, entity_id, ${subject_key} AS about, ${predicate_key} AS said, validity FROM facts
  WHERE tenant_id = current_setting('commonplace.tenant_id') AND id = :id
),
rarest AS MATERIALIZED (
  SELECT given.word
  FROM new, unnest(tsvector_to_array(commonplace_search_vector(:search_text))) AS given (word),
  LATERAL (
    SELECT count(*) AS facts FROM (
      SELECT FROM fact_words AS w
      WHERE w.tenant_id = current_setting('commonplace.tenant_id') AND w.word = given.word AND w.scope = new.scope
      LIMIT 1000
    ) AS capped
  ) AS counted
  WHERE counted.facts > 1
  ORDER BY counted.facts, given.word
  LIMIT 1
),
candidates AS MATERIALIZED (
  (
    SELECT w.memory_id AS id FROM new, rarest, fact_words AS w
    WHERE w.tenant_id = current_setting('commonplace.tenant_id') AND w.word = rarest.word AND w.scope = new.scope
    LIMIT 1000
  )
  UNION
  (
    SELECT known.id FROM new JOIN facts AS known
      ON known.tenant_id = current_setting('commonplace.tenant_id') AND known.entity_id = new.entity_id
      AND known.scope = new.scope AND known.validity = 'active'
    LIMIT 1000
  )
)
SELECT near.id, near.subject, near.predicate
FROM new, candidates, LATERAL (
  SELECT id, entity_id, subject, predicate, validity, created_at FROM facts
  WHERE tenant_id = current_setting('commonplace.tenant_id') AND id = candidates.id
  -- Without this fence, the planner may read all active facts of a tenant whose size it does not know.
  OFFSET 0
) AS near
WHERE new.validity = 'active' AND near.validity = 'active' AND near.id <> new.id
  AND ${predicate_key} = new.said AND coalesce(near.entity_id = new.entity_id, ${subject_key} = new.about)
ORDER BY near.created_at DESC, near.id
LIMIT 1;

-- name: later_fact(scope, subject, predicate, entity_id, content, ended_at)$
-- returns: UUID | None
-- The active fact of a key, by entity or by subject without an entity, if it has other words than a text and began at a
-- moment or later.
SELECT id FROM facts
WHERE tenant_id = current_setting('commonplace.tenant_id') AND scope = :scope AND predicate = :predicate
  AND validity = 'active' AND (entity_id = CAST(:entity_id AS uuid) OR entity_id IS NULL AND subject = :subject)
  AND commonplace_plain(content) <> commonplace_plain(:content)
  AND coalesce(valid_from, created_at) >= CAST(:ended_at AS timestamptz)
LIMIT 1;

-- name: rival_of_held_fact(id)$
-- returns: UUID | None
-- The active fact of the key of a held fact.
SELECT facts.id
FROM facts JOIN facts AS held ON held.tenant_id = facts.tenant_id AND held.id = :id
WHERE facts.tenant_id = current_setting('commonplace.tenant_id') AND facts.validity = 'active'
  AND facts.scope = held.scope AND facts.predicate = held.predicate
  AND facts.entity_id IS NOT DISTINCT FROM held.entity_id
  AND (held.entity_id IS NOT NULL OR facts.subject = held.subject);

-- name: accept_fact(id, now)$
-- returns: UUID | None
-- Make a held fact active in the name of a person, and write the event. Return the id of a fact that was held.
WITH known AS (
  SELECT id, trust, last_confirmed_at FROM facts WHERE id = :id AND validity = 'held' FOR UPDATE
),
changed AS (
  UPDATE facts SET validity = 'active', trust = 'person', last_confirmed_at = :now FROM known
  WHERE facts.id = known.id
  RETURNING facts.id, known.trust AS trust_before, known.last_confirmed_at AS confirmed_before
),
event AS (
  INSERT INTO memory_events (tenant_id, event_type, payload)
  SELECT
    current_setting('commonplace.tenant_id'), 'fact_confirmed',
    jsonb_build_object(
      'memory_type', 'fact', 'memory_id', id,
      'before', jsonb_build_object('validity', 'held', 'trust', trust_before, 'last_confirmed_at', confirmed_before),
      'after', jsonb_build_object('validity', 'active', 'trust', 'person', 'last_confirmed_at', CAST(:now AS timestamptz))
    )
  FROM changed
)
SELECT id FROM changed;

-- name: retract_fact(id)$
-- returns: UUID | None
-- Retract a fact and write the event, unless it is retracted. Return the id of a fact that exists.
WITH known AS (
  SELECT id, validity FROM facts WHERE id = :id FOR UPDATE
),
changed AS (
  UPDATE facts SET validity = 'retracted' FROM known
  WHERE facts.id = known.id AND known.validity <> 'retracted'
  RETURNING facts.id, known.validity AS validity_before
),
event AS (
  INSERT INTO memory_events (tenant_id, event_type, payload)
  SELECT
    current_setting('commonplace.tenant_id'), 'fact_retracted',
    jsonb_build_object(
      'memory_type', 'fact', 'memory_id', id, 'before', jsonb_build_object('validity', validity_before),
      'after', jsonb_build_object('validity', 'retracted')
    )
  FROM changed
)
SELECT id FROM known;

-- name: queue_review(run_id, old_id, new_id, least_importance, now)$
-- returns: int | None
-- Queues a pair if the old fact is permanent, important or pinned and has other words, unless a person decided about the
-- same texts before. Returns the id of the review, or nothing.
INSERT INTO fact_reviews (tenant_id, run_id, old_id, new_id, pair, predicate, reason, created_at)
SELECT
  old.tenant_id, CAST(:run_id AS uuid), old.id, new.id,
  commonplace_fact_pair(new.subject, new.predicate, old.content, new.content), new.predicate,
  CASE
    WHEN old.permanence = 'permanent' THEN 'the old fact is permanent'
    WHEN old.importance >= :least_importance THEN 'the old fact is important'
    ELSE 'the old fact is pinned'
  END,
  :now
FROM facts AS old JOIN facts AS new ON new.tenant_id = old.tenant_id AND new.id = :new_id
WHERE old.tenant_id = current_setting('commonplace.tenant_id') AND old.id = :old_id
  AND (old.permanence = 'permanent' OR old.importance >= :least_importance OR old.tags @> '["pinned"]')
  AND commonplace_plain(old.content) <> commonplace_plain(new.content)
  AND NOT EXISTS (
    SELECT FROM fact_reviews AS earlier
    WHERE earlier.tenant_id = old.tenant_id AND earlier.decision IS NOT NULL
      AND earlier.pair = commonplace_fact_pair(new.subject, new.predicate, old.content, new.content)
  )
ON CONFLICT DO NOTHING
RETURNING id;
