"""Nouns, drafts, receipts, bounds and closed sets of knowledge memory: pure, and below all other rooms."""
