-- Rows that travel between databases of one owner, each with the same id everywhere. Lock order as for stores.

-- name: exchanged_names()
-- columns: kind str, id UUID
-- The kind and the id of every row that travels or did, whatever its state.
SELECT 'fact' AS kind, id FROM facts WHERE tenant_id = current_setting('commonplace.tenant_id')
UNION ALL SELECT 'rule', id FROM rules WHERE tenant_id = current_setting('commonplace.tenant_id')
UNION ALL SELECT 'episode', id FROM episodes WHERE tenant_id = current_setting('commonplace.tenant_id')
UNION ALL SELECT 'entity', id FROM entities WHERE tenant_id = current_setting('commonplace.tenant_id');

-- name: exchanged_facts()
-- The facts that were not forgotten, as other databases may have them.
SELECT ${exchanged_fact} FROM facts
WHERE tenant_id = current_setting('commonplace.tenant_id') AND validity <> 'retracted'
ORDER BY id;

-- name: lock_exchanged_fact(id)^
-- One fact in any state, locked.
SELECT ${exchanged_fact} FROM facts
WHERE tenant_id = current_setting('commonplace.tenant_id') AND id = :id
FOR UPDATE;

-- name: put_fact(id, subject, predicate, content, search_text, embedding, model, version, importance, confidence, decay_rate, permanence, scope, entity_id, source_butler, source, trust, flags, valid_from, valid_to, created_at, last_confirmed_at, tags, metadata, validity)!
-- Insert or change a fact. Without a vector, its text and vector stay.
WITH ${new_vector_model}
INSERT INTO facts (
  tenant_id, id, subject, predicate, content, search_vector, embedding, embedding_model, embedding_version, importance,
  confidence, decay_rate, permanence, scope, entity_id, source_butler, source, trust, flags, valid_from, valid_to,
  created_at, last_confirmed_at, tags, metadata, validity, supersedes_id
)
SELECT
  current_setting('commonplace.tenant_id'), :id, :subject, :predicate, :content,
  commonplace_search_vector(:search_text), CAST(:embedding AS vector), :model, :version, :importance, :confidence,
  :decay_rate, :permanence, :scope, CAST(:entity_id AS uuid), :source_butler, :source, :trust, CAST(:flags AS jsonb),
  CAST(:valid_from AS timestamptz), CAST(:valid_to AS timestamptz), CAST(:created_at AS timestamptz),
  CAST(:last_confirmed_at AS timestamptz), CAST(:tags AS jsonb), CAST(:metadata AS jsonb), :validity,
  (
    SELECT older.id FROM memory_links AS link JOIN facts AS older
      ON older.tenant_id = link.tenant_id AND older.id = link.target_id
    WHERE link.tenant_id = current_setting('commonplace.tenant_id') AND link.source_type = 'fact'
      AND link.source_id = CAST(:id AS uuid) AND link.target_type = 'fact' AND link.relation = 'supersedes'
    ORDER BY link.created_at, older.id LIMIT 1
  )
ON CONFLICT (tenant_id, id) DO UPDATE SET
  content = EXCLUDED.content, subject = EXCLUDED.subject, predicate = EXCLUDED.predicate,
  search_vector = EXCLUDED.search_vector,
  embedding = coalesce(EXCLUDED.embedding, facts.embedding),
  embedding_model = coalesce(EXCLUDED.embedding_model, facts.embedding_model),
  embedding_version = coalesce(EXCLUDED.embedding_version, facts.embedding_version),
  importance = EXCLUDED.importance, confidence = EXCLUDED.confidence, decay_rate = EXCLUDED.decay_rate,
  permanence = EXCLUDED.permanence, scope = EXCLUDED.scope, entity_id = EXCLUDED.entity_id,
  source_butler = EXCLUDED.source_butler, source = EXCLUDED.source, trust = EXCLUDED.trust, flags = EXCLUDED.flags,
  valid_from = EXCLUDED.valid_from, valid_to = EXCLUDED.valid_to, created_at = EXCLUDED.created_at,
  last_confirmed_at = EXCLUDED.last_confirmed_at, tags = EXCLUDED.tags,
  metadata = EXCLUDED.metadata || jsonb_strip_nulls(jsonb_build_object('status', facts.metadata -> 'status')),
  validity = EXCLUDED.validity;

-- name: point_successors(id)!
-- Let the facts that replaced a fact, by a link, name it as the fact that they replaced, if they name none.
UPDATE facts SET supersedes_id = CAST(:id AS uuid)
FROM memory_links AS link
WHERE link.tenant_id = current_setting('commonplace.tenant_id') AND link.target_type = 'fact'
  AND link.target_id = CAST(:id AS uuid) AND link.source_type = 'fact' AND link.relation = 'supersedes'
  AND facts.tenant_id = link.tenant_id AND facts.id = link.source_id AND facts.supersedes_id IS NULL;

-- name: rivals_of_fact(id)
-- columns: id UUID, validity str, trust str, began_at datetime, created_at datetime
-- Lock the facts of the key of a fact, itself included, that are active or wait for an active one.
SELECT rival.id, rival.validity, rival.trust, coalesce(rival.valid_from, rival.created_at) AS began_at, rival.created_at
FROM facts AS rival
WHERE rival.tenant_id = current_setting('commonplace.tenant_id')
  AND (rival.validity = 'active' OR rival.validity = 'held' AND rival.metadata ? 'waits')
  AND EXISTS (
    SELECT FROM facts AS asked
    WHERE asked.tenant_id = rival.tenant_id AND asked.id = CAST(:id AS uuid) AND rival.scope = asked.scope
      AND rival.predicate = asked.predicate AND rival.entity_id IS NOT DISTINCT FROM asked.entity_id
      AND (asked.entity_id IS NOT NULL OR rival.subject = asked.subject)
  )
ORDER BY rival.id
FOR UPDATE;

-- name: waiting_facts()
-- columns: id UUID
-- The facts that wait because another fact of their key is active, or was.
SELECT id FROM facts
WHERE tenant_id = current_setting('commonplace.tenant_id') AND validity = 'held' AND metadata ? 'waits'
ORDER BY id;

-- name: hold_rivals(ids)!
-- Let facts wait because another fact of their key is active.
UPDATE facts SET validity = 'held', metadata = metadata || '{"waits": true}'
WHERE tenant_id = current_setting('commonplace.tenant_id') AND id = ANY(CAST(:ids AS uuid[]));

-- name: hold_successors(ids)!
-- Let facts wait for a person, unless a person accepted them, because the fact that they replaced was forgotten.
UPDATE facts SET validity = 'held', metadata = metadata - 'waits' || '{"orphaned": true}'
WHERE tenant_id = current_setting('commonplace.tenant_id') AND id = ANY(CAST(:ids AS uuid[]))
  AND NOT metadata ? 'accepted';

-- name: activate_fact(id)!
-- Make a fact active that waited.
UPDATE facts SET validity = 'active', metadata = metadata - 'waits'
WHERE tenant_id = current_setting('commonplace.tenant_id') AND id = :id;

-- name: successors(memory_type, id)
-- columns: id UUID
-- The facts or rules that replaced a fact or rule and were not forgotten or replaced.
SELECT link.source_id AS id FROM memory_links AS link
WHERE link.tenant_id = current_setting('commonplace.tenant_id') AND link.relation = 'supersedes'
  AND link.target_id = CAST(:id AS uuid) AND link.target_type = :memory_type AND link.source_type = :memory_type
  AND (
    EXISTS (
      SELECT FROM facts
      WHERE facts.tenant_id = link.tenant_id AND facts.id = link.source_id AND facts.validity IN ('active', 'held')
    )
    OR EXISTS (SELECT FROM rules WHERE rules.tenant_id = link.tenant_id AND rules.id = link.source_id AND ${rule_lives})
  )
ORDER BY link.source_id;

-- name: exchanged_rules()
-- The rules that were not forgotten, as other databases may have them.
SELECT ${exchanged_rule} FROM rules
WHERE tenant_id = current_setting('commonplace.tenant_id')
ORDER BY id;

-- name: lock_exchanged_rule(id)^
-- One rule in any state, locked.
SELECT ${exchanged_rule} FROM rules
WHERE tenant_id = current_setting('commonplace.tenant_id') AND id = :id
FOR UPDATE;

-- name: put_rule(id, content, search_text, embedding, model, version, scope, maturity, confidence, decay_rate, permanence, source_butler, source, trust, flags, created_at, last_confirmed_at, tags, metadata, forgotten)!
-- Insert or change a rule. Without a vector, its vector stays.
WITH ${new_vector_model}
INSERT INTO rules (
  tenant_id, id, content, search_vector, embedding, embedding_model, embedding_version, scope, maturity, confidence,
  decay_rate, permanence, source_butler, source, trust, flags, created_at, last_confirmed_at, tags, metadata
)
SELECT
  current_setting('commonplace.tenant_id'), :id, :content, commonplace_search_vector(:search_text),
  CAST(:embedding AS vector), :model, :version, :scope, :maturity, :confidence, :decay_rate, :permanence,
  :source_butler, :source, :trust, CAST(:flags AS jsonb), CAST(:created_at AS timestamptz),
  CAST(:last_confirmed_at AS timestamptz), CAST(:tags AS jsonb),
  CAST(:metadata AS jsonb) || CASE WHEN CAST(:forgotten AS boolean) THEN CAST('{"forgotten": true}' AS jsonb) ELSE '{}' END
ON CONFLICT (tenant_id, id) DO UPDATE SET
  content = EXCLUDED.content, search_vector = EXCLUDED.search_vector,
  embedding = coalesce(EXCLUDED.embedding, rules.embedding),
  embedding_model = coalesce(EXCLUDED.embedding_model, rules.embedding_model),
  embedding_version = coalesce(EXCLUDED.embedding_version, rules.embedding_version),
  scope = EXCLUDED.scope, maturity = EXCLUDED.maturity, confidence = EXCLUDED.confidence,
  decay_rate = EXCLUDED.decay_rate, permanence = EXCLUDED.permanence, source_butler = EXCLUDED.source_butler,
  source = EXCLUDED.source, trust = EXCLUDED.trust, flags = EXCLUDED.flags, created_at = EXCLUDED.created_at,
  last_confirmed_at = EXCLUDED.last_confirmed_at, tags = EXCLUDED.tags,
  metadata = EXCLUDED.metadata || jsonb_strip_nulls(jsonb_build_object(
    'status', rules.metadata -> 'status', 'needs_inversion', rules.metadata -> 'needs_inversion'
  ));

-- name: exchanged_applications()
-- The applications of rules that were not forgotten.
SELECT id, rule_id, outcome, reason, actor, applied_at, context FROM rule_applications
WHERE tenant_id = current_setting('commonplace.tenant_id')
ORDER BY id;

-- name: exchanged_application(id)^
-- One application of a rule.
SELECT id, rule_id, outcome, reason, actor, applied_at, context FROM rule_applications
WHERE tenant_id = current_setting('commonplace.tenant_id') AND id = :id;

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

-- name: lock_exchanged_episode(id, now)^
-- One episode, locked, unless it has expired.
SELECT id, butler, session_id, content, importance, created_at, expires_at, metadata, source, trust, flags FROM episodes
WHERE tenant_id = current_setting('commonplace.tenant_id') AND id = :id AND (expires_at IS NULL OR expires_at > :now)
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

-- name: put_episode(id, butler, session_id, content, search_text, embedding, model, version, importance, created_at, expires_at, metadata, source, trust, flags)!
-- Insert an episode that is consolidated where its session was, or change when it expires.
WITH ${new_vector_model}
INSERT INTO episodes (
  tenant_id, id, butler, session_id, content, search_vector, embedding, embedding_model, embedding_version, importance,
  created_at, expires_at, metadata, source, trust, flags, consolidated, consolidation_status
)
SELECT
  current_setting('commonplace.tenant_id'), :id, :butler, CAST(:session_id AS uuid), :content,
  commonplace_search_vector(:search_text), CAST(:embedding AS vector), :model, :version, :importance,
  CAST(:created_at AS timestamptz), CAST(:expires_at AS timestamptz), CAST(:metadata AS jsonb), :source, :trust,
  CAST(:flags AS jsonb), true, 'consolidated'
ON CONFLICT (tenant_id, id) DO UPDATE SET
  expires_at = EXCLUDED.expires_at, metadata = EXCLUDED.metadata, trust = EXCLUDED.trust, flags = EXCLUDED.flags;

-- name: exchanged_entities()
-- The entities, merged ones included.
SELECT
  id, canonical_name, entity_type, aliases, metadata - 'merged_into' AS metadata, metadata ->> 'merged_into' AS merged_into,
  created_at
FROM entities
WHERE tenant_id = current_setting('commonplace.tenant_id')
ORDER BY id;

-- name: lock_exchanged_entity(id)^
-- One entity, locked.
SELECT
  id, canonical_name, entity_type, aliases, metadata - 'merged_into' AS metadata, metadata ->> 'merged_into' AS merged_into,
  created_at
FROM entities
WHERE tenant_id = current_setting('commonplace.tenant_id') AND id = :id
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

-- name: exchanged_link(source_type, source_id, target_type, target_id)^
-- One link.
SELECT source_type, source_id, target_type, target_id, relation, created_at FROM memory_links
WHERE tenant_id = current_setting('commonplace.tenant_id') AND source_type = :source_type AND source_id = :source_id
  AND target_type = :target_type AND target_id = :target_id;

-- name: put_link(source_type, source_id, target_type, target_id, relation, created_at)!
-- Insert or change a link.
WITH changed AS (
  UPDATE memory_links SET relation = :relation, created_at = CAST(:created_at AS timestamptz)
  WHERE tenant_id = current_setting('commonplace.tenant_id') AND source_type = :source_type AND source_id = :source_id
    AND target_type = :target_type AND target_id = :target_id
  RETURNING source_id
)
INSERT INTO memory_links (tenant_id, source_type, source_id, target_type, target_id, relation, created_at)
SELECT
  current_setting('commonplace.tenant_id'), :source_type, :source_id, :target_type, :target_id, :relation,
  CAST(:created_at AS timestamptz)
WHERE NOT EXISTS (SELECT FROM changed);

-- name: delete_link(source_type, source_id, target_type, target_id)!
-- Delete a link.
DELETE FROM memory_links
WHERE tenant_id = current_setting('commonplace.tenant_id') AND source_type = :source_type AND source_id = :source_id
  AND target_type = :target_type AND target_id = :target_id;
