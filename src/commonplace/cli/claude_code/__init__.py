"""Claude Code as a client: what is put into its settings, and what its hooks do."""
