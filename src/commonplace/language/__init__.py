"""Words and sentences of natural language, for all memories."""
