-- Pairs of facts, with the texts of both.
SELECT
  review.id, review.run_id, review.old_id, review.new_id, new.subject, review.predicate, old.content AS old_content,
  new.content AS new_content, review.reason, review.decision, review.decided_by, review.created_at, review.decided_at
FROM fact_reviews AS review
JOIN facts AS old ON old.tenant_id = review.tenant_id AND old.id = review.old_id
JOIN facts AS new ON new.tenant_id = review.tenant_id AND new.id = review.new_id
