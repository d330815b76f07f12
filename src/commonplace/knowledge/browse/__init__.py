"""Lists, single memories and the graph, for people; reading them here does not count as a use."""
