"""Pages that show all memories: overview, search, reviews, the week and the trial of a prompt."""
