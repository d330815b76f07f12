"""Nouns of workspace memory: memories, drafts, settings and bounds. Pure; imports nothing else of workspace memory."""
