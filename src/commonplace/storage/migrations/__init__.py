"""Schema revisions, in one branch for each memory, and the way to bring a database up to them."""
