"""A minimal host: modules, their life cycle, and the sessions that they serve."""
