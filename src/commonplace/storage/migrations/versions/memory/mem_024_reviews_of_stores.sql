-- A fact that a person or an agent stored may replace a fact that matters, without a run.
ALTER TABLE fact_reviews ALTER COLUMN run_id DROP NOT NULL;
