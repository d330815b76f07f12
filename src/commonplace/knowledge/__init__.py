"""Knowledge memory: episodes, facts and rules of many tenants, on PostgreSQL with pgvector (KNW)."""
