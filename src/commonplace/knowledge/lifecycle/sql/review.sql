-- What waits for a person: memories that fade or have lost their source, and pairs that may say the same.

-- name: list_waiting(now, soon, faint, limit)
-- Useful facts and rules that will be below :faint at :soon, and facts and rules whose source was superseded or forgotten
-- after they were last confirmed; the oldest confirmation first.
WITH living AS (
  SELECT
    'fact' AS memory_type, id, left(subject || ' ' || predicate || ': ' || content, 300) AS text, last_confirmed_at,
    decay_rate > 0.0 AND reference_count > 0
      AND commonplace_effective_confidence(confidence, decay_rate, last_confirmed_at, :soon) < :faint AS fades
  FROM facts
  WHERE tenant_id = current_setting('commonplace.tenant_id') AND validity = 'active'
    AND (valid_to IS NULL OR valid_to > :now)
  UNION ALL
  SELECT
    'rule', id, left(content, 300), last_confirmed_at,
    decay_rate > 0.0 AND reference_count + success_count > 0
      AND commonplace_effective_confidence(confidence, decay_rate, last_confirmed_at, :soon) < :faint
  FROM rules
  WHERE tenant_id = current_setting('commonplace.tenant_id') AND (metadata -> 'forgotten') IS DISTINCT FROM 'true'
),
judged AS (
  SELECT
    living.*,
    commonplace_is_stale(memory_type, id, last_confirmed_at) AS is_stale
  FROM living
)
SELECT memory_type, id, text, CASE WHEN is_stale THEN 'stale' ELSE 'fading' END AS reason, last_confirmed_at
FROM judged
WHERE fades OR is_stale
ORDER BY last_confirmed_at, id
LIMIT :limit;

-- name: list_duplicates(likeness, limit)
-- Pairs of active facts, and of rules, of one scope that may say the same, and that no person told apart: keys that
-- differ in spelling alone, equal texts, or vectors at least as near as :likeness about one subject or entity. The latest
-- first.
WITH keyed AS MATERIALIZED (
  SELECT
    id, scope, created_at, embedding, subject || ' ' || predicate || ': ' || content AS text,
    coalesce(
      CAST(entity_id AS text),
      (
        SELECT min(CAST(names.entity_id AS text)) FROM entity_names AS names
        WHERE names.tenant_id = current_setting('commonplace.tenant_id')
          AND names.name_key = commonplace_plain(facts.subject)
        HAVING count(*) = 1
      ),
      lower(regexp_replace(subject, '[\s_./-]+', '', 'g'))
    ) AS about,
    lower(regexp_replace(predicate, '[\s_./-]+', '', 'g')) AS said
  FROM facts
  WHERE tenant_id = current_setting('commonplace.tenant_id') AND validity = 'active'
),
pairs AS (
  SELECT
    'fact' AS memory_type, older.id AS older_id, newer.id AS newer_id, older.text AS older_text,
    newer.text AS newer_text, newer.created_at,
    CASE WHEN older.said = newer.said THEN 'spelling' ELSE 'meaning' END AS reason
  FROM keyed AS older JOIN keyed AS newer
    ON newer.scope = older.scope AND newer.about = older.about
    AND (older.created_at, older.id) < (newer.created_at, newer.id)
  WHERE older.said = newer.said OR 1 - (older.embedding <=> newer.embedding) >= CAST(:likeness AS float8)
  UNION ALL
  SELECT
    'rule', older.id, newer.id, older.content, newer.content, newer.created_at,
    CASE WHEN commonplace_plain(older.content) = commonplace_plain(newer.content) THEN 'words' ELSE 'meaning' END
  FROM rules AS older JOIN rules AS newer
    ON newer.tenant_id = older.tenant_id AND newer.scope = older.scope
    AND (older.created_at, older.id) < (newer.created_at, newer.id)
  WHERE older.tenant_id = current_setting('commonplace.tenant_id')
    AND (older.metadata -> 'forgotten') IS DISTINCT FROM 'true'
    AND (newer.metadata -> 'forgotten') IS DISTINCT FROM 'true'
    AND (older.maturity = 'anti_pattern') = (newer.maturity = 'anti_pattern')
    AND 1 - (older.embedding <=> newer.embedding) >= CAST(:likeness AS float8)
)
SELECT memory_type, older_id, newer_id, left(older_text, 300) AS older_text, left(newer_text, 300) AS newer_text, reason
FROM pairs
WHERE NOT EXISTS (
  SELECT FROM told_apart
  WHERE tenant_id = current_setting('commonplace.tenant_id')
    AND first_id = least(pairs.older_id, pairs.newer_id) AND second_id = greatest(pairs.older_id, pairs.newer_id)
)
ORDER BY created_at DESC, newer_id, older_id
LIMIT :limit;

-- name: tell_apart(first_id, second_id, now)!
-- Keep two memories from being listed as a pair again.
INSERT INTO told_apart (tenant_id, first_id, second_id, decided_by, decided_at)
VALUES (
  current_setting('commonplace.tenant_id'), least(CAST(:first_id AS uuid), CAST(:second_id AS uuid)),
  greatest(CAST(:first_id AS uuid), CAST(:second_id AS uuid)),
  nullif(current_setting('commonplace.actor', true), ''), :now
)
ON CONFLICT DO NOTHING;
