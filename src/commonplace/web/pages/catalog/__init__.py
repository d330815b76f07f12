"""Pages for memories of every kind: one address for any id, the verbs, a quick search, and a comparison."""
