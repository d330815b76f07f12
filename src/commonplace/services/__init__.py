"""Services over all memories: work that spans several memories and is the same at every door."""
