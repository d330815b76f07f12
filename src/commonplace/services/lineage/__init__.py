"""Lineage: which memory stands in the place of one that was replaced."""
