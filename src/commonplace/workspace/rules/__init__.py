"""Decisions of workspace memory as pure functions: what an entry may hold, what is relevant, how lines read."""
