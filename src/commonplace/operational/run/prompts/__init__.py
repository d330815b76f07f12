"""The prompts of the three tiers of a scheduled ops agent, as package data."""
