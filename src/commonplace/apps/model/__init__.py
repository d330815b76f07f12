"""Nouns of app memory: rows, drafts, receipts, bounds and closed sets. Pure; imports nothing else of app memory."""
