"""Knowledge memory over HTTP: episodes, facts, rules, entities, audit trail and consolidation of one tenant."""
