"""Storing episodes, facts, rules and the links between them."""
