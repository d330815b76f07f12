-- The past of facts and rules.

-- name: facts_changed(since, until, scope, limit, offset)
-- columns: scope_after str | None
-- Facts that were found at one of two moments and not at the other, the oldest first.
SELECT * FROM (
  SELECT
    ${fact_columns},
    commonplace_fact_then(id, created_at, confidence, decay_rate, :since, NULL, :since, NULL) AS scope_before,
    commonplace_fact_then(id, created_at, confidence, decay_rate, :until, NULL, :until, NULL) AS scope_after
  FROM facts
  WHERE tenant_id = current_setting('commonplace.tenant_id') AND (
    valid_to > CAST(:since AS timestamptz) AND valid_to <= CAST(:until AS timestamptz)
    OR id IN (
      SELECT fact_id FROM fact_states
      WHERE tenant_id = current_setting('commonplace.tenant_id') AND known_at > :since AND known_at <= :until
    )
  )
) AS changed
WHERE (scope_before IS NULL) <> (scope_after IS NULL)
  AND (CAST(:scope AS text) IS NULL OR coalesce(scope_before, scope_after) IN ('global', :scope))
ORDER BY created_at, id
LIMIT :limit OFFSET :offset;

-- name: rules_changed(since, until, scope, limit, offset)
-- columns: after bool
-- Rules that were known at one of two moments and not at the other, the oldest first.
SELECT * FROM (
  SELECT
    ${rule_columns},
    created_at <= CAST(:since AS timestamptz) AND NOT commonplace_rule_forgotten(id, metadata, :since) AS before,
    created_at <= CAST(:until AS timestamptz) AND NOT commonplace_rule_forgotten(id, metadata, :until) AS after
  FROM rules
  WHERE tenant_id = current_setting('commonplace.tenant_id')
    AND (CAST(:scope AS text) IS NULL OR scope IN ('global', :scope))
    AND (
      created_at > CAST(:since AS timestamptz) AND created_at <= CAST(:until AS timestamptz)
      OR CAST(id AS text) IN (
        SELECT about_id FROM memory_events
        WHERE tenant_id = current_setting('commonplace.tenant_id') AND created_at > :since AND created_at <= :until
          AND payload -> 'after' ? 'forgotten'
      )
    )
) AS changed
WHERE before <> after
ORDER BY created_at, id
LIMIT :limit OFFSET :offset;

-- name: fact_state(id, as_of)^
-- columns: validity str
-- The state of a fact as it was known at a moment.
SELECT validity, scope, predicate, entity_id, valid_from, valid_to, last_confirmed_at FROM fact_states
WHERE tenant_id = current_setting('commonplace.tenant_id') AND fact_id = :id AND known_at <= :as_of
ORDER BY known_at DESC, place DESC
LIMIT 1;

-- name: rule_forgotten(id, as_of)$
-- returns: bool | None
-- Whether a rule was forgotten at a moment.
SELECT commonplace_rule_forgotten(id, metadata, CAST(:as_of AS timestamptz)) FROM rules
WHERE tenant_id = current_setting('commonplace.tenant_id') AND id = :id;

-- name: entity_images(id, as_of)
-- columns: before dict[str, object] | None
-- The values that changes of an entity after a moment replaced, the latest first.
SELECT CASE
  WHEN payload ->> 'entity_id' = CAST(:id AS text) THEN payload -> 'before'
  WHEN payload ->> 'source_entity_id' = CAST(:id AS text) THEN payload -> 'before' -> 'source'
  ELSE payload -> 'before' -> 'target'
END AS before
FROM memory_events
WHERE tenant_id = current_setting('commonplace.tenant_id') AND created_at > :as_of
  AND event_type IN ('entity_updated', 'entity_merge', 'entity_unmerge')
  AND CAST(:id AS text) IN (
    payload ->> 'entity_id', payload ->> 'source_entity_id', payload ->> 'target_entity_id'
  )
ORDER BY created_at DESC, id;

-- name: timeline(subject, entity_id, limit, offset)
-- The facts of a subject or an entity that were not forgotten, in the order in which they began to hold.
SELECT ${fact_columns} FROM facts
WHERE tenant_id = current_setting('commonplace.tenant_id') AND validity <> 'retracted'
  AND (
    ${subject_key} = ${asked_subject_key}
    OR entity_id = CAST(:entity_id AS uuid)
  )
ORDER BY coalesce(valid_from, created_at), created_at, id
LIMIT :limit OFFSET :offset;
