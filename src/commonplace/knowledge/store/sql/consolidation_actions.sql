-- The changes of facts and rules by a run. consolidation.sql defines the lock order.

-- name: lock_run_episodes(run_id, now)
-- The episodes of a run that exist and have not expired or been forgotten.
SELECT id FROM episodes
WHERE tenant_id = current_setting('commonplace.tenant_id') AND lease_run = :run_id
  AND (expires_at IS NULL OR expires_at > :now)
ORDER BY id
FOR NO KEY UPDATE;

-- name: lock_facts(ids, scopes, subjects, predicates)
-- Locks facts until the transaction ends: the facts with some ids, and the active facts with some keys.
SELECT id FROM facts
WHERE tenant_id = current_setting('commonplace.tenant_id') AND id IN (
  SELECT unnest(CAST(:ids AS uuid[]))
  UNION
  SELECT facts.id
  FROM facts JOIN unnest(CAST(:subjects AS text[]), CAST(:predicates AS text[])) AS key (subject, predicate)
    ON facts.subject = key.subject AND facts.predicate = key.predicate
  WHERE facts.tenant_id = current_setting('commonplace.tenant_id') AND facts.validity = 'active'
    AND facts.scope = ANY(CAST(:scopes AS text[]))
)
ORDER BY id
FOR UPDATE;

-- name: inherit_source(run_id)$
-- returns: str
-- Makes the least trusted of the episodes of a run, and at most an agent, the source of what the transaction writes: the
-- model has read them all.
SELECT set_config('commonplace.source', (
  SELECT trust FROM (
    SELECT trust FROM episodes
    WHERE tenant_id = current_setting('commonplace.tenant_id') AND lease_run = CAST(:run_id AS uuid)
    UNION ALL
    SELECT 'agent'
  ) AS read
  ORDER BY commonplace_trust(trust)
  LIMIT 1
), true);

-- name: memory_texts(ids)
-- columns: id UUID, subject str | None, predicate str | None, content str
-- The texts of some facts and rules.
SELECT id, subject, predicate, content FROM facts
WHERE tenant_id = current_setting('commonplace.tenant_id') AND id = ANY(CAST(:ids AS uuid[]))
UNION ALL
SELECT id, NULL, NULL, content FROM rules
WHERE tenant_id = current_setting('commonplace.tenant_id') AND id = ANY(CAST(:ids AS uuid[]));

-- name: standing_fact(id)^
-- columns: id UUID, entity_id UUID | None, subject str, predicate str, content str
-- A fact that an answer wants to replace or withdraw, if the fact is still active.
SELECT id, entity_id, subject, predicate, content, permanence, importance FROM facts
WHERE id = :id AND validity = 'active';

-- name: standing_rule(id)$
-- returns: str | None
-- The content of a rule that an answer wants to replace or withdraw, if the rule is not forgotten.
SELECT content FROM rules
WHERE id = :id AND ${rule_lives};

-- name: same_fact(butler, subject, predicates, content)$
-- returns: UUID | None
-- The id of the active fact that a butler sees and that says the same under one of some predicates; its own fact before a
-- global one.
SELECT id FROM facts
WHERE tenant_id = current_setting('commonplace.tenant_id') AND validity = 'active' AND scope IN ('global', :butler)
  AND subject = :subject AND predicate = ANY(CAST(:predicates AS text[]))
  AND lower(regexp_replace(btrim(content), '\s+', ' ', 'g'))
    = lower(regexp_replace(btrim(CAST(:content AS text)), '\s+', ' ', 'g'))
ORDER BY scope = 'global', id
LIMIT 1;

-- name: same_rule(butler, content)$
-- returns: UUID | None
-- The id of the rule that a butler sees and that says the same; its own rule before a global one.
SELECT id FROM rules
WHERE tenant_id = current_setting('commonplace.tenant_id') AND scope IN ('global', :butler)
  AND ${rule_lives}
  AND lower(regexp_replace(btrim(content), '\s+', ' ', 'g'))
    = lower(regexp_replace(btrim(CAST(:content AS text)), '\s+', ' ', 'g'))
ORDER BY scope = 'global', id
LIMIT 1;

-- name: supersede_fact(id, by_id, now)$
-- returns: UUID | None
-- Supersedes an active fact by a fact with another key, and writes the link and the event. Returns its id, or nothing.
WITH superseded AS (
  UPDATE facts SET validity = 'superseded' WHERE id = :id AND validity = 'active'
  RETURNING id
),
link AS (
  INSERT INTO memory_links (tenant_id, source_type, source_id, target_type, target_id, relation, created_at)
  SELECT current_setting('commonplace.tenant_id'), 'fact', CAST(:by_id AS uuid), 'fact', id, 'supersedes', :now
  FROM superseded
  ON CONFLICT DO NOTHING
),
predecessor AS (
  UPDATE facts SET supersedes_id = superseded.id FROM superseded
  WHERE facts.id = :by_id AND facts.supersedes_id IS NULL
),
event AS (
  INSERT INTO memory_events (tenant_id, event_type, payload)
  SELECT
    current_setting('commonplace.tenant_id'), 'fact_superseded',
    jsonb_build_object(
      'memory_type', 'fact', 'memory_id', id, 'superseded_by', CAST(:by_id AS uuid),
      'before', jsonb_build_object('validity', 'active'), 'after', jsonb_build_object('validity', 'superseded')
    )
  FROM superseded
)
SELECT id FROM superseded;

-- name: link_episodes(source_type, source_id, episode_ids, relation, now)!
-- Links a memory to the episodes that it was learned from or that contradict it, and writes the events; existing links
-- stay.
WITH created AS (
  INSERT INTO memory_links (tenant_id, source_type, source_id, target_type, target_id, relation, created_at)
  SELECT
    current_setting('commonplace.tenant_id'), :source_type, :source_id, 'episode', episode_id,
    CAST(:relation AS text), :now
  FROM unnest(CAST(:episode_ids AS uuid[])) AS episode_id
  ON CONFLICT DO NOTHING
  RETURNING source_type, source_id, target_type, target_id, relation
)
INSERT INTO memory_events (tenant_id, event_type, payload)
SELECT
  current_setting('commonplace.tenant_id'), 'link_created',
  jsonb_build_object('before', NULL, 'after', to_jsonb(created))
FROM created;

-- name: record_action(run_id, position, action, memory_id, superseded_ids, confirmed_before, confirmed_at)!
-- Records an action of a run, and the state before it.
INSERT INTO consolidation_actions (
  tenant_id, run_id, position, action, memory_id, superseded_ids, confirmed_before, confirmed_at
)
VALUES (
  current_setting('commonplace.tenant_id'), :run_id, :position, :action, :memory_id,
  CAST(:superseded_ids AS uuid[]), :confirmed_before, :confirmed_at
);

-- name: consolidate_episodes(run_id)$
-- returns: int
-- Marks the episodes of a run as consolidated, and writes the events. Returns their number.
WITH done AS (
  UPDATE episodes SET
    consolidated = true, consolidation_status = 'consolidated', last_error = NULL, next_attempt_at = NULL,
    leased_by = NULL, leased_until = NULL, lease_run = NULL
  WHERE tenant_id = current_setting('commonplace.tenant_id') AND lease_run = :run_id
  RETURNING id, retry_count
),
events AS (
  INSERT INTO memory_events (tenant_id, event_type, payload)
  SELECT
    current_setting('commonplace.tenant_id'), 'episode_consolidated',
    jsonb_build_object(
      'memory_type', 'episode', 'memory_id', id, 'before', NULL,
      'after', jsonb_build_object('consolidation_status', 'consolidated', 'retry_count', retry_count)
    )
  FROM done
)
SELECT count(*) FROM done;

-- name: finish_run(run_id, facts_created, facts_updated, facts_confirmed, facts_retracted, rules_created, rules_updated, rules_confirmed, rules_retracted, notes, errors, now)^
-- Ends a run that was applied, with its counts, and writes the event.
WITH finished AS (
  UPDATE consolidation_runs SET
    state = 'applied', ended_at = :now, facts_created = :facts_created, facts_updated = :facts_updated,
    facts_confirmed = :facts_confirmed, facts_retracted = :facts_retracted, rules_created = :rules_created,
    rules_updated = :rules_updated, rules_confirmed = :rules_confirmed, rules_retracted = :rules_retracted,
    notes = CAST(:notes AS jsonb), errors = CAST(:errors AS jsonb)
  WHERE id = :run_id
  RETURNING *
),
event AS (
  INSERT INTO memory_events (tenant_id, event_type, payload)
  SELECT
    current_setting('commonplace.tenant_id'), 'consolidation_applied',
    jsonb_build_object(
      'butler', butler, 'episodes', cardinality(episode_ids), 'facts_created', facts_created,
      'facts_updated', facts_updated, 'facts_confirmed', facts_confirmed, 'facts_retracted', facts_retracted,
      'rules_created', rules_created, 'rules_updated', rules_updated, 'rules_confirmed', rules_confirmed,
      'rules_retracted', rules_retracted, 'errors', jsonb_array_length(errors)
    )
  FROM finished
)
SELECT * FROM finished;
