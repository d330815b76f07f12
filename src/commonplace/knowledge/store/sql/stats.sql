-- name: memory_stats(scope, now)^
-- returns: Row
-- Numbers of memories by state; with :scope, only facts and rules of the global scope and of that scope. Episodes are
-- counted from the indexes on their state, which are much smaller than the table. Facts are counted from the table: an
-- index on the fading mark would make the sweep seven times slower.
SELECT
  (SELECT count(*) FROM episodes) AS episodes_total,
  pending.episodes AS episodes_unconsolidated,
  (
    SELECT count(*) FROM episodes WHERE lease_run IS NOT NULL AND leased_until > :now
  ) AS episodes_leased,
  due.episodes - pending.episodes AS episodes_failed,
  (SELECT count(*) FROM episodes WHERE consolidation_status = 'dead_letter') AS episodes_dead_letter,
  pending.backlog_age_hours AS episodes_backlog_age_hours,
  facts.active AS facts_active,
  facts.fading AS facts_fading,
  facts.superseded AS facts_superseded,
  facts.expired AS facts_expired,
  facts.retracted AS facts_retracted,
  rules.candidate AS rules_candidate,
  rules.established AS rules_established,
  rules.proven AS rules_proven,
  rules.anti_pattern AS rules_anti_pattern,
  rules.forgotten AS rules_forgotten
FROM
  (
    SELECT
      count(*) AS episodes,
      CAST(extract(epoch FROM CAST(:now AS timestamptz) - min(created_at)) AS float8) / 3600.0 AS backlog_age_hours
    FROM episodes WHERE consolidation_status = 'pending'
  ) AS pending,
  (SELECT count(*) AS episodes FROM episodes WHERE consolidation_status IN ('pending', 'failed')) AS due,
  (
    SELECT
      count(*) FILTER (
        WHERE validity = 'active' AND (metadata ->> 'status') IS DISTINCT FROM 'fading'
      ) AS active,
      count(*) FILTER (WHERE validity = 'active' AND metadata ->> 'status' = 'fading') AS fading,
      count(*) FILTER (WHERE validity = 'superseded') AS superseded,
      count(*) FILTER (WHERE validity = 'expired') AS expired,
      count(*) FILTER (WHERE validity = 'retracted') AS retracted
    FROM facts
    WHERE CAST(:scope AS text) IS NULL OR scope IN ('global', :scope)
  ) AS facts,
  (
    SELECT
      count(*) FILTER (WHERE maturity = 'candidate' AND NOT forgotten) AS candidate,
      count(*) FILTER (WHERE maturity = 'established' AND NOT forgotten) AS established,
      count(*) FILTER (WHERE maturity = 'proven' AND NOT forgotten) AS proven,
      count(*) FILTER (WHERE maturity = 'anti_pattern' AND NOT forgotten) AS anti_pattern,
      count(*) FILTER (WHERE forgotten) AS forgotten
    FROM (
      SELECT maturity, (metadata -> 'forgotten') IS NOT DISTINCT FROM 'true' AS forgotten
      FROM rules
      WHERE CAST(:scope AS text) IS NULL OR scope IN ('global', :scope)
    ) AS judged
  ) AS rules;

-- name: learned_by_day(since)
-- columns: day date, memories int
-- Counts facts and rules by the day (UTC) on which they were stored; days without any are left out.
SELECT CAST(created_at AT TIME ZONE 'UTC' AS date) AS day, count(*) AS memories FROM (
  SELECT created_at FROM facts
  WHERE tenant_id = current_setting('commonplace.tenant_id') AND created_at >= CAST(:since AS timestamptz)
  UNION ALL
  SELECT created_at FROM rules
  WHERE tenant_id = current_setting('commonplace.tenant_id') AND created_at >= CAST(:since AS timestamptz)
) AS learned
GROUP BY 1;
