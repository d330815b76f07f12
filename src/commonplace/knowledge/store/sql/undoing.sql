-- Undoing of confirmations and of forgetting.

-- name: unconfirm_last_of_fact(id)$
-- returns: UUID | None
-- Undo the last confirmation of an active fact that has not changed since, and write the event. A fact that was held no
-- longer supersedes another. Return the id of a fact that changed.
WITH confirmation AS (
  SELECT facts.id, payload -> 'before' AS before, payload -> 'after' AS after
  FROM facts JOIN memory_events AS entry ON entry.tenant_id = facts.tenant_id AND about_id = CAST(facts.id AS text)
  WHERE facts.tenant_id = current_setting('commonplace.tenant_id') AND facts.id = :id AND validity = 'active'
    AND event_type = 'fact_confirmed'
    AND CAST(payload #>> '{after,last_confirmed_at}' AS timestamptz) = last_confirmed_at
  ORDER BY entry.created_at DESC
  LIMIT 1
),
changed AS (
  UPDATE facts SET
    last_confirmed_at = CAST(before ->> 'last_confirmed_at' AS timestamptz),
    trust = coalesce(before ->> 'trust', trust),
    validity = coalesce(before ->> 'validity', validity),
    supersedes_id = CASE WHEN before ->> 'validity' = 'held' THEN NULL ELSE supersedes_id END
  FROM confirmation WHERE facts.id = confirmation.id
  RETURNING facts.id, before, after
),
unlinked AS (
  DELETE FROM memory_links USING changed
  WHERE tenant_id = current_setting('commonplace.tenant_id') AND source_type = 'fact' AND source_id = changed.id
    AND target_type = 'fact' AND relation = 'supersedes' AND before ->> 'validity' = 'held'
),
event AS (
  INSERT INTO memory_events (tenant_id, event_type, payload)
  SELECT
    current_setting('commonplace.tenant_id'), 'fact_unconfirmed',
    jsonb_build_object('memory_type', 'fact', 'memory_id', id, 'before', after, 'after', before)
  FROM changed
)
SELECT id FROM changed;

-- name: unconfirm_last_of_rule(id)$
-- returns: UUID | None
-- Undo the last confirmation of a rule that has not changed since, and write the event. Return the id of a changed rule.
WITH confirmation AS (
  SELECT rules.id, payload -> 'before' AS before, payload -> 'after' AS after
  FROM rules JOIN memory_events AS entry ON entry.tenant_id = rules.tenant_id AND about_id = CAST(rules.id AS text)
  WHERE rules.tenant_id = current_setting('commonplace.tenant_id') AND rules.id = :id AND ${rule_lives}
    AND event_type = 'rule_confirmed'
    AND CAST(payload #>> '{after,last_confirmed_at}' AS timestamptz) = last_confirmed_at
  ORDER BY entry.created_at DESC
  LIMIT 1
),
changed AS (
  UPDATE rules SET
    last_confirmed_at = CAST(before ->> 'last_confirmed_at' AS timestamptz),
    trust = coalesce(before ->> 'trust', trust)
  FROM confirmation WHERE rules.id = confirmation.id
  RETURNING rules.id, before, after
),
event AS (
  INSERT INTO memory_events (tenant_id, event_type, payload)
  SELECT
    current_setting('commonplace.tenant_id'), 'rule_unconfirmed',
    jsonb_build_object('memory_type', 'rule', 'memory_id', id, 'before', after, 'after', before)
  FROM changed
)
SELECT id FROM changed;

-- name: restore_inactive_fact(id)$
-- returns: UUID | None
-- Return a retracted fact to its former state, such as held, unless that state was active, and write the event. Return
-- the id of a fact that changed.
WITH retraction AS (
  SELECT payload #>> '{before,validity}' AS validity FROM memory_events
  WHERE tenant_id = current_setting('commonplace.tenant_id') AND about_id = CAST(CAST(:id AS uuid) AS text)
    AND event_type = 'fact_retracted'
  ORDER BY created_at DESC
  LIMIT 1
),
changed AS (
  UPDATE facts SET validity = retraction.validity FROM retraction
  WHERE id = :id AND facts.validity = 'retracted' AND retraction.validity <> 'active'
  RETURNING id, facts.validity
),
event AS (
  INSERT INTO memory_events (tenant_id, event_type, payload)
  SELECT
    current_setting('commonplace.tenant_id'), 'fact_restored',
    jsonb_build_object(
      'memory_type', 'fact', 'memory_id', id, 'before', jsonb_build_object('validity', 'retracted'),
      'after', jsonb_build_object('validity', validity)
    )
  FROM changed
)
SELECT id FROM changed;
