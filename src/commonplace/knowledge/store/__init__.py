"""Connection: the open database, the acting tenant and actor, transactions, and outages."""
