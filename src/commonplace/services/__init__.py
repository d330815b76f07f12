"""Services over all memories: opening, briefing, search, review, erasure, transfer and sample memories."""
