"""Nouns, drafts, bounds and closed sets of knowledge memory: pure, imports nothing of the memory."""
