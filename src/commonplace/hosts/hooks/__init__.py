"""Claude Code as a client: its settings and its hooks."""
