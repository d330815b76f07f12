"""REST routes of each memory, under /api/v1."""
