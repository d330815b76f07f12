-- Rows that travel between databases of one owner, each with the same id everywhere. Lock order as for stores.

-- name: some_exchanged_names(ids)
-- columns: kind str, id UUID
-- The kind and the id of those of facts and rules that are here, whatever their state.
SELECT 'fact' AS kind, id FROM facts
WHERE tenant_id = current_setting('commonplace.tenant_id') AND id = ANY(CAST(:ids AS uuid[]))
UNION ALL
SELECT 'rule', id FROM rules
WHERE tenant_id = current_setting('commonplace.tenant_id') AND id = ANY(CAST(:ids AS uuid[]));

-- name: exchanged_names()
-- columns: kind str, id UUID
-- The kind and the id of every row that travels or did, whatever its state.
SELECT 'fact' AS kind, id FROM facts WHERE tenant_id = current_setting('commonplace.tenant_id')
UNION ALL SELECT 'rule', id FROM rules WHERE tenant_id = current_setting('commonplace.tenant_id')
UNION ALL SELECT 'episode', id FROM episodes WHERE tenant_id = current_setting('commonplace.tenant_id')
UNION ALL SELECT 'entity', id FROM entities WHERE tenant_id = current_setting('commonplace.tenant_id');

-- name: exchanged_fingerprint(now)$
-- returns: str
-- A digest of all that the statements below read of every row that travels, and of the time of the latest event.
SELECT md5(concat_ws(
  ' ',
  (SELECT max(created_at) FROM memory_events WHERE tenant_id = current_setting('commonplace.tenant_id')),
  (
    SELECT md5(string_agg(md5(CAST(row AS text)), '' ORDER BY row.id)) FROM (
      SELECT ${exchanged_fact} FROM facts
      WHERE tenant_id = current_setting('commonplace.tenant_id') AND validity <> 'retracted'
    ) AS row
  ),
  (
    SELECT md5(string_agg(md5(CAST(row AS text)), '' ORDER BY row.id)) FROM (
      SELECT ${exchanged_rule} FROM rules WHERE tenant_id = current_setting('commonplace.tenant_id')
    ) AS row
  ),
  (
    SELECT md5(string_agg(md5(CAST(row AS text)), '' ORDER BY row.id)) FROM (
      SELECT id, butler, expires_at, metadata, trust, flags FROM episodes
      WHERE tenant_id = current_setting('commonplace.tenant_id') AND (expires_at IS NULL OR expires_at > :now)
    ) AS row
  ),
  (
    SELECT md5(string_agg(md5(CAST(row AS text)), '' ORDER BY row.id)) FROM (
      SELECT id, canonical_name, entity_type, aliases, metadata, created_at FROM entities
      WHERE tenant_id = current_setting('commonplace.tenant_id')
    ) AS row
  ),
  (
    SELECT md5(string_agg(md5(CAST(row AS text)), '' ORDER BY row.source_id, row.target_id, row.source_type)) FROM (
      SELECT source_type, source_id, target_type, target_id, relation, created_at FROM memory_links
      WHERE tenant_id = current_setting('commonplace.tenant_id')
    ) AS row
  ),
  (
    SELECT md5(string_agg(md5(CAST(row AS text)), '' ORDER BY row.id)) FROM (
      SELECT id, outcome, reason FROM rule_applications WHERE tenant_id = current_setting('commonplace.tenant_id')
    ) AS row
  )
));

-- name: exchanged_vectors(ids)
-- The vectors of facts, rules and episodes that have one.
SELECT 'fact' AS kind, id, embedding, embedding_version AS version FROM facts
WHERE tenant_id = current_setting('commonplace.tenant_id') AND id = ANY(CAST(:ids AS uuid[])) AND embedding IS NOT NULL
UNION ALL
SELECT 'rule', id, embedding, embedding_version FROM rules
WHERE tenant_id = current_setting('commonplace.tenant_id') AND id = ANY(CAST(:ids AS uuid[])) AND embedding IS NOT NULL
UNION ALL
SELECT 'episode', id, embedding, embedding_version FROM episodes
WHERE tenant_id = current_setting('commonplace.tenant_id') AND id = ANY(CAST(:ids AS uuid[])) AND embedding IS NOT NULL;

-- name: exchanged_facts()
-- The facts that were not forgotten, as other databases may have them.
SELECT ${exchanged_fact} FROM facts
WHERE tenant_id = current_setting('commonplace.tenant_id') AND validity <> 'retracted'
ORDER BY id;

-- name: lock_exchanged_facts(ids)
-- Facts in any state, locked.
SELECT ${exchanged_fact} FROM facts
WHERE tenant_id = current_setting('commonplace.tenant_id') AND id = ANY(CAST(:ids AS uuid[]))
ORDER BY id
FOR UPDATE;

-- name: put_facts(rows, embedding, model, version)!
-- Insert or change facts, each with its place among the vectors, from 1. Without a vector or a
-- source, the vector or source that is there stays.
WITH input AS MATERIALIZED (
  SELECT fact.*, text.embedding
  FROM jsonb_to_recordset(CAST(:rows AS jsonb)) AS fact (
    place bigint, id uuid, subject text, predicate text, content text, search_text text, importance float8,
    confidence float8, decay_rate float8, permanence text, scope text, entity_id uuid, source_butler text,
    source_episode_id uuid, source text, trust text, flags jsonb, valid_from timestamptz, valid_to timestamptz, created_at timestamptz,
    last_confirmed_at timestamptz, tags jsonb, metadata jsonb, validity text
  )
  LEFT JOIN unnest(CAST(:embedding AS vector[])) WITH ORDINALITY AS text (embedding, place) USING (place)
),
${known_model}
INSERT INTO facts (
  tenant_id, id, subject, predicate, content, search_vector, embedding, embedding_model, embedding_version, importance,
  confidence, decay_rate, permanence, scope, entity_id, source_butler, source_episode_id, source, trust, flags,
  valid_from, valid_to, created_at, last_confirmed_at, tags, metadata, validity, supersedes_id
)
SELECT
  current_setting('commonplace.tenant_id'), id, subject, predicate, content, commonplace_search_vector(search_text),
  embedding, CASE WHEN embedding IS NOT NULL THEN CAST(:model AS text) END,
  CASE WHEN embedding IS NOT NULL THEN CAST(:version AS text) END, importance, confidence, decay_rate, permanence, scope,
  entity_id, source_butler, source_episode_id, source, trust, flags, valid_from, valid_to, created_at, last_confirmed_at,
  tags, metadata, validity,
  (
    SELECT older.id FROM memory_links AS link JOIN facts AS older
      ON older.tenant_id = link.tenant_id AND older.id = link.target_id
    WHERE link.tenant_id = current_setting('commonplace.tenant_id') AND link.source_type = 'fact'
      AND link.source_id = input.id AND link.target_type = 'fact' AND link.relation = 'supersedes'
    ORDER BY link.created_at, older.id LIMIT 1
  )
FROM input ORDER BY place
ON CONFLICT (tenant_id, id) DO UPDATE SET
  content = EXCLUDED.content, subject = EXCLUDED.subject, predicate = EXCLUDED.predicate,
  search_vector = EXCLUDED.search_vector,
  embedding = coalesce(EXCLUDED.embedding, facts.embedding),
  embedding_model = coalesce(EXCLUDED.embedding_model, facts.embedding_model),
  embedding_version = coalesce(EXCLUDED.embedding_version, facts.embedding_version),
  importance = EXCLUDED.importance, confidence = EXCLUDED.confidence, decay_rate = EXCLUDED.decay_rate,
  permanence = EXCLUDED.permanence, scope = EXCLUDED.scope, entity_id = EXCLUDED.entity_id,
  source_butler = EXCLUDED.source_butler,
  source_episode_id = coalesce(EXCLUDED.source_episode_id, facts.source_episode_id), source = EXCLUDED.source,
  trust = EXCLUDED.trust, flags = EXCLUDED.flags, valid_from = EXCLUDED.valid_from, valid_to = EXCLUDED.valid_to,
  created_at = EXCLUDED.created_at, last_confirmed_at = EXCLUDED.last_confirmed_at, tags = EXCLUDED.tags,
  metadata = EXCLUDED.metadata || jsonb_strip_nulls(jsonb_build_object(
    'status', facts.metadata -> 'status',
    'absent_source', CASE WHEN EXCLUDED.source_episode_id IS NULL THEN facts.metadata -> 'absent_source' END
  )),
  validity = EXCLUDED.validity;

-- name: point_successors(ids)!
-- Let the facts that replaced one of these, by a link, name it as the fact that they replaced, if they name none.
UPDATE facts SET supersedes_id = link.target_id
FROM memory_links AS link
WHERE link.tenant_id = current_setting('commonplace.tenant_id') AND link.target_type = 'fact'
  AND link.target_id = ANY(CAST(:ids AS uuid[])) AND link.source_type = 'fact' AND link.relation = 'supersedes'
  AND facts.tenant_id = link.tenant_id AND facts.id = link.source_id AND facts.supersedes_id IS NULL;

-- name: rivals_of_facts(ids)
-- columns: id UUID, validity str, trust str, began_at datetime, created_at datetime, scope str, predicate str, about str
-- Lock the facts of the keys of these facts, themselves included, that are active or wait for an active one.
WITH asked AS MATERIALIZED (
  SELECT DISTINCT scope, predicate, entity_id, CASE WHEN entity_id IS NULL THEN subject END AS subject FROM facts
  WHERE tenant_id = current_setting('commonplace.tenant_id') AND id = ANY(CAST(:ids AS uuid[]))
),
rivals AS MATERIALIZED (
  SELECT facts.id FROM asked JOIN facts
    ON facts.tenant_id = current_setting('commonplace.tenant_id') AND facts.subject = asked.subject
    AND facts.predicate = asked.predicate AND facts.scope = asked.scope
  WHERE asked.entity_id IS NULL AND facts.entity_id IS NULL
  UNION
  SELECT facts.id FROM asked JOIN facts
    ON facts.tenant_id = current_setting('commonplace.tenant_id') AND facts.entity_id = asked.entity_id
    AND facts.predicate = asked.predicate AND facts.scope = asked.scope
)
SELECT
  id, validity, trust, coalesce(valid_from, created_at) AS began_at, created_at, scope, predicate,
  coalesce(CAST(entity_id AS text), 'subject ' || subject) AS about
FROM facts
WHERE tenant_id = current_setting('commonplace.tenant_id') AND id IN (SELECT id FROM rivals)
  AND (validity = 'active' OR validity = 'held' AND metadata ? 'waits')
ORDER BY id
FOR UPDATE;

-- name: waiting_facts()
-- columns: id UUID
-- The facts that wait because another fact of their key is active, or was.
SELECT id FROM facts
WHERE tenant_id = current_setting('commonplace.tenant_id') AND validity = 'held' AND metadata ? 'waits'
ORDER BY id;

-- name: count_conflicts()$
-- returns: int
-- The facts that wait for a person because two devices changed them, or facts of one key.
SELECT count(*) FROM facts
WHERE tenant_id = current_setting('commonplace.tenant_id') AND validity = 'held'
  AND metadata ?| CAST(ARRAY['waits', 'orphaned'] AS text[]);

-- name: hold_rivals(ids)!
-- Let facts wait because another fact of their key is active.
UPDATE facts SET validity = 'held', metadata = metadata || '{"waits": true}'
WHERE tenant_id = current_setting('commonplace.tenant_id') AND id = ANY(CAST(:ids AS uuid[]));

-- name: hold_successors(ids)!
-- Let facts wait for a person, unless a person accepted them, because the fact that they replaced was forgotten.
UPDATE facts SET validity = 'held', metadata = metadata - 'waits' || '{"orphaned": true}'
WHERE tenant_id = current_setting('commonplace.tenant_id') AND id = ANY(CAST(:ids AS uuid[]))
  AND NOT metadata ? 'accepted';

-- name: activate_facts(ids)!
-- Make facts active that waited.
UPDATE facts SET validity = 'active', metadata = metadata - 'waits'
WHERE tenant_id = current_setting('commonplace.tenant_id') AND id = ANY(CAST(:ids AS uuid[]));

-- name: successors(memory_type, ids)
-- columns: id UUID
-- The facts or rules that replaced one of these and were not forgotten or replaced.
SELECT DISTINCT link.source_id AS id FROM memory_links AS link
WHERE link.tenant_id = current_setting('commonplace.tenant_id') AND link.relation = 'supersedes'
  AND link.target_id = ANY(CAST(:ids AS uuid[])) AND link.target_type = :memory_type AND link.source_type = :memory_type
  AND (
    EXISTS (
      SELECT FROM facts
      WHERE facts.tenant_id = link.tenant_id AND facts.id = link.source_id AND facts.validity IN ('active', 'held')
    )
    OR EXISTS (SELECT FROM rules WHERE rules.tenant_id = link.tenant_id AND rules.id = link.source_id AND ${rule_lives})
  )
ORDER BY link.source_id;

-- name: survivors(ids)
-- columns: id UUID, survivor_id UUID
-- The entities that exist, each with the last one of its chain of merges.
WITH RECURSIVE chain AS (
  SELECT id AS first, id, CAST(metadata ->> 'merged_into' AS uuid) AS next FROM entities
  WHERE tenant_id = current_setting('commonplace.tenant_id') AND id = ANY(CAST(:ids AS uuid[]))
  UNION
  SELECT chain.first, e.id, CAST(e.metadata ->> 'merged_into' AS uuid) FROM entities AS e
  JOIN chain ON e.id = chain.next AND e.tenant_id = current_setting('commonplace.tenant_id')
)
SELECT first AS id, id AS survivor_id FROM chain WHERE next IS NULL;

-- name: hold_sources(ids)
-- columns: id UUID
-- The episodes that are here, which cannot be deleted until the transaction ends.
SELECT id FROM episodes
WHERE tenant_id = current_setting('commonplace.tenant_id') AND id = ANY(CAST(:ids AS uuid[]))
ORDER BY id
FOR KEY SHARE;

-- name: has_arrived_sources()$
-- returns: bool
-- Whether the source of a fact or rule is here that was not when the fact or rule was written.
SELECT EXISTS (
  SELECT FROM (
    SELECT metadata ->> 'absent_source' AS source FROM facts
    WHERE tenant_id = current_setting('commonplace.tenant_id') AND metadata ? 'absent_source'
    UNION ALL
    SELECT metadata ->> 'absent_source' FROM rules
    WHERE tenant_id = current_setting('commonplace.tenant_id') AND metadata ? 'absent_source'
  ) AS absent
  JOIN episodes ON episodes.tenant_id = current_setting('commonplace.tenant_id')
    AND CAST(episodes.id AS text) = absent.source
);

-- name: attach_sources()!
-- Let facts and rules name their sources that have arrived.
WITH changed AS (
  UPDATE facts SET source_episode_id = episodes.id, metadata = facts.metadata - 'absent_source'
  FROM episodes
  WHERE facts.tenant_id = current_setting('commonplace.tenant_id') AND facts.metadata ? 'absent_source'
    AND episodes.tenant_id = facts.tenant_id AND CAST(episodes.id AS text) = facts.metadata ->> 'absent_source'
)
UPDATE rules SET source_episode_id = episodes.id, metadata = rules.metadata - 'absent_source'
FROM episodes
WHERE rules.tenant_id = current_setting('commonplace.tenant_id') AND rules.metadata ? 'absent_source'
  AND episodes.tenant_id = rules.tenant_id AND CAST(episodes.id AS text) = rules.metadata ->> 'absent_source';

-- name: exchanged_rules()
-- The rules that were not forgotten, as other databases may have them.
SELECT ${exchanged_rule} FROM rules
WHERE tenant_id = current_setting('commonplace.tenant_id')
ORDER BY id;

-- name: lock_exchanged_rules(ids)
-- Rules in any state, locked.
SELECT ${exchanged_rule} FROM rules
WHERE tenant_id = current_setting('commonplace.tenant_id') AND id = ANY(CAST(:ids AS uuid[]))
ORDER BY id
FOR UPDATE;

-- name: put_rules(rows, embedding, model, version)!
-- Insert or change rules, each with its place among the vectors, from 1. Without a vector or a
-- source, the vector or source that is there stays.
WITH input AS MATERIALIZED (
  SELECT rule.*, text.embedding
  FROM jsonb_to_recordset(CAST(:rows AS jsonb)) AS rule (
    place bigint, id uuid, content text, search_text text, scope text, maturity text, confidence float8,
    decay_rate float8, permanence text, source_butler text, source_episode_id uuid, source text, trust text,
    flags jsonb, created_at timestamptz, last_confirmed_at timestamptz, tags jsonb, metadata jsonb
  )
  LEFT JOIN unnest(CAST(:embedding AS vector[])) WITH ORDINALITY AS text (embedding, place) USING (place)
),
${known_model}
INSERT INTO rules (
  tenant_id, id, content, search_vector, embedding, embedding_model, embedding_version, scope, maturity, confidence,
  decay_rate, permanence, source_butler, source_episode_id, source, trust, flags, created_at, last_confirmed_at, tags,
  metadata
)
SELECT
  current_setting('commonplace.tenant_id'), id, content, commonplace_search_vector(search_text), embedding,
  CASE WHEN embedding IS NOT NULL THEN CAST(:model AS text) END,
  CASE WHEN embedding IS NOT NULL THEN CAST(:version AS text) END, scope, maturity, confidence, decay_rate, permanence,
  source_butler, source_episode_id, source, trust, flags, created_at, last_confirmed_at, tags, metadata
FROM input ORDER BY place
ON CONFLICT (tenant_id, id) DO UPDATE SET
  content = EXCLUDED.content, search_vector = EXCLUDED.search_vector,
  embedding = coalesce(EXCLUDED.embedding, rules.embedding),
  embedding_model = coalesce(EXCLUDED.embedding_model, rules.embedding_model),
  embedding_version = coalesce(EXCLUDED.embedding_version, rules.embedding_version),
  scope = EXCLUDED.scope, maturity = EXCLUDED.maturity, confidence = EXCLUDED.confidence,
  decay_rate = EXCLUDED.decay_rate, permanence = EXCLUDED.permanence, source_butler = EXCLUDED.source_butler,
  source_episode_id = coalesce(EXCLUDED.source_episode_id, rules.source_episode_id), source = EXCLUDED.source,
  trust = EXCLUDED.trust, flags = EXCLUDED.flags, created_at = EXCLUDED.created_at,
  last_confirmed_at = EXCLUDED.last_confirmed_at, tags = EXCLUDED.tags,
  metadata = EXCLUDED.metadata || jsonb_strip_nulls(jsonb_build_object(
    'status', rules.metadata -> 'status', 'needs_inversion', rules.metadata -> 'needs_inversion',
    'absent_source', CASE WHEN EXCLUDED.source_episode_id IS NULL THEN rules.metadata -> 'absent_source' END
  ));

-- name: exchanged_applications()
-- The applications of rules that were not forgotten.
SELECT id, rule_id, outcome, reason, actor, applied_at, context FROM rule_applications
WHERE tenant_id = current_setting('commonplace.tenant_id')
ORDER BY id;

-- name: some_exchanged_applications(ids)
-- Some applications of rules.
SELECT id, rule_id, outcome, reason, actor, applied_at, context FROM rule_applications
WHERE tenant_id = current_setting('commonplace.tenant_id') AND id = ANY(CAST(:ids AS uuid[]));

-- name: put_application(id, rule_id, outcome, reason, actor, applied_at, context)^
-- columns: maturity str, effectiveness float, applied int, successes int, harms int
-- Insert an application of a rule that exists, count it, and return the counts; nothing if there is no rule.
WITH added AS (
  INSERT INTO rule_applications (tenant_id, id, rule_id, outcome, reason, actor, applied_at, context)
  SELECT
    rules.tenant_id, CAST(:id AS uuid), rules.id, CAST(:outcome AS text), CAST(:reason AS text), CAST(:actor AS text),
    CAST(:applied_at AS timestamptz), CAST(:context AS jsonb)
  FROM rules
  WHERE tenant_id = current_setting('commonplace.tenant_id') AND rules.id = CAST(:rule_id AS uuid)
  RETURNING rule_id, outcome, applied_at
)
UPDATE rules SET
  applied_count = applied_count + 1,
  success_count = success_count + CAST(outcome = 'helpful' AS integer),
  harmful_count = harmful_count + CAST(outcome = 'harmful' AS integer),
  last_applied_at = greatest(last_applied_at, added.applied_at),
  last_evaluated_at = greatest(last_evaluated_at, added.applied_at)
FROM added WHERE rules.tenant_id = current_setting('commonplace.tenant_id') AND rules.id = added.rule_id
RETURNING
  maturity, effectiveness_score AS effectiveness, applied_count AS applied, success_count AS successes,
  harmful_count AS harms;

-- name: latest_outcome(rule_id)$
-- returns: str
-- The outcome of the latest application of a rule.
SELECT outcome FROM rule_applications
WHERE tenant_id = current_setting('commonplace.tenant_id') AND rule_id = :rule_id
ORDER BY applied_at DESC, id DESC LIMIT 1;

-- name: rate_rule(id, effectiveness, needs_inversion)!
-- Write how effective a rule is, and whether it waits for its inversion.
UPDATE rules SET
  effectiveness_score = :effectiveness,
  metadata = CASE WHEN CAST(:needs_inversion AS boolean) THEN metadata || '{"needs_inversion": true}' ELSE metadata END
WHERE tenant_id = current_setting('commonplace.tenant_id') AND id = :id;

-- name: delete_application(id)!
-- Delete an application; the counts of its rule stay.
DELETE FROM rule_applications WHERE tenant_id = current_setting('commonplace.tenant_id') AND id = :id;

-- name: exchanged_episodes(now)
-- The episodes that have not expired, as other databases may have them.
SELECT id, butler, session_id, content, importance, created_at, expires_at, metadata, source, trust, flags FROM episodes
WHERE tenant_id = current_setting('commonplace.tenant_id') AND (expires_at IS NULL OR expires_at > :now)
ORDER BY id;

-- name: lock_exchanged_episodes(ids, now)
-- Episodes, locked, without those that have expired.
SELECT id, butler, session_id, content, importance, created_at, expires_at, metadata, source, trust, flags FROM episodes
WHERE tenant_id = current_setting('commonplace.tenant_id') AND id = ANY(CAST(:ids AS uuid[]))
  AND (expires_at IS NULL OR expires_at > :now)
ORDER BY id
FOR UPDATE;

-- name: drop_episode(id)!
-- Forget an episode that was forgotten elsewhere and write the event, also if it has expired: no clock shows it again.
WITH known AS (
  SELECT id, expires_at, created_at FROM episodes
  WHERE tenant_id = current_setting('commonplace.tenant_id') AND id = :id
  FOR UPDATE
),
changed AS (
  UPDATE episodes SET expires_at = known.created_at FROM known
  WHERE episodes.tenant_id = current_setting('commonplace.tenant_id') AND episodes.id = known.id
    AND (known.expires_at IS NULL OR known.expires_at > known.created_at)
  RETURNING episodes.id, known.expires_at AS expired_before, episodes.expires_at
)
INSERT INTO memory_events (tenant_id, event_type, payload)
SELECT
  current_setting('commonplace.tenant_id'), 'episode_forgotten',
  jsonb_build_object(
    'memory_type', 'episode', 'memory_id', id, 'before', jsonb_build_object('expires_at', expired_before),
    'after', jsonb_build_object('expires_at', expires_at)
  )
FROM changed;

-- name: put_episodes(rows, embedding, model, version)!
-- Insert episodes that are consolidated where their session was, or change when they expire and their
-- butler. Each has its place among the vectors, from 1.
WITH input AS MATERIALIZED (
  SELECT episode.*, text.embedding
  FROM jsonb_to_recordset(CAST(:rows AS jsonb)) AS episode (
    place bigint, id uuid, butler text, session_id uuid, content text, search_text text, importance float8,
    created_at timestamptz, expires_at timestamptz, metadata jsonb, source text, trust text, flags jsonb
  )
  LEFT JOIN unnest(CAST(:embedding AS vector[])) WITH ORDINALITY AS text (embedding, place) USING (place)
),
${known_model}
INSERT INTO episodes (
  tenant_id, id, butler, session_id, content, search_vector, embedding, embedding_model, embedding_version, importance,
  created_at, expires_at, metadata, source, trust, flags, consolidated, consolidation_status
)
SELECT
  current_setting('commonplace.tenant_id'), id, butler, session_id, content, commonplace_search_vector(search_text),
  embedding, CASE WHEN embedding IS NOT NULL THEN CAST(:model AS text) END,
  CASE WHEN embedding IS NOT NULL THEN CAST(:version AS text) END, importance, created_at, expires_at, metadata, source,
  trust, flags, true, 'consolidated'
FROM input ORDER BY place
ON CONFLICT (tenant_id, id) DO UPDATE SET
  butler = EXCLUDED.butler, expires_at = EXCLUDED.expires_at, metadata = EXCLUDED.metadata, trust = EXCLUDED.trust,
  flags = EXCLUDED.flags;

-- name: exchanged_entities()
-- The entities, merged ones included.
SELECT
  id, canonical_name, entity_type, aliases, metadata - 'merged_into' AS metadata, metadata ->> 'merged_into' AS merged_into,
  created_at
FROM entities
WHERE tenant_id = current_setting('commonplace.tenant_id')
ORDER BY id;

-- name: lock_exchanged_entities(ids)
-- Entities, locked.
SELECT
  id, canonical_name, entity_type, aliases, metadata - 'merged_into' AS metadata, metadata ->> 'merged_into' AS merged_into,
  created_at
FROM entities
WHERE tenant_id = current_setting('commonplace.tenant_id') AND id = ANY(CAST(:ids AS uuid[]))
ORDER BY id
FOR UPDATE;

-- name: put_entity(id, canonical_name, entity_type, aliases, metadata, name_keys, created_at, now)!
-- Insert or change an entity.
INSERT INTO entities (
  tenant_id, id, canonical_name, entity_type, aliases, metadata, name_keys, created_at, updated_at
)
VALUES (
  current_setting('commonplace.tenant_id'), :id, :canonical_name, :entity_type, CAST(:aliases AS text[]),
  CAST(:metadata AS jsonb), :name_keys, CAST(:created_at AS timestamptz), CAST(:now AS timestamptz)
)
ON CONFLICT (tenant_id, id) DO UPDATE SET
  canonical_name = EXCLUDED.canonical_name, entity_type = EXCLUDED.entity_type, aliases = EXCLUDED.aliases,
  metadata = EXCLUDED.metadata, name_keys = EXCLUDED.name_keys, created_at = EXCLUDED.created_at,
  updated_at = EXCLUDED.updated_at;

-- name: delete_entity(id)!
-- Delete an entity; facts about it keep its name as their subject.
WITH freed AS (
  UPDATE facts SET entity_id = NULL
  WHERE tenant_id = current_setting('commonplace.tenant_id') AND entity_id = CAST(:id AS uuid)
    AND validity <> 'active'
)
DELETE FROM entities
WHERE tenant_id = current_setting('commonplace.tenant_id') AND id = :id
  AND NOT EXISTS (
    SELECT FROM facts
    WHERE facts.tenant_id = entities.tenant_id AND facts.entity_id = entities.id AND facts.validity = 'active'
  );

-- name: exchanged_links()
-- The links between memories.
SELECT source_type, source_id, target_type, target_id, relation, created_at FROM memory_links
WHERE tenant_id = current_setting('commonplace.tenant_id')
ORDER BY source_type, source_id, target_type, target_id;

-- name: some_exchanged_links(ends)
-- Some links, by their ends.
SELECT source_type, source_id, target_type, target_id, relation, created_at FROM memory_links
WHERE tenant_id = current_setting('commonplace.tenant_id') AND (source_type, source_id, target_type, target_id) IN (
  SELECT source_type, source_id, target_type, target_id FROM jsonb_to_recordset(CAST(:ends AS jsonb))
    AS asked (source_type text, source_id uuid, target_type text, target_id uuid)
);

-- name: put_links(rows)!
-- Insert or change links.
WITH input AS MATERIALIZED (
  SELECT * FROM jsonb_to_recordset(CAST(:rows AS jsonb)) AS link (
    source_type text, source_id uuid, target_type text, target_id uuid, relation text, created_at timestamptz
  )
),
changed AS (
  UPDATE memory_links SET relation = input.relation, created_at = input.created_at FROM input
  WHERE memory_links.tenant_id = current_setting('commonplace.tenant_id')
    AND memory_links.source_type = input.source_type AND memory_links.source_id = input.source_id
    AND memory_links.target_type = input.target_type AND memory_links.target_id = input.target_id
  RETURNING input.source_type, input.source_id, input.target_type, input.target_id
)
INSERT INTO memory_links (tenant_id, source_type, source_id, target_type, target_id, relation, created_at)
SELECT current_setting('commonplace.tenant_id'), source_type, source_id, target_type, target_id, relation, created_at
FROM input
WHERE (source_type, source_id, target_type, target_id) NOT IN (
  SELECT source_type, source_id, target_type, target_id FROM changed
);

-- name: delete_link(source_type, source_id, target_type, target_id)!
-- Delete a link.
DELETE FROM memory_links
WHERE tenant_id = current_setting('commonplace.tenant_id') AND source_type = :source_type AND source_id = :source_id
  AND target_type = :target_type AND target_id = :target_id;
