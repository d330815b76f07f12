"""Upkeep: the decay sweep, the episode cleanup, the audit trail and the statistics of a tenant."""
