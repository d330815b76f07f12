"""Agent hosts such as Claude Code or Codex: installation, hooks, and the resident process that answers them."""
