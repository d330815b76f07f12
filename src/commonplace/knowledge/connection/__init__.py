"""Connection: the open database, who acts on it, transactions of a tenant, and outages."""
