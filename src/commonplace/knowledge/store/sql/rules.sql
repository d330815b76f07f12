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

-- name: repeated_rules(content, scope, tags, metadata, source_butler, source_episode_id)
-- columns: place int, id UUID, flags list[str], may_confirm bool
-- Of some drafts, those that a rule of their scope says already: with the same words, all of their tags and metadata, and
-- the same origin if they name one. With the oldest such rule, its flags if blocks leave it out, and whether the session
-- may confirm it: it is as trusted as the rule, which did no harm since its last confirmation. The first place is 1.
SELECT DISTINCT ON (place)
  CAST(place AS integer) AS place, id, CASE WHEN trust = 'person' THEN CAST('[]' AS jsonb) ELSE flags END AS flags,
  commonplace_weaker(commonplace_source(), trust) = trust
    AND NOT (harmful_count > 0 AND last_evaluated_at > coalesce(last_confirmed_at, created_at)) AS may_confirm
FROM unnest(
  CAST(:content AS text[]), CAST(:scope AS text[]), CAST(:tags AS text[]), CAST(:metadata AS text[]),
  CAST(:source_butler AS text[]), CAST(:source_episode_id AS uuid[])
) WITH ORDINALITY AS draft (said, said_in, labels, facts, butler, episode_id, place)
JOIN rules ON tenant_id = current_setting('commonplace.tenant_id') AND scope = said_in
  AND commonplace_plain(content) = commonplace_plain(said)
  AND tags @> CAST(labels AS jsonb) AND metadata @> CAST(facts AS jsonb)
  AND (butler IS NULL OR butler = source_butler) AND (episode_id IS NULL OR episode_id = source_episode_id)
WHERE ${rule_lives} AND maturity <> 'anti_pattern'
ORDER BY place, created_at, id;

-- name: near_rules(ids, limit)
-- columns: rule_id UUID, id UUID, content str
-- The rules nearest to each of some new rules, nearest first: older, of its scope or with a global one, and no warnings.
SELECT newer.id AS rule_id, near.id, near.content
FROM rules AS newer CROSS JOIN LATERAL (
  SELECT id, content FROM rules
  WHERE tenant_id = newer.tenant_id AND ${rule_lives} AND maturity <> 'anti_pattern' AND id <> ALL (:ids)
    AND (scope = newer.scope OR scope = 'global' OR newer.scope = 'global')
    AND embedding_version = newer.embedding_version
  ORDER BY embedding <=> newer.embedding, id
  LIMIT :limit
) AS near
WHERE newer.tenant_id = current_setting('commonplace.tenant_id') AND newer.id = ANY (:ids)
ORDER BY newer.id, near.id;

-- name: list_opposed(limit)
-- columns: memory_type str, older_id UUID, newer_id UUID, older_key str, newer_key str, older_content str, newer_content str, since datetime
-- Facts and rules of which the newer one contradicts the older one by a link, and that no person told apart; the oldest
-- link first.
WITH pairs AS (
  SELECT
    'rule' AS memory_type, older.id AS older_id, newer.id AS newer_id, '' AS older_key, '' AS newer_key,
    older.content AS older_content, newer.content AS newer_content, link.created_at AS since
  FROM memory_links AS link
  JOIN rules AS newer ON newer.tenant_id = link.tenant_id AND newer.id = link.source_id
  JOIN rules AS older ON older.tenant_id = link.tenant_id AND older.id = link.target_id
  WHERE link.tenant_id = current_setting('commonplace.tenant_id') AND link.source_type = 'rule'
    AND link.target_type = 'rule' AND link.relation = 'contradicts'
    AND (newer.metadata -> 'forgotten') IS DISTINCT FROM 'true'
    AND (older.metadata -> 'forgotten') IS DISTINCT FROM 'true'
  UNION ALL
  SELECT
    'fact', older.id, newer.id, older.subject || ' ' || older.predicate || ': ',
    newer.subject || ' ' || newer.predicate || ': ', older.content, newer.content, link.created_at
  FROM memory_links AS link
  JOIN facts AS newer ON newer.tenant_id = link.tenant_id AND newer.id = link.source_id
  JOIN facts AS older ON older.tenant_id = link.tenant_id AND older.id = link.target_id
  WHERE link.tenant_id = current_setting('commonplace.tenant_id') AND link.source_type = 'fact'
    AND link.target_type = 'fact' AND link.relation = 'contradicts'
    AND newer.validity = 'active' AND older.validity = 'active'
)
SELECT * FROM pairs
WHERE NOT EXISTS (
  SELECT FROM told_apart
  WHERE tenant_id = current_setting('commonplace.tenant_id') AND first_id = least(older_id, newer_id)
    AND second_id = greatest(older_id, newer_id)
)
ORDER BY since, newer_id, older_id
LIMIT :limit;

-- name: opposed_among(ids)
-- columns: older_id UUID, newer_id UUID
-- The pairs of these facts and rules of which the newer one contradicts the older one by a link, and that no person told
-- apart.
SELECT target_id AS older_id, source_id AS newer_id
FROM memory_links AS link
WHERE tenant_id = current_setting('commonplace.tenant_id') AND source_type IN ('fact', 'rule')
  AND target_type = source_type AND relation = 'contradicts'
  AND source_id = ANY(CAST(:ids AS uuid[])) AND target_id = ANY(CAST(:ids AS uuid[]))
  AND NOT EXISTS (
    SELECT FROM told_apart
    WHERE tenant_id = link.tenant_id AND first_id = least(source_id, target_id)
      AND second_id = greatest(source_id, target_id)
  )
ORDER BY created_at, source_id, target_id;

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
WITH ${new_vector_model}
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
