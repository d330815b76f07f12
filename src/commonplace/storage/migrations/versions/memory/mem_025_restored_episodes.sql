-- An event of the source after the last confirmation counts, unless the source holds again; an episode does if it was
-- restored.
CREATE OR REPLACE FUNCTION commonplace_is_stale(kind text, memory uuid, confirmed_at timestamptz) RETURNS boolean
LANGUAGE sql STABLE AS $$
    SELECT EXISTS (
        SELECT FROM memory_links AS link JOIN memory_events AS event
            ON event.tenant_id = link.tenant_id AND event.about_id = CAST(link.target_id AS text)
            AND event.event_type IN ('fact_superseded', 'fact_retracted', 'rule_forgotten', 'episode_forgotten')
            AND event.created_at > coalesce(confirmed_at, '-infinity')
        WHERE link.tenant_id = current_setting('commonplace.tenant_id', true)
            AND link.source_type = kind AND link.source_id = memory
            AND link.relation IN ('derived_from', 'supports')
            AND NOT EXISTS (
                SELECT FROM memory_events AS later
                WHERE later.tenant_id = event.tenant_id AND later.about_id = event.about_id
                    AND later.event_type = 'episode_restored' AND later.created_at > event.created_at
            )
            AND NOT EXISTS (
                SELECT FROM facts
                WHERE facts.tenant_id = link.tenant_id AND facts.id = link.target_id AND facts.validity = 'active'
            )
            AND NOT EXISTS (
                SELECT FROM rules
                WHERE rules.tenant_id = link.tenant_id AND rules.id = link.target_id
                    AND (rules.metadata -> 'forgotten') IS DISTINCT FROM 'true'
            )
    )
$$;
