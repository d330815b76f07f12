"""Consolidation: what a butler's episodes have in common becomes facts and rules."""
