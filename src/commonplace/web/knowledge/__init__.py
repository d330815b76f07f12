"""Knowledge memory over HTTP: episodes, facts, rules, entities, the audit stream and consolidation, of one tenant."""
