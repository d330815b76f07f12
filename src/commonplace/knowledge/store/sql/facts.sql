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

-- name: lock_active_facts(content, scope, subject, predicate, entity_id, source_episode_id, names_entity, target_id)
-- columns: place int, draft_words str, session_source str, episode_trust str | None, said_at datetime | None, role str | None, id UUID | None
-- Lock, in the order of their ids, the active facts that drafts may supersede: the fact of the key of a draft, the facts
-- without an entity about a subject that names the entity of its draft, and the target of a draft. Return for each draft,
-- by its place from 1, its words, its sources, when its episode happened, and its facts; one row without a fact if there
-- is none.
WITH input AS MATERIALIZED (
  SELECT * FROM unnest(
    CAST(:content AS text[]), CAST(:scope AS text[]), CAST(:subject AS text[]), CAST(:predicate AS text[]),
    CAST(:entity_id AS uuid[]), CAST(:source_episode_id AS uuid[]), CAST(:names_entity AS boolean[]),
    CAST(:target_id AS uuid[])
  ) WITH ORDINALITY AS draft (
    content, scope, subject, predicate, entity_id, source_episode_id, names_entity, target_id, place
  )
),
rivals AS MATERIALIZED (
  SELECT
    input.place, CASE WHEN input.entity_id IS NULL THEN 'active' ELSE 'unlinked' END AS role,
    facts.id, facts.scope, facts.predicate, facts.entity_id
  FROM input JOIN facts
    ON facts.tenant_id = current_setting('commonplace.tenant_id') AND facts.scope = input.scope
    AND facts.subject = input.subject AND facts.predicate = input.predicate
  WHERE (input.entity_id IS NULL OR input.names_entity) AND facts.entity_id IS NULL AND facts.validity = 'active'
  UNION ALL
  SELECT input.place, 'active', facts.id, facts.scope, facts.predicate, facts.entity_id
  FROM input JOIN facts
    ON facts.tenant_id = current_setting('commonplace.tenant_id') AND facts.entity_id = input.entity_id
    AND facts.scope = input.scope AND facts.predicate = input.predicate
  WHERE facts.entity_id IS NOT NULL AND facts.validity = 'active'
  UNION ALL
  SELECT input.place, 'target', facts.id, facts.scope, facts.predicate, facts.entity_id
  FROM input JOIN facts
    ON facts.tenant_id = current_setting('commonplace.tenant_id') AND facts.id = input.target_id
),
locked AS MATERIALIZED (
  SELECT
    id, scope, predicate, entity_id, content, commonplace_plain(content) AS words, trust, flags <> '[]' AS is_flagged,
    importance, permanence, decay_rate, tags, coalesce(valid_from, created_at) AS began_at, valid_to, reference_count,
    last_referenced_at, last_confirmed_at
  FROM facts
  WHERE tenant_id = current_setting('commonplace.tenant_id') AND id = ANY(ARRAY(SELECT id FROM rivals))
    AND validity = 'active'
  ORDER BY id
  FOR UPDATE
),
-- A fact that another transaction has given another key meanwhile is no rival.
known AS (
  SELECT rivals.place, rivals.role, locked.*
  FROM rivals JOIN locked USING (id, scope, predicate)
  WHERE locked.entity_id IS NOT DISTINCT FROM rivals.entity_id
)
SELECT
  input.place, commonplace_plain(input.content) AS draft_words, commonplace_source() AS session_source,
  origin.trust AS episode_trust, origin.created_at AS said_at, known.role, known.id, known.content, known.words, known.trust, known.is_flagged,
  known.importance, known.permanence, known.decay_rate, known.tags, known.began_at, known.valid_to,
  known.reference_count, known.last_referenced_at, known.last_confirmed_at
FROM input
LEFT JOIN known ON known.place = input.place
LEFT JOIN episodes AS origin
  ON origin.tenant_id = current_setting('commonplace.tenant_id') AND origin.id = input.source_episode_id
ORDER BY input.place, known.id;

-- name: insert_facts(id, subject, predicate, content, search_text, embedding, importance, decay_rate, permanence, source_butler, source_episode_id, entity_id, scope, tags, metadata, valid_from, valid_to, source, flags, trust, validity, created_as, supersedes_id, contradicts_id, reference_count, last_referenced_at, last_confirmed_at, ended_id, ended_by, ended_at, model, version, now)!
-- Supersede facts, and insert facts in their order, with links and events. A pair of an ended fact and the fact that
-- supersedes it may consist of new facts; such a fact is inserted as it ends. The transaction has locked the others.
WITH input AS MATERIALIZED (
  SELECT * FROM unnest(
    CAST(:id AS uuid[]), CAST(:subject AS text[]), CAST(:predicate AS text[]), CAST(:content AS text[]),
    CAST(:search_text AS text[]), CAST(:embedding AS vector[]), CAST(:importance AS float8[]),
    CAST(:decay_rate AS float8[]), CAST(:permanence AS text[]), CAST(:source_butler AS text[]),
    CAST(:source_episode_id AS uuid[]), CAST(:entity_id AS uuid[]), CAST(:scope AS text[]),
    CAST(:tags AS text[]), CAST(:metadata AS text[]), CAST(:valid_from AS timestamptz[]),
    CAST(:valid_to AS timestamptz[]), CAST(:source AS text[]), CAST(:flags AS text[]), CAST(:trust AS text[]),
    CAST(:validity AS text[]), CAST(:created_as AS text[]), CAST(:supersedes_id AS uuid[]),
    CAST(:contradicts_id AS uuid[]), CAST(:reference_count AS integer[]), CAST(:last_referenced_at AS timestamptz[]),
    CAST(:last_confirmed_at AS timestamptz[])
  ) WITH ORDINALITY AS fact (
    id, subject, predicate, content, search_text, embedding, importance, decay_rate, permanence, source_butler,
    source_episode_id, entity_id, scope, tags, metadata, valid_from, valid_to, source, flags, trust, validity,
    created_as, supersedes_id, contradicts_id, reference_count, last_referenced_at, last_confirmed_at, place
  )
),
ended AS MATERIALIZED (
  SELECT * FROM unnest(CAST(:ended_id AS uuid[]), CAST(:ended_by AS uuid[]), CAST(:ended_at AS timestamptz[]))
    AS pair (id, by_id, valid_to)
),
superseded AS (
  UPDATE facts SET validity = 'superseded', valid_to = ended.valid_to FROM ended
  WHERE facts.tenant_id = current_setting('commonplace.tenant_id') AND facts.id = ended.id
  RETURNING facts.id
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
    current_setting('commonplace.tenant_id'), id, subject, predicate, content, commonplace_search_vector(search_text),
    embedding, :model, :version, importance, decay_rate, permanence, source_butler, source_episode_id, entity_id, scope,
    CAST(tags AS jsonb), CAST(metadata AS jsonb), validity, supersedes_id, valid_from, valid_to, reference_count,
    last_referenced_at, :now, last_confirmed_at, source, trust, CAST(flags AS jsonb)
  -- The count lets the old facts give up their keys first.
  FROM input, (SELECT count(*) FROM superseded) AS freed
  ORDER BY place
  RETURNING
    id, entity_id, scope, permanence, importance, confidence, validity, supersedes_id, source_episode_id, valid_from,
    valid_to, source, trust, flags
),
links AS (
  INSERT INTO memory_links (tenant_id, source_type, source_id, target_type, target_id, relation, created_at)
  SELECT current_setting('commonplace.tenant_id'), 'fact', by_id, 'fact', id, 'supersedes', :now FROM ended
  UNION ALL
  SELECT current_setting('commonplace.tenant_id'), 'fact', id, 'fact', contradicts_id, 'contradicts', :now
  FROM input WHERE contradicts_id IS NOT NULL
)
INSERT INTO memory_events (tenant_id, event_type, payload)
SELECT
  current_setting('commonplace.tenant_id'), 'fact_created',
  jsonb_build_object(
    'memory_type', 'fact', 'memory_id', id, 'before', NULL,
    'after', to_jsonb(stored) - 'id' || jsonb_build_object('validity', input.created_as)
  )
FROM stored JOIN input USING (id)
UNION ALL
SELECT
  current_setting('commonplace.tenant_id'), 'fact_superseded',
  jsonb_build_object(
    'memory_type', 'fact', 'memory_id', id, 'superseded_by', by_id,
    'before', jsonb_build_object('validity', 'active'), 'after', jsonb_build_object('validity', 'superseded')
  )
FROM ended;

-- name: near_facts(scope, subject, predicate, entity_id, subject_text, key_text, embedding, version, limit)
-- columns: id UUID, is_spelling bool, has_own_key bool, ends bool
-- The active facts of a scope about the subject or the entity of a new fact: those whose key is another spelling of its
-- key first, the latest first, then those whose meaning is nearest. Of the facts with the rarest word of the key that a
-- fact has, of those with the rarest word of a known subject, and of those about the entity, 1,000 each are looked at.
WITH subject AS MATERIALIZED (
  SELECT tsvector_to_array(commonplace_search_vector(:subject_text)) AS words
),
counted AS MATERIALIZED (
  SELECT
    given.word, given.word = ANY (subject.words) AS is_of_subject,
    (
      SELECT count(*) FROM (
        SELECT FROM fact_words AS w
        WHERE w.tenant_id = current_setting('commonplace.tenant_id') AND w.word = given.word AND w.scope = :scope
        LIMIT 1000
      ) AS capped
    ) AS facts
  FROM subject, unnest(tsvector_to_array(commonplace_search_vector(:key_text))) AS given (word)
),
rarest AS MATERIALIZED (
  (SELECT word FROM counted WHERE facts > 0 ORDER BY facts, word LIMIT 1)
  UNION
  (
    SELECT word FROM counted
    WHERE is_of_subject AND NOT EXISTS (SELECT FROM counted WHERE is_of_subject AND facts = 0)
    ORDER BY facts, word
    LIMIT 1
  )
),
candidates AS MATERIALIZED (
  SELECT found.id FROM rarest, LATERAL (
    SELECT w.memory_id AS id FROM fact_words AS w
    WHERE w.tenant_id = current_setting('commonplace.tenant_id') AND w.word = rarest.word AND w.scope = :scope
    LIMIT 1000
  ) AS found
  UNION
  (
    SELECT id FROM facts
    WHERE tenant_id = current_setting('commonplace.tenant_id') AND entity_id = CAST(:entity_id AS uuid)
      AND scope = :scope AND validity = 'active'
    LIMIT 1000
  )
),
about AS MATERIALIZED (
  SELECT
    near.id, subject, predicate, content, tags, created_at, valid_to IS NOT NULL AS ends,
    ${predicate_key} = ${asked_predicate_key} AS is_spelling,
    predicate = :predicate AND (subject = :subject OR entity_id = CAST(:entity_id AS uuid)) IS TRUE AS has_own_key,
    CASE WHEN embedding_version = :version THEN embedding <=> CAST(:embedding AS vector) END AS distance
  FROM candidates, LATERAL (
    SELECT
      id, entity_id, subject, predicate, content, tags, validity, valid_to, created_at, embedding, embedding_version
    FROM facts
    WHERE tenant_id = current_setting('commonplace.tenant_id') AND id = candidates.id
    -- Without this fence, the planner may read all active facts of a tenant whose size it does not know.
    OFFSET 0
  ) AS near
  WHERE validity = 'active'
    AND coalesce(near.entity_id = CAST(:entity_id AS uuid), ${subject_key} = ${asked_subject_key})
)
SELECT id, subject, predicate, content, tags, is_spelling, has_own_key, ends
FROM about
ORDER BY is_spelling DESC, CASE WHEN is_spelling THEN created_at END DESC, distance, id
LIMIT :limit;

-- name: rivals_of_held_fact(id)
-- columns: id UUID
-- The active fact of the key of a held fact, and the active facts that the held fact contradicts by a link.
SELECT rival.id
FROM facts AS held JOIN facts AS rival ON rival.tenant_id = held.tenant_id AND rival.validity = 'active'
WHERE held.tenant_id = current_setting('commonplace.tenant_id') AND held.id = :id
  AND rival.scope = held.scope AND rival.predicate = held.predicate
  AND rival.entity_id IS NOT DISTINCT FROM held.entity_id
  AND (held.entity_id IS NOT NULL OR rival.subject = held.subject)
UNION
SELECT rival.id
FROM memory_links AS link JOIN facts AS rival
  ON rival.tenant_id = link.tenant_id AND rival.id = link.target_id AND rival.validity = 'active'
WHERE link.tenant_id = current_setting('commonplace.tenant_id') AND link.source_type = 'fact' AND link.source_id = :id
  AND link.target_type = 'fact' AND link.relation = 'contradicts'
ORDER BY id;

-- name: accept_fact(id, now)$
-- returns: UUID | None
-- Make a held fact active in the name of a person, and write the event. Return the id of a fact that was held.
WITH known AS (
  SELECT id, trust, last_confirmed_at FROM facts WHERE id = :id AND validity = 'held' FOR UPDATE
),
changed AS (
  UPDATE facts SET
    validity = 'active', trust = 'person', last_confirmed_at = :now,
    metadata = metadata - CAST(ARRAY['waits', 'orphaned'] AS text[]) || CASE
      WHEN metadata ? 'orphaned' THEN CAST('{"accepted": true}' AS jsonb) ELSE '{}'
    END
  FROM known
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

-- name: queue_reviews(run_id, old_ids, new_ids, reasons, now)
-- columns: id int, old_id UUID, new_id UUID
-- Queue pairs of a superseded fact and its successor for a person, unless a person decided about the same texts before.
-- Return the queued reviews.
INSERT INTO fact_reviews (tenant_id, run_id, old_id, new_id, pair, predicate, reason, created_at)
SELECT
  new.tenant_id, CAST(:run_id AS uuid), old.id, new.id, texts.pair, new.predicate, replaced.reason, :now
FROM unnest(CAST(:old_ids AS uuid[]), CAST(:new_ids AS uuid[]), CAST(:reasons AS text[])) WITH ORDINALITY
  AS replaced (old_id, new_id, reason, place)
JOIN facts AS old ON old.tenant_id = current_setting('commonplace.tenant_id') AND old.id = replaced.old_id
JOIN facts AS new ON new.tenant_id = old.tenant_id AND new.id = replaced.new_id,
LATERAL (
  SELECT commonplace_fact_pair(new.subject, new.predicate, old.content, new.content) AS pair
) AS texts
WHERE NOT EXISTS (
  SELECT FROM fact_reviews AS earlier
  WHERE earlier.tenant_id = new.tenant_id AND earlier.decision IS NOT NULL AND earlier.pair = texts.pair
)
ORDER BY replaced.place
ON CONFLICT DO NOTHING
RETURNING id, old_id, new_id;
