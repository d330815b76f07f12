-- Memories and pairs that wait for a person: memories that fade or lost their source, and pairs that may say the same.

-- name: list_waiting(now, soon, faint, events, limit)
-- Held facts, facts and rules with flags that no person stands for, useful facts and rules that will be below :faint at
-- :soon, facts and rules whose source was superseded or forgotten after they were last confirmed, and rules that did harm
-- since; the oldest confirmation first. Of held facts with one key and text, one, with the text of the active fact of its
-- key. Sources come from the latest :events
-- events that could make a memory stale.
WITH changed AS MATERIALIZED (
  SELECT about_id, created_at FROM memory_events AS event
  WHERE tenant_id = current_setting('commonplace.tenant_id')
    AND event_type IN ('fact_superseded', 'fact_retracted', 'rule_forgotten', 'episode_forgotten')
    AND NOT EXISTS (
      SELECT FROM memory_events AS later
      WHERE later.tenant_id = event.tenant_id AND later.about_id = event.about_id
        AND later.event_type = 'episode_restored' AND later.created_at > event.created_at
    )
  ORDER BY created_at DESC
  LIMIT :events
),
derived AS MATERIALIZED (
  SELECT DISTINCT link.source_id AS id
  FROM changed JOIN memory_links AS link
    ON link.target_id = CAST(changed.about_id AS uuid) AND link.relation IN ('derived_from', 'supports')
  WHERE link.tenant_id = current_setting('commonplace.tenant_id') AND changed.about_id IS NOT NULL
),
orphaned AS MATERIALIZED (
  SELECT told.id
  FROM changed JOIN (
    SELECT id, source_episode_id, last_confirmed_at FROM facts
    WHERE tenant_id = current_setting('commonplace.tenant_id')
    UNION ALL
    SELECT id, source_episode_id, last_confirmed_at FROM rules
    WHERE tenant_id = current_setting('commonplace.tenant_id')
  ) AS told ON told.source_episode_id = CAST(changed.about_id AS uuid)
  WHERE changed.created_at > coalesce(told.last_confirmed_at, '-infinity')
),
living AS (
  SELECT
    'fact' AS memory_type, id, left(subject || ' ' || predicate || ': ' || content, 300) AS text, last_confirmed_at,
    decay_rate > 0.0 AND reference_count > 0
      AND commonplace_effective_confidence(confidence, decay_rate, last_confirmed_at, :soon) < :faint AS fades,
    CASE WHEN flags <> '[]' AND trust <> 'person' THEN 'flagged' END AS reason
  FROM facts
  WHERE tenant_id = current_setting('commonplace.tenant_id') AND validity = 'active'
    AND (valid_to IS NULL OR valid_to > :now)
  UNION ALL
  (
    SELECT DISTINCT ON (scope, coalesce(CAST(entity_id AS text), subject), predicate, commonplace_plain(content))
      'fact', id, left(subject || ' ' || predicate || ': ' || content, 300), last_confirmed_at, false, 'held'
    FROM facts
    WHERE tenant_id = current_setting('commonplace.tenant_id') AND validity = 'held'
    ORDER BY
      scope, coalesce(CAST(entity_id AS text), subject), predicate, commonplace_plain(content), created_at, id
  )
  UNION ALL
  SELECT
    'rule', id, left(content, 300), last_confirmed_at,
    decay_rate > 0.0 AND reference_count + success_count > 0
      AND commonplace_effective_confidence(confidence, decay_rate, last_confirmed_at, :soon) < :faint,
    CASE
      WHEN flags <> '[]' AND trust <> 'person' THEN 'flagged'
      WHEN harmful_count > 0 AND maturity <> 'anti_pattern'
        AND last_evaluated_at > coalesce(last_confirmed_at, created_at) THEN 'harmful'
    END
  FROM rules
  WHERE tenant_id = current_setting('commonplace.tenant_id') AND ${rule_lives}
),
judged AS (
  SELECT
    living.*,
    CASE
      WHEN id IN (SELECT id FROM orphaned) THEN true
      WHEN id IN (SELECT id FROM derived) THEN commonplace_is_stale(memory_type, id, last_confirmed_at)
      ELSE false
    END AS is_stale
  FROM living
)
SELECT
  memory_type, id, text, coalesce(reason, CASE WHEN is_stale THEN 'stale' ELSE 'fading' END) AS reason,
  last_confirmed_at,
  (
    SELECT left(rivals.text, 300)
    FROM (
      SELECT 1 AS place, rival.id, rival.subject || ' ' || rival.predicate || ': ' || rival.content AS text
      FROM facts AS held JOIN facts AS rival
        ON rival.tenant_id = held.tenant_id AND rival.validity = 'active' AND rival.scope = held.scope
        AND rival.predicate = held.predicate AND rival.entity_id IS NOT DISTINCT FROM held.entity_id
        AND (held.entity_id IS NOT NULL OR rival.subject = held.subject)
      WHERE held.tenant_id = current_setting('commonplace.tenant_id') AND held.id = judged.id
      UNION ALL
      SELECT 2, rival.id, rival.subject || ' ' || rival.predicate || ': ' || rival.content
      FROM memory_links AS link JOIN facts AS rival
        ON rival.tenant_id = link.tenant_id AND rival.validity = 'active' AND rival.id = link.target_id
      WHERE link.tenant_id = current_setting('commonplace.tenant_id') AND link.source_type = 'fact'
        AND link.source_id = judged.id AND link.target_type = 'fact' AND link.relation = 'contradicts'
    ) AS rivals
    WHERE judged.reason = 'held'
    ORDER BY place, id
    LIMIT 1
  ) AS contradicts
FROM judged
WHERE reason IS NOT NULL OR fades OR is_stale
ORDER BY last_confirmed_at, id
LIMIT :limit;

-- name: list_duplicates(likeness, latest, facts, rules, limit)
-- Pairs of active facts, and of rules, of one scope that may say the same, that no person told apart, and that do not
-- contradict each other by a link: keys that differ in spelling or "database" alone, equal texts, or vectors at least as
-- near as :likeness about one subject or entity. The latest
-- first. Each of the :latest newest facts and rules is compared with the :facts newest facts or the :rules newest rules.
-- An older memory is in only one pair, with the newest of those most like it: ten equal rules make nine pairs, which
-- can be decided in any order.
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
      ${subject_kin}
    ) AS about,
    ${predicate_key} AS said,
    row_number() OVER (ORDER BY created_at DESC, id DESC) AS place
  FROM facts
  WHERE tenant_id = current_setting('commonplace.tenant_id') AND validity = 'active'
  ORDER BY created_at DESC, id DESC
  LIMIT :facts
),
worded AS MATERIALIZED (
  SELECT
    id, scope, created_at, embedding, content, commonplace_plain(content) AS plain,
    maturity = 'anti_pattern' AS is_warning, row_number() OVER (ORDER BY created_at DESC, id DESC) AS place
  FROM rules
  WHERE tenant_id = current_setting('commonplace.tenant_id') AND ${rule_lives}
  ORDER BY created_at DESC, id DESC
  LIMIT :rules
),
pairs AS (
  SELECT
    'fact' AS memory_type, older.id AS older_id, newer.id AS newer_id, older.text AS older_text,
    newer.text AS newer_text, newer.created_at,
    CASE WHEN older.said = newer.said THEN 'spelling' ELSE 'meaning' END AS reason
  FROM keyed AS newer JOIN keyed AS older
    ON older.scope = newer.scope AND older.about = newer.about
    AND (older.created_at, older.id) < (newer.created_at, newer.id)
  WHERE newer.place <= :latest
    AND (older.said = newer.said OR 1 - (older.embedding <=> newer.embedding) >= CAST(:likeness AS float8))
  UNION ALL
  SELECT
    'rule', older.id, newer.id, older.content, newer.content, newer.created_at,
    CASE WHEN older.plain = newer.plain THEN 'words' ELSE 'meaning' END
  FROM worded AS newer JOIN worded AS older
    ON older.scope = newer.scope AND older.is_warning = newer.is_warning
    AND (older.created_at, older.id) < (newer.created_at, newer.id)
  WHERE newer.place <= :latest
    AND (older.plain = newer.plain OR 1 - (older.embedding <=> newer.embedding) >= CAST(:likeness AS float8))
),
waiting AS (
  SELECT DISTINCT ON (memory_type, older_id) *
  FROM pairs
  WHERE NOT EXISTS (
    SELECT FROM told_apart
    WHERE tenant_id = current_setting('commonplace.tenant_id')
      AND first_id = least(pairs.older_id, pairs.newer_id) AND second_id = greatest(pairs.older_id, pairs.newer_id)
  ) AND NOT EXISTS (
    SELECT FROM memory_links
    WHERE tenant_id = current_setting('commonplace.tenant_id') AND relation = 'contradicts'
      AND source_type = pairs.memory_type AND source_id = pairs.newer_id AND target_type = pairs.memory_type
      AND target_id = pairs.older_id
  )
  ORDER BY memory_type, older_id, reason = 'meaning', created_at DESC, newer_id DESC
)
SELECT memory_type, older_id, newer_id, left(older_text, 300) AS older_text, left(newer_text, 300) AS newer_text, reason
FROM waiting
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

-- name: forget_distinction(first_id, second_id)$
-- returns: UUID | None
-- Let two memories that were told apart be listed as a pair again. Return the first id, or nothing.
DELETE FROM told_apart
WHERE tenant_id = current_setting('commonplace.tenant_id')
  AND first_id = least(CAST(:first_id AS uuid), CAST(:second_id AS uuid))
  AND second_id = greatest(CAST(:first_id AS uuid), CAST(:second_id AS uuid))
RETURNING first_id;

-- name: unlink_superseded(memory_type, older_id, newer_id)$
-- returns: UUID | None
-- Remove the link by which a memory superseded another. Return the id of the newer memory, or nothing.
WITH unset AS (
  UPDATE facts SET supersedes_id = NULL
  WHERE tenant_id = current_setting('commonplace.tenant_id') AND id = :newer_id AND supersedes_id = :older_id
)
DELETE FROM memory_links
WHERE tenant_id = current_setting('commonplace.tenant_id') AND source_type = :memory_type AND source_id = :newer_id
  AND target_type = :memory_type AND target_id = :older_id AND relation = 'supersedes'
RETURNING source_id;
