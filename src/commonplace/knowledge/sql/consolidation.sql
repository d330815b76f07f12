-- name: pending_groups(now)
-- Episodes that wait for consolidation and have not expired, counted by butler.
SELECT butler, count(*) AS episodes, min(created_at) AS oldest_at
FROM episodes
WHERE tenant_id = current_setting('commonplace.tenant_id') AND consolidation_status = 'pending'
  AND (expires_at IS NULL OR expires_at > :now)
GROUP BY butler
ORDER BY butler COLLATE "C";
