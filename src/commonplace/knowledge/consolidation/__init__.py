"""Consolidation: turns a butler's episodes into facts and rules, and undoes runs."""
