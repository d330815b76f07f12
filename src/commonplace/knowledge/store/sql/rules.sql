-- name: insert_rules(id, content, search_text, embedding, scope, source_butler, source_episode_id, tags, metadata, source, flags, last_confirmed_at, decay_rate, model, version, now)
-- columns: id UUID, flags list[str]
-- Insert rules as candidates, the model of their vectors, and an event for each rule. A rule of a document, a tool or the
-- web gets a flag. A rule was confirmed when its draft says, else now. Return the ids and flags.
WITH input AS (
  SELECT * FROM unnest(
    CAST(:id AS uuid[]), CAST(:content AS text[]), CAST(:search_text AS text[]),
    CAST(:embedding AS vector[]), CAST(:scope AS text[]), CAST(:source_butler AS text[]),
    CAST(:source_episode_id AS uuid[]), CAST(:tags AS text[]), CAST(:metadata AS text[]), CAST(:source AS text[]),
    CAST(:flags AS text[]), CAST(:last_confirmed_at AS timestamptz[])
  ) AS given (
    id, content, search_text, embedding, scope, source_butler, source_episode_id, tags, metadata, source, flags,
    last_confirmed_at
  )
),
${known_model},
stored AS (
  INSERT INTO rules (
    tenant_id, id, content, search_vector, embedding, embedding_model, embedding_version, scope, decay_rate,
    source_butler, source_episode_id, tags, metadata, source, trust, flags, created_at, last_confirmed_at
  )
  SELECT
    current_setting('commonplace.tenant_id'), input.id, input.content, commonplace_search_vector(search_text),
    input.embedding, :model, :version, scope, :decay_rate, source_butler, source_episode_id, CAST(tags AS jsonb),
    CAST(input.metadata AS jsonb), from_where.source, from_where.source,
    CAST(input.flags AS jsonb) || CASE
      WHEN from_where.source IN ('document', 'tool', 'web') THEN CAST('["untrusted_rule"]' AS jsonb) ELSE '[]'
    END,
    :now, least(CAST(:now AS timestamptz), input.last_confirmed_at)
  FROM input
  LEFT JOIN episodes AS origin
    ON origin.tenant_id = current_setting('commonplace.tenant_id') AND origin.id = input.source_episode_id,
  LATERAL (
    SELECT commonplace_weaker(commonplace_weaker(commonplace_source(), input.source), origin.trust) AS source
  ) AS from_where
  RETURNING id, scope, maturity, confidence, decay_rate, source_episode_id, source, flags
),
events AS (
  INSERT INTO memory_events (tenant_id, event_type, payload)
  SELECT
    current_setting('commonplace.tenant_id'), 'rule_created',
    jsonb_build_object('memory_type', 'rule', 'memory_id', id, 'before', NULL, 'after', to_jsonb(stored) - 'id')
  FROM stored
)
SELECT id, flags FROM stored;

-- name: lock_rule(id)^
-- Lock a rule that is not forgotten until the transaction ends, and return the rule.
SELECT ${rule_columns} FROM rules
WHERE id = :id AND ${rule_lives}
FOR UPDATE;

-- name: record_application(rule_id, outcome, reason, context, now)!
-- Insert an application of a rule.
INSERT INTO rule_applications (tenant_id, rule_id, outcome, reason, context, applied_at)
VALUES (
  current_setting('commonplace.tenant_id'), :rule_id, :outcome, :reason, CAST(:context AS jsonb), :now
);

-- name: mark_rule(id, maturity, effectiveness, applied, successes, harms, helpful, confirmed_at, metadata, now)^
-- Write the counts and the maturity of a rule after feedback, and return the rule.
UPDATE rules SET
  maturity = :maturity, effectiveness_score = :effectiveness, applied_count = :applied, success_count = :successes,
  harmful_count = :harms, metadata = CAST(:metadata AS jsonb), last_confirmed_at = :confirmed_at,
  trust = CASE WHEN commonplace_source() = 'person' AND CAST(:helpful AS boolean) THEN 'person' ELSE trust END,
  last_applied_at = :now, last_evaluated_at = :now
WHERE id = :id
RETURNING ${rule_columns};

-- name: invert_rule(id, content, search_text, embedding, model, version, metadata, now)^
-- Rewrite a rule as a warning, with its vector and words, restart its decay, and return the rule.
WITH model AS (
  INSERT INTO embedding_versions (model, version, dimensions)
  VALUES (CAST(:model AS text), CAST(:version AS text), vector_dims(CAST(:embedding AS vector)))
  ON CONFLICT DO NOTHING
)
UPDATE rules SET
  maturity = 'anti_pattern', content = :content, search_vector = commonplace_search_vector(:search_text),
  embedding = CAST(:embedding AS vector), embedding_model = :model, embedding_version = :version,
  metadata = CAST(:metadata AS jsonb), last_confirmed_at = :now, last_evaluated_at = :now
WHERE id = :id
RETURNING ${rule_columns};

-- name: rules_to_invert()
-- columns: id UUID
-- The rules that wait for their inversion, by id.
SELECT id FROM rules
WHERE tenant_id = current_setting('commonplace.tenant_id') AND metadata -> 'needs_inversion' = 'true'
  AND ${rule_lives}
ORDER BY id;

-- name: forget_rule(id)$
-- returns: UUID | None
-- Forget a rule and write the event, unless it is forgotten. Return the id of a rule that exists.
WITH known AS (
  SELECT id, metadata FROM rules WHERE id = :id FOR UPDATE
),
changed AS (
  UPDATE rules SET metadata = known.metadata || '{"forgotten": true}' FROM known
  WHERE rules.id = known.id AND (known.metadata -> 'forgotten') IS DISTINCT FROM 'true'
  RETURNING rules.id
),
event AS (
  INSERT INTO memory_events (tenant_id, event_type, payload)
  SELECT
    current_setting('commonplace.tenant_id'), 'rule_forgotten',
    jsonb_build_object(
      'memory_type', 'rule', 'memory_id', id, 'before', jsonb_build_object('forgotten', false),
      'after', jsonb_build_object('forgotten', true)
    )
  FROM changed
)
SELECT id FROM known;
