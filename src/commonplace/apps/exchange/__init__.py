"""Import of memories from a document."""
